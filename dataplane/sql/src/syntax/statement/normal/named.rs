//! Tables that are named by a text, and WITH queries that name themselves.
//!
//! `IDENTIFIER('t')` and `TABLE('t')` are the table of that name. The warehouse needs no word RECURSIVE: a WITH
//! query whose second arm names itself, and whose first does not, is one.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AlterTable, CreateTable, Expr, FunctionArg, FunctionArgExpr, Insert, ObjectName, ObjectNamePart, Query, SetExpr,
    SetOperator, Statement, TableFactor, TableObject, Value, With,
};

use crate::ast::error::Error;
use crate::ast::expression::relation;
use crate::ast::names::{self, ours};
use crate::ast::{Visit, visit_relations};

/// Makes the table of the text.
pub(super) fn table(factor: &mut TableFactor) -> Result<(), Error> {
    let (name, alias) = match factor {
        TableFactor::Table { name, .. } => return by_text(name),
        TableFactor::TableFunction { expr: Expr::Value(value), alias } => match &value.value {
            Value::SingleQuotedString(text) => (read(text)?, alias.take()),
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    *factor = relation(name, alias);
    Ok(())
}

/// What the statement writes to, makes or drops, where it is named so.
pub(super) fn target(tree: &mut Statement) -> Result<(), Error> {
    match tree {
        Statement::Insert(Insert { table: TableObject::TableName(name), .. })
        | Statement::CreateTable(CreateTable { name, .. })
        | Statement::AlterTable(AlterTable { name, .. }) => by_text(name),
        Statement::Drop { names, .. } => names.iter_mut().try_for_each(by_text),
        Statement::Truncate(truncate) => truncate.table_names.iter_mut().try_for_each(|table| by_text(&mut table.name)),
        _ => Ok(()),
    }
}

fn by_text(name: &mut ObjectName) -> Result<(), Error> {
    if let Some(text) = identifier(name) {
        *name = read(text)?;
    }
    Ok(())
}

/// The literal of `IDENTIFIER('…')`.
fn identifier(name: &ObjectName) -> Option<&str> {
    let [ObjectNamePart::Function(function)] = name.0.as_slice() else {
        return None;
    };
    let is_identifier = function.name.value.eq_ignore_ascii_case("identifier");
    match function.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] if is_identifier => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// A name as a statement would write it; nothing else.
pub(super) fn read(text: &str) -> Result<ObjectName, Error> {
    let query = crate::syntax::parse::query(&format!("SELECT 1 FROM {text}"));
    let name = query.ok().and_then(|query| match *query.body {
        SetExpr::Select(select) => match select.from.into_iter().next().map(|from| from.relation) {
            Some(TableFactor::Table { name, alias: None, args: None, version: None, .. }) => Some(name),
            _ => None,
        },
        _ => None,
    });
    let is_ours =
        |name: &ObjectName| names::parts(name).is_none_or(|parts| parts.iter().any(|part| ours::is_one(&part.value)));
    let printed = |name: &ObjectName| name.to_string() == text.trim() && !is_ours(name);
    name.filter(printed).ok_or_else(|| Error::unsupported(format!("the table name '{text}'")))
}

/// Sets RECURSIVE where it is meant.
pub(super) fn recursion(with: &mut With) {
    let is_union = |query: &Query| matches!(*query.body, SetExpr::SetOperation { op: SetOperator::Union, .. });
    if with.recursive || !with.cte_tables.iter().any(|cte| is_union(&cte.query)) {
        return;
    }
    let selfish: Vec<_> =
        with.cte_tables.iter().filter(|cte| names_it(cte.query.as_ref(), &cte.alias.name.value)).collect();
    let recurs = |query: &Query, name: &str| match query.body.as_ref() {
        SetExpr::SetOperation { op: SetOperator::Union, left, right, .. } => {
            !names_it(left.as_ref(), name) && names_it(right.as_ref(), name)
        }
        _ => false,
    };
    with.recursive = !selfish.is_empty() && selfish.iter().all(|cte| recurs(&cte.query, &cte.alias.name.value));
}

fn names_it(node: &impl Visit, name: &str) -> bool {
    let is_one = |relation: &ObjectName| {
        let found = names::single(relation).is_some_and(|ident| ident.value.eq_ignore_ascii_case(name));
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    visit_relations(node, is_one).is_break()
}
