//! The merge of one table, as SQL: base, mainline ("ours"), branch ("theirs").
//!
//! Only rows that the branch has changed since the base matter; every other row stays as the mainline
//! has it. A row is known by its key (`key`); a table without one is merged as a whole (`keyless`). Where one side
//! changed, that side counts; where both changed the same, there is nothing to do; where they differ, it is a conflict,
//! which one side wins.
//!
//! What the mainline holds in a column that is masked for the caller decides nothing: no conflict and no count follows
//! from it, and the mainline keeps it. Of a row that both have, only what the caller sees is merged.
//!
//! Pure: names and words in, statements out. The first makes a temporary table of what is decided,
//! the others carry it out.

mod keyless;

use std::collections::BTreeSet;

use sql::ast::quote;

use super::conflict::{Granularity, Rules, conflict_id, take, take_of_table};
use super::store::path;
use crate::storage::branches::{Branch, Copied, base_schema, own_schema};

/// The merge of one table.
pub struct Plan<'a> {
    branch: &'a Branch,
    table: &'a Copied,
    /// The temporary table of what is decided.
    decided: String,
    granularity: Granularity,
    /// Columns of which the merging caller may see and write nothing, in lower case.
    masked: &'a BTreeSet<String>,
    /// The side that each conflict takes, as an expression.
    take: String,
    keys: Vec<String>,
    values: Vec<String>,
}

impl<'a> Plan<'a> {
    pub fn new(
        branch: &'a Branch,
        place: usize,
        table: &'a Copied,
        rules: &Rules<'_>,
        masked: &'a BTreeSet<String>,
    ) -> Self {
        let keys = table.key(masked);
        let is_key = |column: &&String| keys.contains(*column);
        let names: Vec<_> = table.columns.iter().map(|column| column.name.clone()).collect();
        Self {
            branch,
            table,
            decided: format!("temp.main._merge_{place}"),
            granularity: rules.granularity,
            masked,
            take: if keys.is_empty() { take_of_table(rules) } else { take(rules) },
            keys: keys.to_vec(),
            values: names.iter().filter(|name| !is_key(name)).cloned().collect(),
        }
    }

    /// Makes the table of what is decided: a row for each that the branch has changed.
    pub fn decide(&self) -> String {
        let made = if self.keys.is_empty() { self.counted() } else { self.compared() };
        format!("create temp table {} as {made}", self.decided)
    }

    /// Rows that the branch has added, changed and deleted, and rows that the mainline's table would change; conflicts,
    /// and those nobody has decided; whether a masked column was changed.
    pub fn sums(&self) -> String {
        if self.keys.is_empty() {
            return self.count_sums();
        }
        let touched: Vec<_> = self
            .places()
            .filter(|(_, name)| self.is_masked(name))
            .map(|(i, _)| format!("t{i} is distinct from b{i}"))
            .collect();
        format!(
            "select to_json({{changes: {{added: count(*) filter (not in_b), changed: count(*) filter (in_b and in_t), \
             deleted: count(*) filter (not in_t)}}, rows: count(*), conflicts: count(*) filter (kind is not null), \
             open: count(*) filter (kind is not null and take is null), \
             masked: coalesce(bool_or(in_b and in_t and {}), false)}})::varchar from {}",
            any(&touched),
            self.decided
        )
    }

    /// The conflicts, the first of them.
    pub fn conflicts(&self, most: usize) -> String {
        if self.keys.is_empty() {
            return self.table_conflict();
        }
        let side = |letter: &str| format!("case when in_{letter} then {} end", self.object(letter));
        let columns = self.places().map(|(i, name)| format!("case when d{i} then {} end", quote::text(name)));
        format!(
            "select to_json({{conflict_id: conflict_id, kind: kind, key: {}, base: {}, ours: {}, \
             theirs: {}, columns: [{}]}})::varchar from {} where kind is not null \
             order by conflict_id limit {most}",
            self.object("k"),
            side("b"),
            side("o"),
            side("t"),
            columns.collect::<Vec<_>>().join(", "),
            self.decided
        )
    }

    /// Carries out what is decided, one after the other: the rows that each changes are rows merged.
    pub fn apply(&self) -> Vec<String> {
        if self.keys.is_empty() { self.apply_counts() } else { self.apply_rows() }
    }

    // Tables with a key.

    /// `k…`: the key; `b…`, `o…`, `t…`: the other columns of each side; `d…`: whether they are in conflict;
    /// `m…`: what they become; `stays`: whether the row is there in the end.
    fn compared(&self) -> String {
        let (keys, places) = (self.keys.len(), self.values.len());
        let each = |count: usize, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>();
        let side = |name: &str, from: String| {
            let keys = self.keys.iter().enumerate().map(|(i, key)| format!("{} as k{i}", quote::name(key)));
            let values = self.values.iter().enumerate().map(|(i, name)| format!("{} as c{i}", quote::name(name)));
            let list = keys.chain(values).collect::<Vec<_>>().join(", ");
            format!("{name} as (select true as here, {list} from {from})")
        };
        let [b, t, o] = [side("b", self.base()), side("t", self.theirs()), side("o", self.ours())];
        let columns = each(keys, &|i| format!("coalesce(b.k{i}, t.k{i}) as k{i}"))
            .into_iter()
            .chain(each(places, &|i| format!("b.c{i} as b{i}, t.c{i} as t{i}, o.c{i} as o{i}")));
        let on_base = each(keys, &|i| format!("b.k{i} = t.k{i}")).join(" and ");
        let on_ours = each(keys, &|i| format!("o.k{i} = coalesce(b.k{i}, t.k{i})")).join(" and ");
        let columns = columns.collect::<Vec<_>>().join(", ");
        let moved = any(&each(places, &|i| format!("b{i} is distinct from t{i}")));
        let ours_moved = any(&self.each_seen(|i| format!("b{i} is distinct from o{i}")));
        let apart = any(&self.each_seen(|i| format!("o{i} is distinct from t{i}")));
        let clashes = each(places, &|i| format!("({}) as d{i}", self.clashes(i))).join(", ");
        let disputed = any(&each(places, &|i| format!("d{i}")));
        let divergent = match self.granularity {
            Granularity::Cell => disputed,
            Granularity::Row => format!("({ours_moved} and {apart})"),
        };
        let id = self.conflict_id(&each(keys, &|i| format!("k{i}")));
        let merged = each(places, &|i| format!("{} as m{i}", self.merged(i)));
        let merged = merged.into_iter().chain([STAYS.to_owned()]).collect::<Vec<_>>().join(", ");
        let comma = |list: &str| if list.is_empty() { String::new() } else { format!(", {list}") };
        format!(
            "with {b}, {t}, {o}, \
             joined as (select b.here is not null as in_b, t.here is not null as in_t, o.here is not null as in_o, \
               {columns} from b full join t on {on_base} left join o on {on_ours}), \
             changed as (select *{clashes} from joined where in_b <> in_t or {moved}), \
             judged as (select *, case \
               when not in_b and in_o and {apart} then 'divergent_insert' \
               when in_b and in_t and not in_o then 'delete_update' \
               when in_b and not in_t and in_o and {ours_moved} then 'delete_update' \
               when in_b and in_t and in_o and {divergent} then 'divergent_update' end as kind from changed), \
             named as (select *, case when kind is not null then {id} end as conflict_id from judged), \
             taken as (select *, case when kind is not null then {take} end as take from named) \
             select *, {merged} from taken",
            clashes = comma(&clashes),
            take = self.take,
        )
    }

    /// Do both sides set this column of a row to different values?
    fn clashes(&self, i: usize) -> String {
        if self.hides(i) {
            return "false".to_owned();
        }
        format!(
            "case when in_b and in_t and in_o then \
               t{i} is distinct from b{i} and o{i} is distinct from b{i} and t{i} is distinct from o{i} \
             when in_t and in_o then t{i} is distinct from o{i} else false end"
        )
    }

    /// What this column becomes in a row that stays.
    fn merged(&self, i: usize) -> String {
        let cell = format!("case when in_b and in_o and t{i} is not distinct from b{i} then o{i} else t{i} end");
        let taken = format!("case take when 'theirs' then t{i} when 'ours' then o{i} else b{i} end");
        let by_cell = format!("case when d{i} then {taken} else {cell} end");
        if self.hides(i) {
            // Where the mainline has a value that the caller may not see, it stays.
            return format!("case when in_o then o{i} when take = 'base' then b{i} else t{i} end");
        }
        let divergent = if self.granularity == Granularity::Row { taken.clone() } else { by_cell };
        format!("case when kind is null then {cell} when kind = 'divergent_update' then {divergent} else {taken} end")
    }

    fn apply_rows(&self) -> Vec<String> {
        let (ours, decided) = (self.ours(), &self.decided);
        let same = self.keys.iter().enumerate().map(|(i, key)| format!("o.{} = d.k{i}", quote::name(key)));
        let same = same.collect::<Vec<_>>().join(" and ");
        let names = self.keys.iter().chain(&self.values).map(|name| quote::name(name)).collect::<Vec<_>>().join(", ");
        let new = (0..self.keys.len()).map(|i| format!("k{i}")).chain((0..self.values.len()).map(|i| format!("m{i}")));
        let new = new.collect::<Vec<_>>().join(", ");
        let sets = self.places().map(|(i, name)| format!("{} = d.m{i}", quote::name(name))).collect::<Vec<_>>();
        let moves = any(&self.places().map(|(i, _)| format!("o{i} is distinct from m{i}")).collect::<Vec<_>>());
        let mut steps =
            vec![format!("delete from {ours} as o using {decided} as d where {same} and d.in_o and not d.stays")];
        if !sets.is_empty() {
            steps.push(format!(
                "update {ours} as o set {} from (select * from {decided} where in_o and stays and {moves}) as d where {same}",
                sets.join(", ")
            ));
        }
        steps.push(format!("insert into {ours} ({names}) select {new} from {decided} where not in_o and stays"));
        steps
    }

    // Words.

    fn base(&self) -> String {
        path(&base_schema(&self.branch.branch_id), &self.table.name)
    }

    fn theirs(&self) -> String {
        path(&own_schema(&self.branch.branch_id), &self.table.name)
    }

    fn ours(&self) -> String {
        path(&self.table.schema, &self.table.name)
    }

    fn places(&self) -> impl Iterator<Item = (usize, &String)> {
        self.values.iter().enumerate()
    }

    fn is_masked(&self, name: &str) -> bool {
        self.masked.contains(&name.to_ascii_lowercase())
    }

    fn hides(&self, i: usize) -> bool {
        self.values.get(i).is_some_and(|name| self.is_masked(name))
    }

    /// Of each column but the key's that the caller sees.
    fn each_seen(&self, item: impl Fn(usize) -> String) -> Vec<String> {
        (0..self.values.len()).filter(|i| !self.hides(*i)).map(item).collect()
    }

    /// The values of one side by their names; of what is masked nothing is shown.
    fn object(&self, letter: &str) -> String {
        let names = if letter == "k" { &self.keys } else { &self.values };
        let member = |(i, name): (usize, &String)| {
            let value = if self.is_masked(name) { "'***'".to_owned() } else { format!("{letter}{i}") };
            format!("{}: {value}", quote::name(name))
        };
        if names.is_empty() {
            return "'{}'::json".to_owned();
        }
        format!("to_json({{{}}})", names.iter().enumerate().map(member).collect::<Vec<_>>().join(", "))
    }

    fn conflict_id(&self, key: &[String]) -> String {
        conflict_id(self.branch, &self.table.path(), key)
    }
}

/// Whether the row is there in the end.
const STAYS: &str = "case when kind is null then in_t else \
    case take when 'theirs' then in_t when 'ours' then in_o else in_b end end as stays";

fn any(conditions: &[String]) -> String {
    if conditions.is_empty() { "false".to_owned() } else { format!("({})", conditions.join(" or ")) }
}
