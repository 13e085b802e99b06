//! Queries that read nothing: what they answer follows from their text.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Statement, TableFactor, Visitor};

use super::Resolved;
use crate::ast::{Visit, names};
use crate::dialect;
use crate::functions::catalogue::Class;

impl Resolved {
    /// Whether it is a query without a table, a stage, or rows that are made for it, and calls nothing that changes.
    pub fn stands_alone(&self) -> bool {
        let is_query = matches!(*self.tree, Statement::Query(_)) && !self.explains;
        let is_of_tables = !self.tables().is_empty() || !self.staged.is_empty() || self.external.is_some();
        is_query && !is_of_tables && self.tree.visit(&mut Changing).is_continue()
    }
}

/// Finds parts of a query that may be something else when it is asked again.
struct Changing;

impl Visitor for Changing {
    type Break = ();

    fn pre_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let class = names::single(&function.name).and_then(|name| dialect::class(&name.value));
        let is_steady = matches!(class, Some(Class::Safe | Class::Throwing));
        if is_steady { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{catalog, session};

    #[test]
    fn a_query_stands_alone_where_it_reads_no_rows_and_calls_nothing_that_changes() {
        let alone = |sql: &str| {
            let resolved = crate::resolve(crate::parse(sql).unwrap(), &catalog(), &session()).unwrap();
            resolved.stands_alone()
        };
        for sql in
            ["SELECT 42", "SELECT upper('a') AS a, 1 + 1 AS two", "SELECT (SELECT 1) AS one", "SELECT current_role()"]
        {
            assert!(alone(sql), "{sql}");
        }
        for sql in [
            "SELECT id FROM customers",
            "SELECT (SELECT max(id) FROM customers) AS most",
            "WITH a AS (SELECT 1 AS x) SELECT x FROM a",
            "SELECT table_name FROM information_schema.tables",
            "SELECT random() AS drawn",
            "SELECT current_timestamp() AS moment",
            "EXPLAIN SELECT 42",
            "CREATE TABLE made AS SELECT 1 AS one",
            "INSERT INTO payroll VALUES (1, 2, 'x', 3)",
        ] {
            assert!(!alone(sql), "{sql}");
        }
    }
}
