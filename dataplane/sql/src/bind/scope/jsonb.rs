//! Which columns of an answer are columns that are declared as JSONB, which is JSON to the engine.

use sqlparser::ast::{
    Delete, Expr, FromTable, Insert, ObjectName, SelectItem, Statement, TableFactor, TableObject, TableWithJoins,
    Update,
};

use super::Scopes;
use super::columns::BoundColumn;
use crate::ast::names;

impl Scopes<'_> {
    /// Their places in the answer of a statement that was walked; none of one whose columns are not all known.
    pub(crate) fn jsonb_outputs(&self, statement: &Statement) -> Vec<usize> {
        if matches!(statement, Statement::Query(_)) && !self.answered.is_open {
            return places(self.answered.columns.iter().map(|column| column.is_jsonb));
        }
        let Some((name, items)) = returning(statement) else { return Vec::new() };
        let written = self.written(name).unwrap_or_default();
        places(items.iter().flat_map(|item| returned(item, &written)))
    }
}

/// The table that a statement writes, and what it answers of its rows.
fn returning(statement: &Statement) -> Option<(&ObjectName, &[SelectItem])> {
    match statement {
        Statement::Insert(Insert { table: TableObject::TableName(name), returning, .. }) => {
            Some((name, returning.as_deref()?))
        }
        Statement::Update(Update { table, returning, .. }) => Some((named(table)?, returning.as_deref()?)),
        Statement::Delete(Delete { from: FromTable::WithFromKeyword(from), returning, .. }) => {
            Some((from.first().and_then(named)?, returning.as_deref()?))
        }
        _ => None,
    }
}

fn places(are_jsonb: impl Iterator<Item = bool>) -> Vec<usize> {
    are_jsonb.enumerate().filter(|(_, is_jsonb)| *is_jsonb).map(|(place, _)| place).collect()
}

fn named(table: &TableWithJoins) -> Option<&ObjectName> {
    match &table.relation {
        TableFactor::Table { name, .. } => Some(name),
        _ => None,
    }
}

/// Of each column that an item of RETURNING answers, whether it is such a column of the table that is written.
fn returned(item: &SelectItem, written: &[BoundColumn]) -> Vec<bool> {
    let is_jsonb = |expr: &Expr| {
        names::column(expr).is_some_and(|name| {
            written.iter().any(|column| column.is_jsonb && column.name.eq_ignore_ascii_case(&name.value))
        })
    };
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => vec![is_jsonb(expr)],
        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
            written.iter().map(|column| column.is_jsonb).collect()
        }
        SelectItem::ExprWithAliases { .. } => vec![false],
    }
}
