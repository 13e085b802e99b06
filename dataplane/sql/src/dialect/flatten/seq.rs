//! SEQ, the number of the row that FLATTEN takes apart.
//!
//! `FROM v, LATERAL FLATTEN(v.src) f` becomes `FROM (SELECT *, row_number() OVER () AS number FROM v) v, …`, and the
//! column is left out of every `*`. A value that names no column is one row, number 1.

use std::sync::LazyLock;

use sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement, TableAlias,
    TableFactor, TableWithJoins, Value,
};

use super::super::compose;
use crate::ast::error::Error;
use crate::ast::names::ours::SEQ;
use crate::ast::{any_expression, change_expressions, names, star};

/// Stands for the number until the select around it is known; no text can spell it.
const OPEN: &str = "\0seq";

/// A table with its rows numbered.
static NUMBERED: LazyLock<Result<Box<Query>, Error>> =
    LazyLock::new(|| crate::syntax::parse::query(&format!("SELECT *, row_number() OVER () AS \"{SEQ}\" FROM t")));

/// The number of the row that this value is of.
pub(super) fn of(input: &Expr) -> Expr {
    let is_of_row = any_expression(input, |expr| {
        matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Subquery(_))
    });
    if is_of_row { Expr::Identifier(Ident::new(OPEN)) } else { compose::number(1) }
}

/// Whether the statement names a column SEQ anywhere.
pub(in crate::dialect) fn sees_seq(statement: &Statement) -> bool {
    any_expression(statement, |expr| names::column(expr).is_some_and(|ident| ident.value.eq_ignore_ascii_case("seq")))
}

/// Numbers the rows of what stands to the left of a FLATTEN, if the select can see it.
pub(in crate::dialect) fn number(select: &mut Select, is_named: bool) -> Result<(), Error> {
    let Some(place) = factors(&select.from).position(is_open) else {
        return Ok(());
    };
    let is_starred = select.projection.iter().any(|item| match item {
        SelectItem::Wildcard(_) => true,
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            let named = names::last(name);
            factors(&select.from).filter(|factor| is_open(factor)).any(|factor| {
                named.zip(alias(factor)).is_some_and(|(one, other)| one.value.eq_ignore_ascii_case(&other.value))
            })
        }
        _ => false,
    });
    if !is_named && !is_starred {
        close(&mut select.from, &Expr::value(Value::Null));
        return Ok(());
    }
    let is_only = factors(&select.from).filter(|factor| is_open(factor)).count() == 1;
    if place != 1 || !is_only {
        return Err(Error::unsupported("SEQ of FLATTEN beside several tables (name the other columns instead of *)"));
    }
    let left = select.from.first_mut().map(|table| &mut table.relation);
    let left = left.ok_or_else(|| Error::unsupported("FLATTEN of nothing"))?;
    let name = numbered(left)?;
    close(&mut select.from, &Expr::CompoundIdentifier(vec![name.clone(), names::quoted(SEQ)]));
    for item in &mut select.projection {
        hide(item, &name);
    }
    Ok(())
}

fn factors(from: &[TableWithJoins]) -> impl Iterator<Item = &TableFactor> {
    from.iter().flat_map(|table| std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)))
}

fn is_open(factor: &TableFactor) -> bool {
    matches!(factor, TableFactor::Derived { lateral: true, .. }) && any_expression(factor, is_placeholder)
}

fn is_placeholder(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.value == OPEN)
}

fn close(from: &mut Vec<TableWithJoins>, number: &Expr) {
    change_expressions(from, |expr| {
        if is_placeholder(expr) {
            *expr = number.clone();
        }
    });
}

fn alias(factor: &TableFactor) -> Option<&Ident> {
    match factor {
        TableFactor::Table { alias: None, name, .. } => names::last(name),
        TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => {
            alias.as_ref().map(|alias| &alias.name)
        }
        _ => None,
    }
}

/// The table with its rows numbered, under the name it had.
fn numbered(factor: &mut TableFactor) -> Result<Ident, Error> {
    let unnamed = || Error::unsupported("SEQ of FLATTEN beside this kind of table");
    let name = alias(factor).cloned().ok_or_else(unnamed)?;
    let mut query = NUMBERED.clone()?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(unnamed());
    };
    let inner = select.from.first_mut().ok_or_else(unnamed)?;
    let lateral = matches!(factor, TableFactor::Derived { lateral: true, .. });
    let alias = TableAlias { explicit: true, name: name.clone(), columns: Vec::new(), at: None };
    inner.relation = factor.clone();
    *factor = TableFactor::Derived { lateral, subquery: query, alias: Some(alias), sample: None };
    Ok(name)
}

/// Leaves the number out of `*`.
fn hide(item: &mut SelectItem, table: &Ident) {
    let options = match item {
        SelectItem::Wildcard(options) => options,
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
            if names::last(name).is_some_and(|last| last.value.eq_ignore_ascii_case(&table.value)) =>
        {
            options
        }
        _ => return,
    };
    star::leave_out(options, [names::quoted(SEQ)]);
}
