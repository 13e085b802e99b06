//! A table without a key, in a merge: nothing tells two equal rows of it apart, so it is changed as a whole.
//!
//! Its rows are counted by all their values. Where one side alone has changed the table since the branch was made, that
//! side's rows stand. Where both have, even by equal rows, nobody can tell from the rows which of them are the same:
//! it is one conflict, which no strategy decides. Its id is of what both sides have changed, so that nobody decides of
//! rows that came after they looked.

use sql::ast::quote;

use super::Plan;

impl Plan<'_> {
    /// `c…`: the row; `nb`, `no`, `nt`: how often each side has it; `want`: how often it is there in the end.
    pub(super) fn counted(&self) -> String {
        let columns = self.listed(|i, _| format!("c{i}"));
        let side = |letter: &str, from: String| {
            let named = self.listed(|i, name| format!("{} as c{i}", quote::name(name)));
            format!("select '{letter}' as side, {named} from {from}")
        };
        let all = [side("b", self.base()), side("t", self.theirs()), side("o", self.ours())].join(" union all ");
        let id = self.conflict_id(&["'table'".to_owned(), "state".to_owned()]);
        format!(
            "with counted as (select {columns}, count(*) filter (side = 'b') as nb, \
               count(*) filter (side = 't') as nt, count(*) filter (side = 'o') as no \
               from ({all}) group by {columns}), \
             changed as (select * from counted where nb <> nt or nb <> no), \
             sides as (select coalesce(bool_or(nb <> nt), false) and coalesce(bool_or(nb <> no), false) as disputed, \
               bit_xor(hash({columns}, nb, no, nt)) as state from changed), \
             named as (select changed.*, disputed, case when disputed then {id} end as conflict_id \
               from changed cross join sides), \
             taken as (select *, case when disputed then {take} end as take from named) \
             select *, case when not disputed then nt + no - nb when take = 'theirs' then nt \
               when take = 'base' then nb else no end as want from taken",
            take = self.take,
        )
    }

    /// Rows that the branch has added and deleted; the conflict, and whether nobody has decided it. Of masked columns
    /// nobody can tell what a row that has changed has changed in them.
    pub(super) fn count_sums(&self) -> String {
        let sum = |expression: &str| format!("coalesce(sum({expression}), 0)::bigint");
        format!(
            "select to_json({{changes: {{added: {}, changed: 0, deleted: {}}}, rows: {}, \
             conflicts: coalesce(bool_or(disputed), false)::integer, \
             open: coalesce(bool_or(disputed and take is null), false)::integer, masked: {}}})::varchar from {}",
            sum("greatest(nt - nb, 0)"),
            sum("greatest(nb - nt, 0)"),
            sum("abs(want - no)"),
            !self.masked.is_empty(),
            self.decided
        )
    }

    /// The conflict, if there is one: how many rows each side has, and has changed.
    pub(super) fn table_conflict(&self) -> String {
        let rows = |from: String| format!("rows: (select count(*) from {from})");
        let side = |from: String, count: &str| {
            format!(
                "{{{}, added: coalesce(sum(greatest({count} - nb, 0)), 0)::bigint, \
                 deleted: coalesce(sum(greatest(nb - {count}, 0)), 0)::bigint}}",
                rows(from)
            )
        };
        format!(
            "select to_json({{conflict_id: any_value(conflict_id), kind: 'table', key: '{{}}'::json, base: {{{}}}, \
             ours: {}, theirs: {}, columns: []}})::varchar from {} having bool_or(disputed)",
            rows(self.base()),
            side(self.ours(), "no"),
            side(self.theirs(), "nt"),
            self.decided
        )
    }

    pub(super) fn apply_counts(&self) -> Vec<String> {
        let (ours, decided) = (self.ours(), &self.decided);
        let same = self.places().map(|(i, name)| format!("o.{} is not distinct from d.c{i}", quote::name(name)));
        let same = same.collect::<Vec<_>>().join(" and ");
        let columns = self.listed(|i, _| format!("c{i}"));
        let names = self.listed(|_, name| quote::name(name));
        vec![
            format!(
                "delete from {ours} where rowid in (select row from (select o.rowid as row, d.want as want, \
                 row_number() over (partition by {}) as place from {ours} as o join \
                 (select * from {decided} where want < no) as d on {same}) where place > want)",
                self.listed(|i, _| format!("d.c{i}"))
            ),
            format!(
                "insert into {ours} ({names}) select {columns} from \
                 (select {columns}, unnest(range(want - no)) from {decided} where want > no)"
            ),
        ]
    }

    /// One for each column, behind each other.
    fn listed(&self, item: impl Fn(usize, &String) -> String) -> String {
        self.places().map(|(i, name)| item(i, name)).collect::<Vec<_>>().join(", ")
    }
}
