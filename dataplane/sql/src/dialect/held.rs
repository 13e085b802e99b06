//! Texts that are written into a column of a length: one that is longer is error 22001, as nobody would miss its end.
//!
//! A row is looked at where it is written, so that what the caller does not write is never asked for its length.

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, Assignment, AssignmentTarget, ColumnDef, CreateTable,
    DataType, DoUpdate, Expr, Ident, Insert, Merge, MergeAction, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr,
    MergeUpdateKind, MultiTableInsertIntoClause, MultiTableInsertValue, ObjectName, OnConflict, OnConflictAction,
    OnInsert, Query, SelectItem, SetExpr, Statement, TableFactor, TableObject, Update, Values,
};

use super::call::take_expr;
use super::{Context, compose, placed, templates};
use crate::ast::error::Error;
use crate::ast::names;
use crate::bind::scope::BoundColumn;
use crate::catalog::column_comment::{self, length};
use crate::print::asked::parameter;
use crate::syntax::statement::many;

/// How what the engine says of a longer text begins; the length stands behind.
pub const TOO_LONG: &str = "value too long for type character varying";

/// Everything a statement writes, which is rewritten already.
pub(super) fn rewrite(statement: &mut Statement, context: &mut Context<'_>) -> Result<(), Error> {
    match statement {
        Statement::Insert(insert) if insert.multi_table_insert_type.is_some() => {
            many::clauses_mut(insert).try_for_each(|clause| one_of_many(clause, context))
        }
        Statement::Insert(insert) => inserted(insert, context),
        Statement::Update(Update { table, assignments, .. }) => assigned(assignments, &table.relation, context),
        Statement::Merge(merge) => merged(merge, context),
        Statement::CreateTable(create) => made(create, context),
        Statement::AlterTable(AlterTable { operations, .. }) => {
            operations.iter_mut().try_for_each(|operation| altered(operation, context))
        }
        _ => Ok(()),
    }
}

/// The length of each column that is written; nothing where none has one.
fn lengths(table: &ObjectName, columns: &[&Ident], context: &Context<'_>) -> Option<Vec<Option<u64>>> {
    let written = context.scopes.written(table)?;
    let of = |name: &&Ident| length_of(&written, &name.value);
    let lengths: Vec<_> = match columns {
        [] => written.iter().map(|column| column.length).collect(),
        named => named.iter().map(of).collect(),
    };
    lengths.iter().any(Option::is_some).then_some(lengths)
}

fn length_of(written: &[BoundColumn], name: &str) -> Option<u64> {
    written.iter().find(|column| column.name.eq_ignore_ascii_case(name))?.length
}

fn inserted(insert: &mut Insert, context: &mut Context<'_>) -> Result<(), Error> {
    let TableObject::TableName(name) = &insert.table else { return Ok(()) };
    if let Some(OnInsert::OnConflict(OnConflict { action: OnConflictAction::DoUpdate(update), .. })) = &mut insert.on {
        let DoUpdate { assignments, .. } = update;
        set(assignments, name, context)?;
    }
    let columns: Vec<_> = insert.columns.iter().filter_map(names::last).collect();
    let Some(lengths) = lengths(name, &columns, context) else { return Ok(()) };
    match insert.source.as_deref_mut() {
        Some(source) if matches!(*source.body, SetExpr::Values(_)) => match source.body.as_mut() {
            SetExpr::Values(values) => rows(values, &lengths, context),
            _ => Ok(()),
        },
        Some(source) => read(source, &lengths, context),
        None => Ok(()),
    }
}

fn rows(values: &mut Values, lengths: &[Option<u64>], context: &mut Context<'_>) -> Result<(), Error> {
    let cells = values.rows.iter_mut().flat_map(|row| row.content.iter_mut().zip(lengths));
    for (cell, length) in cells {
        hold(cell, *length, context)?;
    }
    Ok(())
}

/// The rows of a query: `SELECT <held>, … FROM (query)`.
fn read(source: &mut Query, lengths: &[Option<u64>], context: &mut Context<'_>) -> Result<(), Error> {
    let mut values = Vec::with_capacity(lengths.len());
    for (place, length) in lengths.iter().enumerate() {
        let mut value = placed::column(place);
        hold(&mut value, *length, context)?;
        values.push(value);
    }
    placed::over(source, values)
}

/// A table of `INSERT ALL`, whose rows are read of what is kept.
fn one_of_many(clause: &mut MultiTableInsertIntoClause, context: &mut Context<'_>) -> Result<(), Error> {
    let columns: Vec<_> = clause.columns.iter().collect();
    let Some(lengths) = lengths(&clause.table_name, &columns, context) else { return Ok(()) };
    let Some(values) = &mut clause.values else {
        return Err(Error::unsupported("INSERT into several tables without VALUES, into columns of a length"));
    };
    for (value, length) in values.values.iter_mut().zip(lengths) {
        if let MultiTableInsertValue::Expr(value) = value {
            hold(value, length, context)?;
        }
    }
    Ok(())
}

fn assigned(assignments: &mut [Assignment], table: &TableFactor, context: &mut Context<'_>) -> Result<(), Error> {
    match table {
        TableFactor::Table { name, .. } => set(assignments, name, context),
        _ => Ok(()),
    }
}

fn set(assignments: &mut [Assignment], table: &ObjectName, context: &mut Context<'_>) -> Result<(), Error> {
    let Some(written) = context.scopes.written(table) else { return Ok(()) };
    for assignment in assignments {
        if let AssignmentTarget::ColumnName(name) = &assignment.target
            && let Some(column) = names::last(name)
        {
            hold(&mut assignment.value, length_of(&written, &column.value), context)?;
        }
    }
    Ok(())
}

fn merged(merge: &mut Merge, context: &mut Context<'_>) -> Result<(), Error> {
    let Merge { table, clauses, .. } = merge;
    let TableFactor::Table { name, .. } = &*table else { return Ok(()) };
    for clause in clauses {
        match &mut clause.action {
            MergeAction::Update(MergeUpdateExpr { kind: MergeUpdateKind::Set(assignments), .. }) => {
                set(assignments, name, context)?;
            }
            MergeAction::Insert(MergeInsertExpr { columns, kind: MergeInsertKind::Values(values), .. }) => {
                let columns: Vec<_> = columns.iter().filter_map(names::last).collect();
                if let Some(lengths) = lengths(name, &columns, context) {
                    rows(values, &lengths, context)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// `CREATE TABLE t (a VARCHAR(3)) AS query` holds its rows to it; without columns they have the lengths that they come with.
fn made(create: &mut CreateTable, context: &mut Context<'_>) -> Result<(), Error> {
    let Some(query) = &mut create.query else { return Ok(()) };
    if create.columns.is_empty() {
        let answered = context.scopes.answered();
        if !create.if_not_exists && !answered.is_open {
            create.columns = answered.columns.iter().filter_map(with_length).collect();
        }
        return Ok(());
    }
    let SetExpr::Select(select) = query.body.as_mut() else { return Ok(()) };
    for item in &mut select.projection {
        if let SelectItem::ExprWithAlias { expr, alias } = item
            && let Some(column) = create.columns.iter().find(|column| column.name == *alias)
        {
            hold(expr, length(&column.data_type), context)?;
        }
    }
    Ok(())
}

fn with_length(column: &BoundColumn) -> Option<ColumnDef> {
    let data_type = column_comment::varchar(column.length?);
    Some(ColumnDef { name: names::quoted(&column.name), data_type, options: Vec::new() })
}

/// `ALTER COLUMN … SET DATA TYPE VARCHAR(n)`: what is there must fit.
fn altered(operation: &mut AlterTableOperation, context: &mut Context<'_>) -> Result<(), Error> {
    if let AlterTableOperation::AlterColumn {
        column_name,
        op: AlterColumnOperation::SetDataType { data_type, using, .. },
    } = operation
        && let Some(length) = length(data_type)
    {
        let mut value = using.take().unwrap_or_else(|| Expr::Identifier(column_name.clone()));
        hold(&mut value, Some(length), context)?;
        *using = Some(compose::cast(value, DataType::Varchar(None)));
    }
    Ok(())
}

/// The value, or an error where its text is longer.
fn hold(value: &mut Expr, length: Option<u64>, context: &mut Context<'_>) -> Result<(), Error> {
    let Some(length) = length.filter(|length| !fits(value, *length)) else { return Ok(()) };
    if parameter(value).is_some() {
        // beside one whose type is open, the engine tells the type of no other
        *value = compose::cast(take_expr(value), DataType::Varchar(None));
    }
    let refusal = compose::text(format!("{TOO_LONG}({length})"));
    let template = if templates::is_volatile(value) { "_held_once" } else { "_held" };
    let length = compose::number(i64::try_from(length).unwrap_or(i64::MAX));
    *value = templates::fill(template, &mut [take_expr(value), length, refusal], context)?;
    Ok(())
}

/// A text that is written down and short, NULL, or the word DEFAULT.
fn fits(value: &Expr, length: u64) -> bool {
    let is_default = matches!(value, Expr::Identifier(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"));
    let is_short = |text: &str| u64::try_from(text.chars().count()).is_ok_and(|chars| chars <= length);
    is_default || compose::is_null(value) || compose::literal(value).is_some_and(is_short)
}
