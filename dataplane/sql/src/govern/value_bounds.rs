//! Bounds of the numbers in tables, within which a query fails on no row and follows no order of rows.
//!
//! Of a type of 19 digits the sums and products may leave their range, though the numbers of a table seldom have so
//! many. A query that would run over visible rows for its types alone asks first whether these hold a longer number:
//! `SELECT error(…) FROM t WHERE n >= 1000000`. If there is none, it runs where the rows are. Else the question fails,
//! and it runs over visible rows, as it would have. Either follows from visible rows alone, read in the same
//! transaction, and no hidden row makes the question fail.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, Query, Select, SelectItem, SetExpr, SetOperator, SetQuantifier, Statement,
    TableFactor, UnaryOperator, Value, Visitor,
};

use super::lineage::bounds::ValueBounds;
use super::{ExecutionMode, lineage};
use crate::ast::call::of_engine;
use crate::ast::expression::{binary, text};
use crate::ast::{Visit, names};
use crate::bind::types::digits::Digits;
use crate::functions::catalogue::{self, SafeWhen};
use crate::scan::marker::{self, Marked};
use crate::scan::{Scan, ScanColumn};

/// Digits before the point that are tried: the fewest tell whether any do, and the most hold for more tables.
const DIGITS: [u16; 2] = [6, 9];
/// So many columns are asked about, each from both sides.
const COLUMNS_MAX: usize = 12;
/// The name of a table in the question to its rows.
const ROWS: &str = "seen";
/// The engine's error about a longer number. Nobody is told: the query runs in the other way.
const LONGER: &str = "a number has more digits than this plan is made for";

/// The question to visible rows before a query runs where the rows are, if it can run so.
pub(super) fn asked(care: ExecutionMode, tree: &Statement, scans: &[Scan]) -> Option<Box<Query>> {
    let is_odd = |scan: &Scan| scan.filter_can_fail || scan.asks_other_tables() || scan.with_rowid;
    if care != ExecutionMode::Materialized || !matches!(tree, Statement::Query(_)) || scans.iter().any(is_odd) {
        return None;
    }
    let mut calculated = CalculatedNames::default();
    let _: ControlFlow<()> = tree.visit(&mut calculated);
    if calculated.is_recursive {
        return None; // what a round makes is as long as its type lets it be
    }
    let bounds =
        |whole_max| ValueBounds::of(whole_max, &calculated.names, scans).filter(|one| one.suffice(tree, scans));
    let [fewest, most] = DIGITS;
    let few = bounds(fewest)?;
    bounds(most).unwrap_or(few).question(scans)
}

impl ValueBounds {
    /// Of the columns of these names whose types hold longer numbers, if there are any and they are not too many.
    fn of(whole_max: u16, calculated: &HashSet<String>, scans: &[Scan]) -> Option<Self> {
        let mut columns = BTreeSet::new();
        // of an attached table only the columns are there that the query names
        for (number, scan) in scans.iter().enumerate().filter(|(_, scan)| !scan.table.attached) {
            for (place, column) in scan.columns().enumerate() {
                if calculated.contains(&column.name.to_ascii_lowercase()) && is_longer(&column, whole_max) {
                    columns.insert((number, place));
                }
            }
        }
        (1..=COLUMNS_MAX).contains(&columns.len()).then_some(Self { whole_max, columns })
    }

    /// Whether within these bounds nothing of the query fails, and nothing of its answer follows the plan.
    fn suffice(&self, tree: &Statement, scans: &[Scan]) -> bool {
        let found = lineage::within(tree, scans, self);
        found.refused.is_none() && !found.failing.can_throw && !found.failing.follows_plan()
    }

    /// `SELECT error(…) FROM t WHERE n >= 1000000 UNION ALL SELECT error(…) FROM t WHERE n <= -1000000 …`.
    /// Each arm has one comparison, so that the engine passes over parts of a table whose statistics exclude it.
    fn question(&self, scans: &[Scan]) -> Option<Box<Query>> {
        let mut arms: Vec<Box<SetExpr>> = Vec::new();
        for (number, place) in &self.columns {
            let scan = scans.get(*number)?;
            if scans.iter().take(*number).any(|other| other.table == scan.table) {
                continue; // asked about already
            }
            let column = scan.column(*place)?;
            let above = first_longer(self.whole_max, Digits::of_name(column.type_name)?.scale);
            let below = Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(above.clone()) };
            for (op, bound) in [(BinaryOperator::GtEq, above), (BinaryOperator::LtEq, below)] {
                arms.push(failing(*number, binary(value(&column), op, bound))?);
            }
        }
        let united = |left, right| {
            let (op, set_quantifier) = (SetOperator::Union, SetQuantifier::All);
            Box::new(SetExpr::SetOperation { op, set_quantifier, left, right })
        };
        let body = arms.into_iter().reduce(united)?;
        let mut query = crate::syntax::parse::query("SELECT 1").ok()?;
        query.body = body;
        Some(query)
    }
}

/// Whether it is a number with a sign, seen as it is, whose type has more digits before the point.
fn is_longer(column: &ScanColumn<'_>, whole_max: u16) -> bool {
    let is_signed = !column.type_name.starts_with(['U', 'u']);
    let digits = Digits::of_name(column.type_name);
    column.mask.is_none() && is_signed && digits.is_some_and(|digits| digits.whole > whole_max)
}

/// The column, in the question to its table.
fn value(column: &ScanColumn<'_>) -> Expr {
    Expr::CompoundIdentifier(vec![Ident::new(ROWS), names::quoted(column.name)])
}

/// The first number of more digits before the point, of as many behind it: compared with it a column is not cast.
fn first_longer(whole_max: u16, scale: u16) -> Expr {
    let zeros = |count: u16| "0".repeat(usize::from(count));
    let point = if scale > 0 { "." } else { "" };
    Expr::value(Value::Number(format!("1{}{point}{}", zeros(whole_max), zeros(scale)), false))
}

/// `SELECT CAST(error(…) AS INTEGER) FROM <scan> WHERE <condition>`.
fn failing(number: usize, condition: Expr) -> Option<Box<SetExpr>> {
    let form = format!("SELECT CAST(1 AS INTEGER) AS longer FROM t AS {ROWS} WHERE TRUE");
    let mut query = crate::syntax::parse::query(&form).ok()?;
    let SetExpr::Select(select) = query.body.as_mut() else { return None };
    let TableFactor::Table { name, .. } = &mut select.from.first_mut()?.relation else { return None };
    *name = marker::name(Marked::Scan(number));
    let Some(SelectItem::ExprWithAlias { expr: Expr::Cast { expr, .. }, .. }) = select.projection.first_mut() else {
        return None;
    };
    **expr = of_engine("error", [text(LONGER)]);
    select.selection = Some(condition);
    Some(query.body)
}

/// Names of columns that a query adds up or calculates with, in lower case.
#[derive(Default)]
struct CalculatedNames {
    names: HashSet<String>,
    /// Whether each expression around the walk is a part of a number that is calculated.
    within: Vec<bool>,
    /// Whether rows of the query are made of rows of the same.
    is_recursive: bool,
}

impl Visitor for CalculatedNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.is_recursive |= query.with.as_ref().is_some_and(|with| with.recursive);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.is_recursive |= !select.connect_by.is_empty();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_within = calculates(expr) || !decides(expr) && self.within.last().is_some_and(|within| *within);
        self.within.push(is_within);
        let named = match expr {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(path) => path.last(),
            _ => None,
        };
        if is_within {
            self.names.extend(named.map(|name| name.value.to_ascii_lowercase()));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        self.within.pop();
        ControlFlow::Continue(())
    }
}

/// Whether digits are added by it: a sum of rows, or what is calculated of two numbers.
fn calculates(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { op, .. } => {
            matches!(op, BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply)
        }
        Expr::Function(function) => {
            let known = names::last(&function.name).and_then(|name| catalogue::find(&name.value));
            known.is_some_and(|known| matches!(known.safe_when, Some(SafeWhen::Sums)))
        }
        _ => false,
    }
}

/// Whether it answers yes or no: no digit of its parts goes into what stands around it.
fn decides(expr: &Expr) -> bool {
    use BinaryOperator as B;
    match expr {
        Expr::BinaryOp { op, .. } => matches!(op, B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq),
        Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Exists { .. }
        | Expr::IsNull(_)
        | Expr::IsNotNull(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{analyst, engine, filter, governed};
    use crate::{ExecutionMode, Rules};

    const EARLY: &str =
        "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.amount * o.amount > 5";

    /// The question to visible rows, if there is one.
    fn asked(sql: &str, rules: &Rules) -> Option<String> {
        let made = engine(sql, rules).unwrap_or_else(|error| panic!("{sql}: {error}"));
        made.before.first().map(|step| step.sql.clone())
    }

    #[test]
    fn a_query_that_fails_of_long_numbers_alone_asks_for_them() {
        expect_test::expect![[r#"
            CREATE OR REPLACE TEMP TABLE "temp"."main"."_sluice_check" AS SELECT CAST("system"."main"."error"('a number has more digits than this plan is made for') AS INTEGER) AS "longer" FROM (SELECT "orders"."id", "orders"."customer_id", "orders"."region", "orders"."amount", "orders"."status", "orders"."note" FROM "raw"."main"."orders" AS "orders" WHERE ("orders"."region" = $1)) AS "seen" WHERE "seen"."amount" >= 1000000.00 UNION ALL SELECT CAST("system"."main"."error"('a number has more digits than this plan is made for') AS INTEGER) AS "longer" FROM (SELECT "orders"."id", "orders"."customer_id", "orders"."region", "orders"."amount", "orders"."status", "orders"."note" FROM "raw"."main"."orders" AS "orders" WHERE ("orders"."region" = $1)) AS "seen" WHERE "seen"."amount" <= (-1000000.00)"#]]
        .assert_eq(&asked(EARLY, &analyst()).expect("a question"));
        assert_eq!(governed(EARLY, &analyst()).expect("a statement").care(), ExecutionMode::Speculative);
        assert!(asked(&EARLY.replace("o.id FROM", "c.salary FROM"), &analyst()).is_some(), "a masked column is text");
    }

    #[test]
    fn of_columns_that_are_only_compared_nothing_is_asked() {
        let sql = "SELECT c.id FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.id \
                   HAVING sum(CASE WHEN o.id > 5 THEN o.amount * o.amount END) > 3";
        let question = asked(sql, &analyst()).expect("a question");
        assert!(question.contains(r#""seen"."amount" >= "#) && !question.contains(r#""seen"."id""#), "{question}");
    }

    #[test]
    fn over_visible_rows_nothing_is_asked() {
        let made = engine(EARLY, &analyst()).expect("engine SQL");
        assert!(made.before.iter().all(|step| step.checks && step.keeps && !step.counts));
        let visible = made.over_visible().expect("engine SQL");
        assert!(!visible.before.is_empty() && visible.before.iter().all(|step| !step.sql.contains("error")));
    }

    #[test]
    fn a_table_that_is_read_twice_is_asked_once() {
        let sql = "SELECT a.id FROM orders a JOIN orders b ON a.id = b.id WHERE a.amount * b.amount > 5";
        let question = asked(sql, &analyst()).expect("a question");
        assert_eq!(question.matches(" WHERE \"seen\".").count(), 2, "{question}");
    }

    #[test]
    fn nothing_is_asked_where_it_would_not_help_or_must_not() {
        for sql in [
            "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id * o.id > 5",
            "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.amount * o.amount > c.name::INT",
            "SELECT any_value(c.id), sum(o.amount) FROM orders o JOIN customers c ON c.id = o.customer_id",
            "SELECT id FROM orders WHERE amount * amount * amount * amount * amount > 5 AND EXISTS (SELECT 1 FROM orders)",
            "WITH RECURSIVE r(n) AS (SELECT amount FROM orders UNION ALL SELECT r.n * r.n FROM r JOIN orders o ON o.id = 1) \
             SELECT n FROM r",
            "CREATE TABLE made AS SELECT o.id FROM orders o JOIN customers c ON c.id = o.id WHERE o.amount * o.amount > 5",
            "UPDATE orders SET note = 'x' WHERE amount * amount > 5",
        ] {
            assert!(governed(sql, &analyst()).expect("a statement").asked.is_none(), "{sql}");
        }
        let mut strict = analyst();
        strict.strictly("main", "orders");
        let mut by_others = analyst();
        by_others.filter("main", "orders", filter("id in (select customer_id from payroll)"));
        let mut in_parts = analyst();
        in_parts.in_parts();
        for rules in [strict, by_others, in_parts, Rules::default()] {
            assert!(governed(EARLY, &rules).expect("a statement").asked.is_none(), "{rules:?}");
        }
    }
}
