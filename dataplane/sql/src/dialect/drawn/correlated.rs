//! A query that stands for a value, draws, and reads the row around it: the engine asks it once for equal rows
//! (duckdb/duckdb#23980, #17011, #22971).

use std::collections::HashSet;

use sqlparser::ast::{Expr, Query, TableFactor};

use super::is_drawn;
use crate::ast::error::Error;
use crate::ast::names::{self, ours};
use crate::ast::{any_expression, each_factor};

/// Refuses such a query.
pub(in crate::dialect) fn check(expr: &Expr) -> Result<(), Error> {
    let query = match expr {
        Expr::Subquery(query) => query,
        Expr::Exists { subquery, .. } | Expr::InSubquery { subquery, .. } => subquery,
        _ => return Ok(()),
    };
    if is_drawn(query) && reads_around(query) {
        return Err(Error::unsupported("a query that draws a value for each row around it"));
    }
    Ok(())
}

/// Whether it reads a name that nothing in it gives.
fn reads_around(query: &Query) -> bool {
    let (mut relations, mut has_from) = (HashSet::<String>::new(), false);
    each_factor(query, |factor| {
        has_from = true;
        let called = match factor {
            TableFactor::Table { name, alias: None, .. } => names::last(name),
            other => names::alias(other).map(|alias| &alias.name),
        };
        relations.extend(called.map(|name| name.value.to_ascii_lowercase()));
    });
    any_expression(query, |expr| match expr {
        Expr::Identifier(ident) => !has_from && !ours::is_one(&ident.value),
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [.., relation, _] => !relations.contains(&relation.value.to_ascii_lowercase()),
            _ => false,
        },
        _ => false,
    })
}
