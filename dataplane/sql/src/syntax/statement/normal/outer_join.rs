//! `WHERE a.id = b.id (+)` as `a LEFT JOIN b ON a.id = b.id`, before anything is bound.
//!
//! Every condition that marks columns of a table becomes its ON clause; the other conditions stay in WHERE and
//! are asked of the joined rows. Marked columns must be written with their table, or it could not be told which
//! table is meant.

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins, WildcardAdditionalOptions,
};

use crate::ast::error::Error;
use crate::ast::expression::binary;
use crate::ast::{change_expressions, each_expression, names};

/// Rewrites the select, if its WHERE has the operator.
pub(super) fn rewrite(select: &mut Select) -> Result<(), Error> {
    let Some(selection) = select.selection.take_if(|selection| marked(selection).is_some()) else {
        return Ok(());
    };
    let tables = plain_tables(std::mem::take(&mut select.from))?;
    let mut outer: Vec<(String, Vec<Expr>)> = Vec::new();
    let mut rest: Option<Expr> = None;
    for condition in conjuncts(selection) {
        match marked(&condition) {
            None => {
                rest = Some(match rest.take() {
                    None => condition,
                    Some(before) => and(before, condition),
                });
            }
            Some(table) => {
                let table = table?;
                let condition = unmarked(condition);
                match outer.iter_mut().find(|(known, _)| *known == table) {
                    Some((_, conditions)) => conditions.push(condition),
                    None => outer.push((table, vec![condition])),
                }
            }
        }
    }
    spell_stars(&mut select.projection, &tables)?;
    select.from = vec![joined(tables, outer)?];
    select.selection = rest;
    Ok(())
}

/// Tables by their names; nothing that is joined already.
fn plain_tables(from: Vec<TableWithJoins>) -> Result<Vec<(String, TableFactor)>, Error> {
    from.into_iter()
        .map(|table| {
            if !table.joins.is_empty() {
                return Err(Error::unsupported("(+) beside JOIN"));
            }
            let name = match &table.relation {
                TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
                    Some(&alias.name)
                }
                TableFactor::Table { name, .. } => names::last(name),
                _ => None,
            };
            let name = name.ok_or_else(|| Error::unsupported("(+) beside a table without a name"))?;
            Ok((name.value.to_ascii_lowercase(), table.relation))
        })
        .collect()
}

fn conjuncts(expr: Expr) -> Vec<Expr> {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            let mut all = conjuncts(*left);
            all.extend(conjuncts(*right));
            all
        }
        Expr::Nested(inner) if matches!(*inner, Expr::BinaryOp { op: BinaryOperator::And, .. }) => conjuncts(*inner),
        other => vec![other],
    }
}

/// The one table whose columns are marked; an error when that cannot be told, nothing when none is.
fn marked(expr: &Expr) -> Option<Result<String, Error>> {
    let mut marks: Option<Result<String, Error>> = None;
    each_expression(expr, |expr| {
        let Expr::OuterJoin(column) = expr else { return };
        let found = match column.as_ref() {
            Expr::CompoundIdentifier(path) => match path.as_slice() {
                [.., table, _] => Ok(table.value.to_ascii_lowercase()),
                _ => Err(Error::unsupported("(+) of a column without its table")),
            },
            _ => Err(Error::unsupported("(+) of a column without its table")),
        };
        marks = Some(match (marks.take(), found) {
            (Some(Ok(known)), Ok(table)) if known != table => {
                Err(Error::unsupported("(+) of two tables in one condition"))
            }
            (Some(Err(error)), _) => Err(error),
            (_, found) => found,
        });
    });
    marks
}

fn unmarked(mut expr: Expr) -> Expr {
    change_expressions(&mut expr, |expr| {
        if let Expr::OuterJoin(inner) = expr {
            *expr = inner.as_ref().clone();
        }
    });
    expr
}

/// Tables a condition names.
fn tables_of(expr: &Expr) -> Vec<String> {
    let mut tables = Vec::new();
    each_expression(expr, |expr| {
        if let Expr::CompoundIdentifier(path) = expr
            && let [.., table, _] = path.as_slice()
        {
            tables.push(table.value.to_ascii_lowercase());
        }
    });
    tables
}

/// The tables nobody marked side by side, then each marked one as soon as what its condition names is there.
fn joined(tables: Vec<(String, TableFactor)>, mut outer: Vec<(String, Vec<Expr>)>) -> Result<TableWithJoins, Error> {
    let all: Vec<String> = tables.iter().map(|(name, _)| name.clone()).collect();
    let (mut waiting, sides): (Vec<_>, Vec<_>) =
        tables.into_iter().partition(|(name, _)| outer.iter().any(|(table, _)| table == name));
    let mut there: Vec<String> = sides.iter().map(|(name, _)| name.clone()).collect();
    let mut sides = sides.into_iter().map(|(_, factor)| factor);
    let relation = sides.next().ok_or_else(|| Error::unsupported("(+) on every table"))?;
    let mut joins: Vec<Join> =
        sides.map(|factor| join(factor, JoinOperator::CrossJoin(JoinConstraint::None))).collect();
    while !outer.is_empty() {
        let ready = |(table, conditions): &(String, Vec<Expr>)| {
            let mut named = conditions.iter().flat_map(tables_of);
            named.all(|name| name == *table || !all.contains(&name) || there.contains(&name))
        };
        let at = outer.iter().position(ready).ok_or_else(|| Error::unsupported("(+) of tables in a circle"))?;
        let (table, conditions) = outer.swap_remove(at);
        let place = waiting.iter().position(|(name, _)| *name == table);
        let place = place.ok_or_else(|| Error::unsupported("(+) of a table that is not in FROM"))?;
        let (_, factor) = waiting.swap_remove(place);
        if let Some(on) = conditions.into_iter().reduce(and) {
            joins.push(join(factor, JoinOperator::LeftOuter(JoinConstraint::On(on))));
        }
        there.push(table);
    }
    Ok(TableWithJoins { relation, joins })
}

fn join(relation: TableFactor, join_operator: JoinOperator) -> Join {
    Join { relation, global: false, join_operator }
}

/// `*` in the order FROM was written.
fn spell_stars(projection: &mut Vec<SelectItem>, tables: &[(String, TableFactor)]) -> Result<(), Error> {
    let mut spelled = Vec::with_capacity(projection.len());
    for item in projection.drain(..) {
        match item {
            SelectItem::Wildcard(options) if crate::print::is_bare_star(&options) => {
                spelled.extend(tables.iter().map(|(name, factor)| {
                    let ident = match factor {
                        TableFactor::Table { alias: Some(alias), .. }
                        | TableFactor::Derived { alias: Some(alias), .. } => alias.name.clone(),
                        _ => Ident::new(name),
                    };
                    let kind = SelectItemQualifiedWildcardKind::ObjectName(ObjectName::from(vec![ident]));
                    SelectItem::QualifiedWildcard(kind, WildcardAdditionalOptions::default())
                }));
            }
            SelectItem::Wildcard(_) => return Err(Error::unsupported("* with options beside (+)")),
            other => spelled.push(other),
        }
    }
    *projection = spelled;
    Ok(())
}

fn and(one: Expr, next: Expr) -> Expr {
    binary(one, BinaryOperator::And, next)
}
