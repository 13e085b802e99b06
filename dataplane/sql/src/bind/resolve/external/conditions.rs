//! Conditions by which files of an external table may be left out: a column is one of these literals.
//!
//! Only what holds for each row that a SELECT over one table takes: an equality or IN, alone or joined by AND in its WHERE.

use std::collections::HashMap;

use sqlparser::ast::{BinaryOperator, Expr, Ident, Select, SelectItem, Statement, TableFactor, Value};
use sqlparser::tokenizer::Location;

use crate::ast::{each_select, names};
use crate::catalog::external_table::PartitionCondition;

/// As many literals as are compared with the partitions of a table.
const VALUES_MAX: usize = 1_000;

/// The conditions of each SELECT over one table, by the place of its name.
pub(in crate::bind::resolve) type Conditions = HashMap<Location, Vec<PartitionCondition>>;

/// Those of all SELECTs of a statement.
pub(in crate::bind::resolve) fn conditions(tree: &Statement) -> Conditions {
    let mut found = Conditions::new();
    each_select(tree, |select| found.extend(of_select(select)));
    found
}

fn of_select(select: &Select) -> Option<(Location, Vec<PartitionCondition>)> {
    let [table] = select.from.as_slice() else { return None };
    let TableFactor::Table { name, alias, args: None, version: None, sample: None, .. } = &table.relation else {
        return None;
    };
    let is_renamed = alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
    let is_plain = table.joins.is_empty() && select.connect_by.is_empty() && select.lateral_views.is_empty();
    if is_renamed || !is_plain || select.prewhere.is_some() {
        return None;
    }
    let last = names::last(name)?;
    let called = alias.as_ref().map_or(last, |alias| &alias.name);
    let mut found = Vec::new();
    each(select.selection.as_ref()?, called, &mut found);
    // a name of the answer may stand for something else
    found.retain(|condition: &PartitionCondition| {
        !select.projection.iter().any(|item| is_named(item, &condition.column))
    });
    (!found.is_empty()).then_some((last.span.start, found))
}

fn is_named(item: &SelectItem, column: &str) -> bool {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => alias.value.eq_ignore_ascii_case(column),
        SelectItem::ExprWithAliases { .. } => true,
        _ => false,
    }
}

/// The conditions that are joined by AND.
fn each(condition: &Expr, called: &Ident, found: &mut Vec<PartitionCondition>) {
    let mut add = |column: &Expr, values: Vec<Expr>| {
        if let Some(column) = named(column, called)
            && values.iter().all(is_literal)
            && (1..=VALUES_MAX).contains(&values.len())
        {
            found.push(PartitionCondition { column, values });
        }
    };
    match condition {
        Expr::Nested(within) => each(within, called, found),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            each(left, called, found);
            each(right, called, found);
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            add(left, vec![Expr::clone(right)]);
            add(right, vec![Expr::clone(left)]);
        }
        Expr::InList { expr, list, negated: false } => add(expr, list.clone()),
        _ => {}
    }
}

/// The column of the table that an expression names.
fn named(expr: &Expr, called: &Ident) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [table, name] if table.value.eq_ignore_ascii_case(&called.value) => Some(name.value.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_) | Value::Number(..)))
}
