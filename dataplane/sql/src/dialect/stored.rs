//! Conversion of values that are written into a column to what that holds.
//!
//! Text is read as a cast to the column's type reads it. A column of variants makes a variant of any plain value, and one
//! of texts takes the text of any variant.
//!
//! The engine's own reading differs from a cast's: it takes no blank before an offset, and no `on` for TRUE.

use sqlparser::ast::{
    Assignment, AssignmentTarget, DoUpdate, Expr, GroupByExpr, Insert, Merge, MergeAction, MergeInsertExpr,
    MergeInsertKind, MergeUpdateExpr, MergeUpdateKind, ObjectName, OnConflict, OnConflictAction, OnInsert, Query,
    Select, SelectItem, SetExpr, Statement, TableFactor, TableObject, Update, Value, Values,
};

use super::call::take_expr;
use super::{Context, compose, meeting, moments, placed, templates};
use crate::ast::error::Error;
use crate::ast::names;
use crate::bind::scope::BoundColumn;
use crate::functions::types::Type;
use crate::print::asked::parameter;

/// The values of a statement that writes, which are rewritten already.
pub(super) fn rewrite(statement: &mut Statement, context: &mut Context<'_>) -> Result<(), Error> {
    match statement {
        Statement::Insert(Insert { table: TableObject::TableName(name), columns, source, on, .. }) => {
            let Some(written) = context.scopes.written(name) else { return Ok(()) };
            let columns: Vec<&ObjectName> = columns.iter().collect();
            let kinds = kinds(&written, &columns);
            if let Some(source) = source
                && kinds.iter().any(|kind| reads(*kind))
            {
                inserted(source, &kinds, context)?;
            }
            match on {
                Some(OnInsert::OnConflict(OnConflict {
                    action: OnConflictAction::DoUpdate(DoUpdate { assignments, .. }),
                    ..
                })) => assigned(assignments, &written, context),
                _ => Ok(()),
            }
        }
        Statement::Update(Update { table, assignments, .. }) => {
            let TableFactor::Table { name, .. } = &table.relation else { return Ok(()) };
            let Some(written) = context.scopes.written(name) else { return Ok(()) };
            assigned(assignments, &written, context)
        }
        Statement::Merge(merge) => merged(merge, context),
        _ => Ok(()),
    }
}

fn merged(Merge { table, clauses, .. }: &mut Merge, context: &mut Context<'_>) -> Result<(), Error> {
    let TableFactor::Table { name, .. } = &*table else { return Ok(()) };
    let Some(written) = context.scopes.written(name) else { return Ok(()) };
    for clause in clauses {
        match &mut clause.action {
            MergeAction::Update(MergeUpdateExpr { kind: MergeUpdateKind::Set(assignments), .. }) => {
                assigned(assignments, &written, context)?;
            }
            MergeAction::Insert(MergeInsertExpr { columns, kind: MergeInsertKind::Values(values), .. }) => {
                let columns: Vec<&ObjectName> = columns.iter().collect();
                rows(values, &kinds(&written, &columns), context)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a value may have to be read before it is written.
fn reads(kind: Type) -> bool {
    matches!(kind, Type::Json | Type::Text | Type::Boolean | Type::Date | Type::Timestamp | Type::TimestampTz)
}

/// The types of the columns that are written, all of them where none is named.
fn kinds(written: &[BoundColumn], columns: &[&ObjectName]) -> Vec<Type> {
    match columns {
        [] => written.iter().map(|column| column.kind).collect(),
        named => named.iter().map(|column| kind_of(written, column)).collect(),
    }
}

fn kind_of(written: &[BoundColumn], name: &ObjectName) -> Type {
    let is_it =
        |column: &&BoundColumn| names::last(name).is_some_and(|last| last.value.eq_ignore_ascii_case(&column.name));
    written.iter().find(is_it).map_or(Type::Unknown, |column| column.kind)
}

fn assigned(assignments: &mut [Assignment], written: &[BoundColumn], context: &mut Context<'_>) -> Result<(), Error> {
    for Assignment { target, value } in assignments {
        if let AssignmentTarget::ColumnName(name) = target {
            let known = context.type_of(value);
            *value = stored(take_expr(value), kind_of(written, name), known, context)?;
        }
    }
    Ok(())
}

fn rows(values: &mut Values, kinds: &[Type], context: &mut Context<'_>) -> Result<(), Error> {
    for (cell, kind) in values.rows.iter_mut().flat_map(|row| row.content.iter_mut().zip(kinds)) {
        if *kind == Type::Text && matches!(cell, Expr::Value(_)) {
            continue; // which is no variant
        }
        let known = context.type_of(cell);
        *cell = stored(take_expr(cell), *kind, known, context)?;
    }
    Ok(())
}

/// The rows of a query, whose columns are those that ended last.
fn inserted(source: &mut Query, kinds: &[Type], context: &mut Context<'_>) -> Result<(), Error> {
    let is_plain = is_row_by_row(source);
    match source.body.as_mut() {
        SetExpr::Values(values) => rows(values, kinds, context),
        SetExpr::Select(select) => {
            let known: Vec<Type> = context.scopes.answered().columns.iter().map(|column| column.kind).collect();
            if known.len() != select.projection.len() || context.scopes.answered().is_open {
                return Ok(());
            }
            let count = select.projection.len().min(kinds.len());
            let mut variants = Vec::new();
            for (place, ((item, kind), known)) in select.projection.iter_mut().zip(kinds).zip(known).enumerate() {
                let (expr, is_free) = match item {
                    SelectItem::UnnamedExpr(expr) => (expr, is_plain),
                    // what names it wants it as it was
                    SelectItem::ExprWithAlias { expr, .. } => (expr, false),
                    _ => continue,
                };
                if is_free || *kind == Type::Json || compose::literal(expr).is_some() {
                    *expr = stored(take_expr(expr), *kind, known, context)?;
                } else if *kind == Type::Text && known == Type::Json {
                    variants.push(place);
                }
            }
            if variants.is_empty() {
                return Ok(());
            }
            let value = |place| match placed::column(place) {
                variant if variants.contains(&place) => meeting::unquoted(variant),
                other => other,
            };
            placed::over(source, (0..count).map(value).collect())
        }
        _ => Ok(()),
    }
}

/// Whether what an item of the select list becomes decides nothing about which rows there are.
fn is_row_by_row(source: &Query) -> bool {
    let SetExpr::Select(select) = source.body.as_ref() else { return false };
    let Select { distinct, group_by, .. } = select.as_ref();
    let is_grouped = !matches!(group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    distinct.is_none() && !is_grouped && source.order_by.is_none()
}

/// The value as its column holds it.
fn stored(value: Expr, column: Type, known: Type, context: &mut Context<'_>) -> Result<Expr, Error> {
    match column {
        Type::Json => variant(value, known, context),
        // without the quotes that the engine would leave there
        Type::Text if known == Type::Json => Ok(meeting::unquoted(value)),
        Type::TimestampTz if parameter(&value).is_some() => Ok(moments::with_zone(value)),
        Type::Boolean | Type::Date | Type::Timestamp | Type::TimestampTz if known == Type::Text => {
            match compose::literal(&value) {
                Some(_) if column == Type::Date => moments::day(value, false, context),
                Some(literal) => Ok(read_literal(literal, column).unwrap_or_else(|| moments_literal(value, column))),
                None if templates::is_volatile(&value) => Ok(value),
                None => read(value, column, context),
            }
        }
        _ => Ok(value),
    }
}

/// A literal whose text alone says what it is here.
fn read_literal(literal: &str, column: Type) -> Option<Expr> {
    match column {
        Type::Boolean if literal.eq_ignore_ascii_case("on") => Some(Expr::value(Value::Boolean(true))),
        Type::Boolean if literal.eq_ignore_ascii_case("off") => Some(Expr::value(Value::Boolean(false))),
        Type::TimestampTz => moments::offset_joined(literal).map(compose::text),
        _ => None,
    }
}

fn moments_literal(value: Expr, column: Type) -> Expr {
    if column == Type::Timestamp { moments::literal(value) } else { value }
}

/// Text that is known when the statement runs.
fn read(text: Expr, column: Type, context: &mut Context<'_>) -> Result<Expr, Error> {
    match column {
        Type::Boolean => templates::fill("to_boolean", &mut [text], context),
        Type::TimestampTz => templates::fill("_with_offset", &mut [text], context),
        Type::Date => moments::day(text, false, context),
        // the engine makes it the column's type, which may count nanoseconds
        _ => moments::written(text, false, context),
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
            _ => templates::fill("_variant_of_text", &mut [value], context),
        },
        _ => Ok(compose::call("to_json", [value])),
    }
}
