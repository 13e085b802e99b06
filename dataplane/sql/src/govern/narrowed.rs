//! Conditions of a query by which visible rows are left out before they are kept for it.
//!
//! A copy need not hold what WHERE leaves out anyway. A condition is asked of hidden rows too, so only one that fails on
//! no row is taken. It must hold for all that reads the copy: one SELECT reads the table, and joins it by nothing that
//! keeps rows without a match. Under a strict rule there are none: no condition of the caller meets a row that it hides.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinOperator, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
    TableWithJoins, Value,
};

use super::{ExecutionMode, lineage};
use crate::ast::expression::binary;
use crate::ast::{any_expression, each_select, visit_relations};
use crate::scan::Scan;
use crate::scan::marker::{self, Marked};

/// So many conditions of one SELECT are looked at.
const CONDITIONS_MAX: usize = 50;

/// `SELECT 1 FROM … WHERE …` for each scan of which fewer rows are kept, by its number.
pub(crate) type NarrowedScans = BTreeMap<usize, Box<Query>>;

/// Those of a query that runs over visible rows from the start.
pub(super) fn of(care: ExecutionMode, tree: &Statement, scans: &[Scan]) -> NarrowedScans {
    let mut found = NarrowedScans::new();
    if care == ExecutionMode::Materialized && matches!(tree, Statement::Query(_)) {
        each_select(tree, |select| found.extend(narrowed(select, scans)));
    }
    found.retain(|number, _| is_read_once(*number, tree, scans));
    found
}

/// Whether one name in the statement reads the table: it is kept once for all that do.
fn is_read_once(number: usize, tree: &Statement, scans: &[Scan]) -> bool {
    let Some(scan) = scans.get(number) else { return false };
    let mut read = 0_usize;
    let _: ControlFlow<()> = visit_relations(tree, |name| {
        read += usize::from(marker::read(name) == Some(Marked::Scan(number)));
        ControlFlow::Continue(())
    });
    read == 1 && scans.iter().filter(|other| other.table == scan.table).count() == 1
}

/// Those of one SELECT.
fn narrowed(select: &Select, scans: &[Scan]) -> Vec<(usize, Box<Query>)> {
    let is_plain = select.connect_by.is_empty() && select.lateral_views.is_empty() && select.prewhere.is_none();
    let Some(condition) = select.selection.as_ref().filter(|_| is_plain) else { return Vec::new() };
    let mut conditions = Vec::new();
    parted(condition, &mut conditions);
    conditions.truncate(CONDITIONS_MAX);
    let sources = select.from.iter().flat_map(matched).filter_map(|factor| FilteredSource::of(factor, select, scans));
    sources.filter_map(|source| source.narrowed(&conditions)).collect()
}

/// The conditions that are joined by AND.
#[recursive::recursive]
fn parted<'a>(condition: &'a Expr, found: &mut Vec<&'a Expr>) {
    match condition {
        Expr::Nested(inner) => parted(inner, found),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            parted(left, found);
            parted(right, found);
        }
        other => found.push(other),
    }
}

/// What stands in FROM with no join that keeps rows without a match.
fn matched(table: &TableWithJoins) -> Vec<&TableFactor> {
    let is_inner = |join: &Join| {
        matches!(join.join_operator, JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_))
    };
    if table.joins.iter().all(is_inner) { factors(table).collect() } else { Vec::new() }
}

fn factors(table: &TableWithJoins) -> impl Iterator<Item = &TableFactor> {
    [&table.relation].into_iter().chain(table.joins.iter().map(|join| &join.relation))
}

/// The scan that something in FROM is, of a table as it is stored.
fn scan_of(factor: &TableFactor) -> Option<usize> {
    let TableFactor::Table { name, args: None, sample: None, version: None, .. } = factor else { return None };
    match marker::read(name) {
        Some(Marked::Scan(number)) => Some(number),
        _ => None,
    }
}

/// A filtered table in the FROM of a SELECT.
struct FilteredSource<'a> {
    factor: &'a TableFactor,
    select: &'a Select,
    scans: &'a [Scan],
    number: usize,
    alias: &'a Ident,
}

impl<'a> FilteredSource<'a> {
    fn of(factor: &'a TableFactor, select: &'a Select, scans: &'a [Scan]) -> Option<Self> {
        let number = scan_of(factor)?;
        let scan = scans.get(number)?;
        let TableFactor::Table { alias: Some(alias), .. } = factor else { return None };
        // of an attached table only the columns are there that are asked for
        let is_other = scan.with_rowid || scan.filter_can_fail || scan.asks_other_tables() || scan.table.attached;
        let is_narrowed = !scan.filters.is_empty() && !is_other && alias.columns.is_empty();
        is_narrowed.then_some(Self { factor, select, scans, number, alias: &alias.name })
    }

    /// The rows of it that pass those of these conditions that ask it alone, and fail on none.
    fn narrowed(&self, conditions: &[&Expr]) -> Option<(usize, Box<Query>)> {
        let asked = conditions.iter().filter(|condition| !any_expression(**condition, |expr| !self.is_simple(expr)));
        let safe = asked.filter(|condition| self.is_leakproof(condition)).map(|condition| Expr::clone(condition));
        let condition = safe.reduce(|one, other| binary(one, BinaryOperator::And, other))?;
        Some((self.number, self.query(condition)?))
    }

    fn query(&self, condition: Expr) -> Option<Box<Query>> {
        let mut query = crate::syntax::parse::query("SELECT 1 FROM t WHERE true").ok()?;
        let SetExpr::Select(select) = query.body.as_mut() else { return None };
        select.from.first_mut()?.relation = self.factor.clone();
        select.selection = Some(condition);
        Some(query)
    }

    fn is_leakproof(&self, condition: &Expr) -> bool {
        let Some(query) = self.query(condition.clone()) else { return false };
        let found = lineage::of(&Statement::Query(query), self.scans, false);
        found.refused.is_none() && !found.failing.can_throw && !found.failing.follows_plan()
    }

    /// Whether it is a constant, a column of this table, or a comparison or sum of what stands in it.
    fn is_simple(&self, expr: &Expr) -> bool {
        use BinaryOperator as B;
        match expr {
            Expr::Identifier(name) => self.has(self.number, name) && self.is_no_others(name),
            Expr::CompoundIdentifier(path) => match path.as_slice() {
                [table, name] => table.value.eq_ignore_ascii_case(&self.alias.value) && self.has(self.number, name),
                _ => false,
            },
            Expr::Value(value) => matches!(value.value, Value::Number(..) | Value::SingleQuotedString(_)),
            Expr::BinaryOp { op, .. } => {
                matches!(op, B::And | B::Or | B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq | B::Plus | B::Minus)
            }
            Expr::TypedString(_)
            | Expr::Interval(_)
            | Expr::Between { .. }
            | Expr::InList { .. }
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::Nested(_) => true,
            _ => false,
        }
    }

    fn has(&self, number: usize, name: &Ident) -> bool {
        self.scans.get(number).is_some_and(|scan| scan.table.column(&name.value).is_some())
    }

    /// Whether nothing else in this SELECT may be called so.
    fn is_no_others(&self, name: &Ident) -> bool {
        let is_named = |item: &SelectItem| match item {
            SelectItem::ExprWithAlias { alias, .. } => alias.value.eq_ignore_ascii_case(&name.value),
            SelectItem::ExprWithAliases { .. } => true,
            _ => false,
        };
        let mut others = self.select.from.iter().flat_map(factors).filter(|other| !std::ptr::eq(*other, self.factor));
        let is_free = others.all(|other| scan_of(other).is_some_and(|number| !self.has(number, name)));
        is_free && !self.select.projection.iter().any(is_named)
    }
}

#[cfg(test)]
mod tests {
    use crate::Rules;
    use crate::testing::{analyst, governed};

    #[test]
    fn no_condition_of_the_caller_meets_a_row_that_a_strict_filter_hides() {
        let narrowed = |rules: &Rules| {
            let governed = governed("SELECT any_value(name) FROM customers WHERE id > 5", rules).expect("a statement");
            governed.narrowed.len()
        };
        let mut rules = analyst();
        assert_eq!(narrowed(&rules), 1);
        rules.strictly("main", "customers");
        assert_eq!(narrowed(&rules), 0);
    }
}
