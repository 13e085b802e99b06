//! A query that stands for a value, draws, and reads the row around it: the engine asks it once for equal rows
//! (duckdb/duckdb#23980, #17011, #22971).

use std::collections::HashSet;
use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, TableFactor, Visitor};

use super::is_drawn;
use crate::ast::Visit;
use crate::ast::error::Error;
use crate::ast::names::{self, ours};

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

fn reads_around(query: &Query) -> bool {
    let mut names = QueryNames::default();
    let ControlFlow::Continue(()) = query.visit(&mut names);
    let is_around = |qualifier: &String| !names.relations.contains(qualifier);
    names.qualifiers.iter().any(is_around) || (names.has_bare && !names.has_from)
}

/// The names that a query reads by, and those that it gives.
#[derive(Debug, Default)]
struct QueryNames {
    relations: HashSet<String>,
    qualifiers: HashSet<String>,
    has_bare: bool,
    has_from: bool,
}

impl Visitor for QueryNames {
    type Break = Infallible;

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Infallible> {
        self.has_from = true;
        let called = match factor {
            TableFactor::Table { name, alias: None, .. } => names::last(name),
            other => names::alias(other).map(|alias| &alias.name),
        };
        self.relations.extend(called.map(|name| name.value.to_ascii_lowercase()));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::Identifier(ident) => self.has_bare |= !ours::is_one(&ident.value),
            Expr::CompoundIdentifier(path) => {
                if let [.., relation, _] = path.as_slice() {
                    self.qualifiers.insert(relation.value.to_ascii_lowercase());
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
