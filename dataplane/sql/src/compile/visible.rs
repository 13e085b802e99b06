//! The rows of filtered tables that a caller may see, kept before an expression of the caller meets them.
//!
//! What an expression fails on, and whether the engine reaches it at all, follows from the rows of the tables, their
//! number and the order the engine reads them in. Over rows that were kept, all of this follows from what the caller
//! may see. They are in temporary tables that no caller can name, of the transaction of one statement.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinConstraint, Query, Select, SelectItem, SetExpr,
    Statement, TableFactor, TableWithJoins, Visitor,
};

use crate::ast::error::Error;
use crate::ast::{Visit, names};
use crate::catalog::attached_read::AttachedRead;
use crate::compile::steps::{CountedStep, Step};
use crate::govern::join_constraint;
use crate::print::{self, Printed};
use crate::scan::Scan;

/// The statements that keep the rows of these scans, with the columns that `parts` may ask for.
pub(super) fn keeping(
    numbers: &BTreeSet<usize>,
    scans: &[Scan],
    narrowed: &BTreeMap<usize, Statement>,
    parts: &[CountedStep],
) -> Result<Vec<Printed>, Error> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let asked = RequestedColumns::of(parts);
    let keep = |number: &usize| print::keeping(scans, *number, narrowed.get(number), &|column| asked.may_name(column));
    numbers.iter().map(keep).collect()
}

/// The attached tables among `named`, the full names in the text, with the columns that may be asked for.
pub(super) fn attached(named: &BTreeSet<&String>, scans: &[Scan], parts: &[CountedStep]) -> Vec<AttachedRead> {
    let mut read: Vec<AttachedRead> = Vec::new();
    if !scans.iter().any(|scan| scan.table.attached) {
        return read;
    }
    let mut asked = RequestedColumns::of(parts);
    for filter in scans.iter().flat_map(|scan| &scan.filters) {
        let _: ControlFlow<()> = filter.visit(&mut asked);
    }
    asked.all |= !asked.alone.is_disjoint(&asked.sources);
    for table in scans.iter().map(|scan| &scan.table).filter(|table| table.attached) {
        let one = AttachedRead::of(table, |column| asked.may_name(column));
        if named.contains(&one.emitted()) && !read.iter().any(|known| known.kept_as == one.kept_as) {
            read.push(one);
        }
    }
    read
}

/// The columns that a statement may ask for: those that it names, or all of them where it need not name them.
#[derive(Default)]
struct RequestedColumns {
    names: HashSet<String>,
    /// What stands for all columns of it, alone in an expression.
    sources: HashSet<String>,
    /// Names that stand alone in an expression.
    alone: HashSet<String>,
    all: bool,
}

impl RequestedColumns {
    fn of(parts: &[CountedStep]) -> Self {
        let mut asked = Self::default();
        for part in parts {
            let _: ControlFlow<()> = match &part.step {
                Step::Tree(tree) => tree.visit(&mut asked),
                Step::Keep(query) | Step::Check(query) => query.visit(&mut asked),
                Step::Text(_) => ControlFlow::Continue(()),
            };
        }
        asked.all |= !asked.alone.is_disjoint(&asked.sources);
        asked
    }

    fn may_name(&self, column: &str) -> bool {
        self.all || self.names.contains(&column.to_lowercase())
    }

    fn is_by_name(table: &TableWithJoins) -> bool {
        table.joins.iter().any(|join| matches!(join_constraint(&join.join_operator), Some(JoinConstraint::Natural)))
    }
}

impl Visitor for RequestedColumns {
    type Break = ();

    fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<()> {
        self.names.insert(ident.value.to_lowercase());
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.all |= matches!(query.body.as_ref(), SetExpr::Table(_));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        self.all |= select.projection.is_empty() || select.projection.iter().any(is_star);
        self.all |= select.from.iter().any(Self::is_by_name);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let alias = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                self.sources.extend(names::last(name).map(|ident| ident.value.to_lowercase()));
                alias
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                self.all |= Self::is_by_name(table_with_joins);
                alias
            }
            TableFactor::Derived { alias, .. }
            | TableFactor::Table { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::TableFunction { alias, .. } => alias,
            _ => {
                self.all = true;
                &None
            }
        };
        self.sources.extend(alias.iter().map(|alias| alias.name.value.to_lowercase()));
        // names that an alias gives to columns count them by their places; a subquery says itself which it has
        let is_by_place = matches!(factor, TableFactor::Table { .. } | TableFactor::NestedJoin { .. });
        self.all |= is_by_place && alias.iter().any(|alias| !alias.columns.is_empty());
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) => {
                self.alone.insert(ident.value.to_lowercase());
            }
            Expr::CompoundIdentifier(path) => self.alone.extend(path.last().map(|ident| ident.value.to_lowercase())),
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => self.all = true,
            Expr::Function(function) => {
                let name = names::last(&function.name).map(|ident| ident.value.to_ascii_lowercase());
                let FunctionArguments::List(list) = &function.args else { return ControlFlow::Continue(()) };
                // rows are counted without a look at them, unless those that are the same count once
                let is_counted = name.as_deref() == Some("count") && list.duplicate_treatment.is_none();
                let is_star = |arg: &FunctionArg| {
                    matches!(
                        arg,
                        FunctionArg::Unnamed(
                            FunctionArgExpr::Wildcard
                                | FunctionArgExpr::QualifiedWildcard(_)
                                | FunctionArgExpr::WildcardWithOptions(_)
                        )
                    )
                };
                self.all |= !is_counted && list.args.iter().any(is_star);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::names::ours;
    use crate::testing::{analyst, engine, filter};

    /// What is kept for a statement, and what reads it.
    fn steps(sql: &str) -> Vec<String> {
        let made = engine(sql, &analyst()).expect("engine SQL").over_visible().expect("engine SQL");
        made.before.iter().map(|step| step.sql.clone()).chain([made.sql]).collect()
    }

    #[test]
    fn filtered_tables_are_kept_and_others_are_not() {
        let made = steps("SELECT c.id FROM customers c JOIN payroll p ON p.id = c.id");
        expect_test::expect![[r#"
            CREATE OR REPLACE TEMP TABLE "temp"."main"."_sluice_visible_0" AS SELECT "_sluice_rows".* FROM (SELECT system.main.max(1) AS n HAVING n < 0) POSITIONAL JOIN (SELECT "customers"."id" FROM "raw"."main"."customers" AS "customers" WHERE ("customers"."region" = $1)) AS "_sluice_rows"
            SELECT "c"."id" FROM "temp"."main"."_sluice_visible_0" AS "c" JOIN "raw"."main"."payroll" AS "p" ON "p"."id" = "c"."id""#]]
        .assert_eq(&made.join("\n"));
    }

    #[test]
    fn rows_of_a_filter_that_asks_other_tables_are_put_in_order() {
        let mut rules = crate::Rules::default();
        rules.filter("main", "customers", filter("id in (select customer_id from payroll)"));
        let made = engine("SELECT id FROM customers LIMIT 1", &rules).expect("engine SQL");
        let made = made.over_visible().expect("engine SQL");
        let [kept] = made.before.as_slice() else { panic!("{:?}", made.before) };
        assert!(kept.sql.ends_with(r#" ORDER BY "customers".rowid) AS "_sluice_rows""#), "{}", kept.sql);
    }

    #[test]
    fn a_table_that_is_read_twice_is_kept_once() {
        let made = steps("SELECT count(*) FROM customers a JOIN customers b ON a.name = b.name");
        assert_eq!(made.len(), 2, "{made:?}");
        let [kept, read] = made.as_slice() else { return };
        assert!(kept.contains(r#"(SELECT "customers"."name" FROM"#), "{kept}");
        assert_eq!(read.matches(r#""temp"."main"."_sluice_visible_0""#).count(), 2, "{read}");
    }

    #[test]
    fn rows_that_a_condition_leaves_out_are_not_kept() {
        let kept = |sql: &str| steps(sql).into_iter().next().unwrap_or_default();
        for sql in [
            "SELECT any_value(name) FROM customers WHERE id > 5 AND name::INT > 1",
            "SELECT any_value(c.name) FROM customers c, payroll p WHERE c.id > 5 AND c.id = p.id",
            "SELECT any_value(c.name) FROM payroll p JOIN customers c ON c.id = p.id WHERE (c.id > 5)",
            "SELECT id FROM payroll WHERE iban IN (SELECT any_value(name) FROM customers WHERE id > 5)",
        ] {
            let made = kept(sql);
            assert!(made.contains("POSITIONAL JOIN (SELECT ") && made.contains(" > 5"), "{made}");
            assert!(made.contains(r#" WHERE ("customers"."region" = $1)) AS "#), "the filter speaks inside: {made}");
            assert!(!made.contains(" > 1") && !made.contains("payroll"), "{made}");
        }
        for sql in [
            "SELECT any_value(name) FROM customers WHERE id > 5 OR name::INT > 1",
            "SELECT any_value(name) FROM customers WHERE id > $1",
            "SELECT any_value(name) FROM customers WHERE id + 1 > 5",
            "SELECT any_value(name) FROM customers, (SELECT 1 AS one) x WHERE id > 5",
            "SELECT any_value(name), any_value(length(name)) AS id FROM customers WHERE id > 5",
            "SELECT any_value(c.name) FROM payroll p LEFT JOIN customers c ON c.id = p.id WHERE c.id > 5",
            "SELECT any_value(a.name) FROM customers a JOIN customers b ON a.id = b.id WHERE a.id > 5",
            "UPDATE customers SET name = 'x' WHERE id > 5 AND id / 2 > 1",
        ] {
            assert!(!kept(sql).contains(" > 5"), "{sql}: {}", kept(sql));
        }
    }

    #[test]
    fn a_condition_on_a_masked_column_asks_what_is_shown() {
        let made = steps("SELECT any_value(name) FROM customers WHERE ssn = '***'");
        let kept = made.first().expect("a step");
        let (inside, outside) = kept.rsplit_once(") AS \"customers\"").expect("the governed rows");
        assert!(inside.contains(" AS \"ssn\""), "{kept}");
        assert!(outside.contains("= '***'"), "{kept}");
    }

    #[test]
    fn values_are_bound_where_they_stand() {
        let made = engine("SELECT id FROM customers WHERE name = $1", &analyst()).expect("engine SQL");
        let made = made.over_visible().expect("engine SQL");
        let [kept] = made.before.as_slice() else { panic!("{:?}", made.before) };
        assert_eq!(kept.binds, [crate::Bind::Text("EU".to_owned())]);
        assert_eq!(made.binds, [crate::Bind::Caller(1)]);
        assert_eq!(made.tables, ["temp.main._sluice_visible_0"]);
    }

    #[test]
    fn all_columns_are_kept_where_a_statement_need_not_name_them() {
        let columns = |sql: &str| {
            let kept = steps(sql).into_iter().next().unwrap_or_default();
            let listed = kept.split(" JOIN (SELECT ").nth(1).and_then(|rest| rest.split(" FROM ").next());
            listed.map_or(0, |listed| listed.matches("\"customers\".\"").count().max(listed.matches(" AS ").count()))
        };
        for sql in [
            "SELECT * FROM customers",
            "SELECT c.* FROM customers c",
            "FROM customers",
            "SELECT c FROM customers c",
            "SELECT to_json(customers) FROM customers",
            "SELECT count(DISTINCT *) FROM customers",
            "SELECT id FROM customers NATURAL JOIN payroll",
            "SELECT x.n FROM (SELECT * FROM customers) x(n)",
            "SELECT c.region FROM customers c(region, id)",
            "SELECT c.region FROM (customers JOIN payroll ON true) c(region, id)",
        ] {
            assert!(columns(sql) >= 4, "{sql}: {:?}", steps(sql));
        }
        assert_eq!(columns("SELECT count(*) FROM customers"), 1);
        assert_eq!(columns("SELECT id FROM customers ORDER BY NAME"), 2);
        assert_eq!(columns("SELECT p.id FROM payroll p JOIN customers c USING (id)"), 1);
    }

    #[test]
    fn written_rows_are_found_again_by_their_number() {
        let made = steps("UPDATE customers SET name = 'x' WHERE id / 2 > 1");
        let [kept, read] = made.as_slice() else { panic!("{made:?}") };
        assert!(kept.contains(r#""customers".rowid AS "_sluice_rowid""#), "{kept}");
        assert!(read.contains(r#"FROM "temp"."main"."_sluice_visible_0""#), "{read}");
    }

    #[test]
    fn no_caller_names_what_is_kept() {
        assert!(ours::is_kept("_SLUICE_VISIBLE_0") && !ours::is_kept("_visible_0") && !ours::is_kept("ä"));
        assert!(engine("SELECT * FROM temp.main._visible_0", &analyst()).is_err());
        assert!(engine("SELECT * FROM pg_temp._sluice_visible_0", &analyst()).is_err());
        assert!(engine("CREATE TEMP TABLE _sluice_visible_0 (id INT)", &analyst()).is_err());
    }
}
