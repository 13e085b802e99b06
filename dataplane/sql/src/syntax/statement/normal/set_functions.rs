//! `FROM generate_series(1, 3) n`: the one column of a function that makes rows is called as its alias, as in PostgreSQL.

use sqlparser::ast::{Select, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins};

use crate::ast::names;

/// Functions of PostgreSQL that make rows of one column.
const SETS: [&str; 2] = ["generate_series", "generate_subscripts"];

pub(super) fn rewrite(select: &mut Select) {
    select.from.iter_mut().for_each(called);
}

fn called(table: &mut TableWithJoins) {
    factor(&mut table.relation);
    table.joins.iter_mut().for_each(|join| factor(&mut join.relation));
}

fn factor(factor: &mut TableFactor) {
    let (name, alias) = match factor {
        TableFactor::Table { name, alias: Some(alias), args: Some(_), .. }
        | TableFactor::Function { name, alias: Some(alias), .. } => (name, alias),
        TableFactor::NestedJoin { table_with_joins, .. } => return called(table_with_joins),
        _ => return,
    };
    let is_set =
        names::single(name).is_some_and(|name| SETS.iter().any(|known| name.value.eq_ignore_ascii_case(known)));
    if is_set {
        column_by_alias(alias);
    }
}

fn column_by_alias(alias: &mut TableAlias) {
    if alias.columns.is_empty() {
        alias.columns.push(TableAliasColumnDef { name: alias.name.clone(), data_type: None });
    }
}
