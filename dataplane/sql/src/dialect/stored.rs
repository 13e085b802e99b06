//! What is written into a column of variants: a plain value becomes one, a text that is JSON is read as JSON.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Insert, ObjectName, Query, SelectItem, SetExpr, Statement, TableFactor,
    TableObject, Update,
};

use super::call::take_expr;
use super::{Context, compose, templates};
use crate::ast::error::Error;
use crate::ast::names;
use crate::bind::scope::BoundColumn;
use crate::functions::types::Type;

/// The values of an INSERT or an UPDATE, which are rewritten already.
pub(super) fn rewrite(statement: &mut Statement, context: &mut Context<'_>) -> Result<(), Error> {
    match statement {
        Statement::Insert(Insert { table: TableObject::TableName(name), columns, source: Some(source), .. }) => {
            let Some(written) = context.scopes.written(name) else { return Ok(()) };
            let places: Vec<bool> = match columns.as_slice() {
                [] => written.iter().map(is_variant).collect(),
                named => named.iter().map(|column| has_variants(&written, column)).collect(),
            };
            if places.contains(&true) { inserted(source, &places, context) } else { Ok(()) }
        }
        Statement::Update(Update { table, assignments, .. }) => {
            let TableFactor::Table { name, .. } = &table.relation else { return Ok(()) };
            let Some(written) = context.scopes.written(name) else { return Ok(()) };
            assignments.iter_mut().try_for_each(|assignment| assigned(assignment, &written, context))
        }
        _ => Ok(()),
    }
}

fn is_variant(column: &BoundColumn) -> bool {
    column.kind == Type::Json
}

fn has_variants(written: &[BoundColumn], name: &ObjectName) -> bool {
    let is_it =
        |column: &&BoundColumn| names::last(name).is_some_and(|last| last.value.eq_ignore_ascii_case(&column.name));
    written.iter().find(is_it).is_some_and(is_variant)
}

fn assigned(assignment: &mut Assignment, written: &[BoundColumn], context: &mut Context<'_>) -> Result<(), Error> {
    let AssignmentTarget::ColumnName(name) = &assignment.target else { return Ok(()) };
    if has_variants(written, name) {
        let known = context.type_of(&assignment.value);
        assignment.value = variant(take_expr(&mut assignment.value), known, context)?;
    }
    Ok(())
}

/// The rows of a query, whose columns are those that ended last.
fn inserted(source: &mut Query, places: &[bool], context: &mut Context<'_>) -> Result<(), Error> {
    match source.body.as_mut() {
        SetExpr::Values(values) => {
            for (cell, _) in
                values.rows.iter_mut().flat_map(|row| row.content.iter_mut().zip(places)).filter(|(_, is)| **is)
            {
                let known = context.type_of(cell);
                *cell = variant(take_expr(cell), known, context)?;
            }
            Ok(())
        }
        SetExpr::Select(select) => {
            let kinds: Vec<Type> = context.scopes.answered().columns.iter().map(|column| column.kind).collect();
            if kinds.len() != select.projection.len() || context.scopes.answered().is_open {
                return Ok(());
            }
            for ((item, _), known) in select.projection.iter_mut().zip(places).zip(kinds).filter(|((_, is), _)| **is) {
                if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                    *expr = variant(take_expr(expr), known, context)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The variant that a value becomes in a column.
fn variant(value: Expr, known: Type, context: &mut Context<'_>) -> Result<Expr, Error> {
    match known {
        Type::Json | Type::Unknown => Ok(value),
        Type::Text => match compose::literal(&value).map(|text| text.trim_start().chars().next()) {
            // the engine reads it, or says that it is no JSON
            Some(Some('{' | '[')) => Ok(value),
            // no JSON begins with anything else
            Some(first)
                if !first.is_some_and(|first| first == '"' || first == '-' || first.is_ascii_alphanumeric()) =>
            {
                Ok(compose::call("to_json", [value]))
            }
            _ => templates::fill("_variant_of_text", &[value], context),
        },
        _ => Ok(compose::call("to_json", [value])),
    }
}
