//! Queries that read nothing: what they answer follows from their text.

use sqlparser::ast::{Expr, Statement};

use super::Resolved;
use crate::ast::{any_expression, each_factor, names};
use crate::dialect;
use crate::functions::catalogue::Class;

impl Resolved {
    /// Whether it is a query without a table, a stage, or rows that are made for it, and calls nothing that changes.
    pub fn stands_alone(&self) -> bool {
        let is_query = matches!(*self.tree, Statement::Query(_)) && !self.explains;
        let is_of_tables = !self.tables().is_empty() || !self.staged.is_empty() || self.external.is_some();
        is_query && !is_of_tables && !may_change(&self.tree)
    }
}

/// Whether a part of a query may be something else when it is asked again.
fn may_change(tree: &Statement) -> bool {
    let mut reads = false;
    each_factor(tree, |_| reads = true);
    reads
        || any_expression(tree, |expr| {
            let Expr::Function(function) = expr else { return false };
            let class = names::single(&function.name).and_then(|name| dialect::class(&name.value));
            !matches!(class, Some(Class::Safe | Class::Throwing))
        })
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
