//! The rows that an INSERT gives, as many values as it fills columns.
//!
//! The engine counts them when it writes; read from a query of ours that names its columns, those too many would be
//! dropped in silence. It also makes each value one of its column's type; read together, they would have to be of one.

use sqlparser::ast::{CastKind, DataType, Expr, Insert, Query, SetExpr, Statement, Value};

use super::super::lineage;
use super::is_default;
use crate::ast::any_expression;
use crate::ast::call::{arguments, called, take_expr};
use crate::ast::error::Error;
use crate::bind::types::{self, Known};
use crate::catalog::column_comment::length;
use crate::functions::types::Type;
use crate::scan::Scan;

/// The columns of the query that it reads; none of VALUES, whose rows are counted one by one.
pub(super) fn width(insert: &Insert, scans: &[Scan]) -> Result<Option<usize>, Error> {
    let Some(source) = insert.source.as_ref().filter(|source| !matches!(*source.body, SetExpr::Values(_))) else {
        return Ok(None);
    };
    let found = lineage::of(&Statement::Query(source.clone()), scans, false);
    match (found.refused, found.outputs) {
        (Some(refused), _) => Err(refused),
        (None, Some(outputs)) if !spreads(source) => Ok(Some(outputs.len())),
        _ => Err(Error::unsupported("INSERT of a query whose columns cannot be counted here")),
    }
}

/// Whether it holds `unnest` of what may be a structure, which is as many columns as that has fields.
fn spreads(source: &Query) -> bool {
    any_expression(source, |expr| match expr {
        Expr::Function(function) => called(function).as_deref() == Some("unnest") && !arguments(function).all(is_list),
        _ => false,
    })
}

/// No parameter is a structure.
fn is_list(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Placeholder(_)),
        Expr::Cast { data_type, .. } => matches!(data_type, DataType::Array(_)),
        _ => types::type_of(expr, &Known::default()) == Type::List,
    }
}

/// Leaves out the columns that every row of VALUES gives DEFAULT.
pub(super) fn fit(
    source: &mut Query,
    columns: &mut Vec<String>,
    width: Option<usize>,
    target: &Scan,
) -> Result<(), Error> {
    let SetExpr::Values(values) = source.body.as_mut() else {
        return agree(width.unwrap_or(columns.len()), columns, target);
    };
    values.rows.iter().try_for_each(|row| agree(row.len(), columns, target))?;
    for place in (0..columns.len()).rev() {
        let cells = values.rows.iter().filter_map(|row| row.get(place));
        let defaults = cells.filter(|cell| is_default(cell)).count();
        if defaults == values.rows.len() {
            columns.remove(place);
            values.rows.iter_mut().for_each(|row| drop(row.content.remove(place)));
        } else if defaults > 0 {
            return Err(Error::ungovernable("DEFAULT beside values in one INSERT", &target.table.path()));
        }
    }
    for (place, column) in columns.iter().enumerate() {
        let cells = || values.rows.iter().filter_map(|row| row.get(place));
        if !are_of_one_type(cells())
            && let Some(data_type) = type_of(target, column)
        {
            let cells = values.rows.iter_mut().filter_map(|row| row.content.get_mut(place));
            cells.for_each(|cell| cast(cell, &data_type));
        }
    }
    Ok(())
}

fn agree(given: usize, columns: &[String], target: &Scan) -> Result<(), Error> {
    if given == columns.len() {
        return Ok(());
    }
    let (path, asked) = (target.table.path(), columns.len());
    Err(Error::syntax(format!("INSERT fills {asked} columns of {path} and gives {given} values")))
}

fn are_of_one_type<'a>(cells: impl Iterator<Item = &'a Expr>) -> bool {
    let known = Known::default();
    let kinds: Vec<Type> = cells.filter(|cell| !is_null(cell)).map(|cell| types::type_of(cell, &known)).collect();
    // numbers with a point have digits enough of their own, or not
    let is_whole =
        |kind: &Type| matches!(kind, Type::Integer | Type::Text | Type::Boolean | Type::Date | Type::Timestamp);
    kinds.len() < 2 || kinds.iter().all(|kind| is_whole(kind) && kinds.first() == Some(kind))
}

fn is_null(cell: &Expr) -> bool {
    matches!(cell, Expr::Value(value) if value.value == Value::Null)
}

/// The type that the column is declared with, where it can be written down again.
fn type_of(target: &Scan, column: &str) -> Option<DataType> {
    let declared = &target.table.column(column)?.type_name;
    match crate::syntax::parse::expression(&format!("CAST(NULL AS {declared})")) {
        // a cast would cut a text to the length of its column
        Ok(Expr::Cast { data_type, .. }) => Some(if length(&data_type).is_some() { DataType::Text } else { data_type }),
        _ => None,
    }
}

fn cast(cell: &mut Expr, data_type: &DataType) {
    let value = Box::new(take_expr(cell));
    *cell = Expr::Cast { kind: CastKind::Cast, expr: value, data_type: data_type.clone(), format: None };
}
