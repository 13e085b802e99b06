//! Constructs that the engine refuses whatever tables there are, refused here with its name and place.

use sqlparser::ast::{Expr, Select, SelectItem, Statement, Value, WildcardAdditionalOptions};

use crate::ast::error::Error;
use crate::ast::{has_query, star};

/// Refuses a query where a table is defined.
pub(super) fn statement(statement: &Statement) -> Result<(), Error> {
    let asks = match statement {
        Statement::CreateTable(create) => has_query(&create.columns) || has_query(&create.constraints),
        Statement::AlterTable(alter) => has_query(&alter.operations),
        _ => false,
    };
    refuse(asks, || Error::unsupported("a subquery in the definition of a table"))
}

/// Refuses two names for one column of `*`.
pub(super) fn select(select: &Select) -> Result<(), Error> {
    let is_twice = select.projection.iter().any(|item| match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => replaces_renamed(options),
        _ => false,
    });
    refuse(is_twice, || Error::unsupported("* with REPLACE and RENAME of the same column"))
}

/// Refuses a number that no DOUBLE holds.
pub(super) fn number(expr: &Expr) -> Result<(), Error> {
    let Expr::Value(value) = expr else { return Ok(()) };
    let Value::Number(digits, _) = &value.value else { return Ok(()) };
    // anything else is far from the end of a DOUBLE
    let is_long = digits.len() > 300 || digits.contains(['e', 'E']);
    refuse(is_long && digits.parse().is_ok_and(f64::is_infinite), || {
        Error::syntax("a number beyond the largest DOUBLE, 1.79e308").at(value.span.start)
    })
}

fn refuse(is_so: bool, error: impl FnOnce() -> Error) -> Result<(), Error> {
    if is_so { Err(error()) } else { Ok(()) }
}

fn replaces_renamed(options: &WildcardAdditionalOptions) -> bool {
    let replaced = || options.opt_replace.iter().flat_map(|replace| &replace.items);
    star::renamed(options)
        .iter()
        .any(|renamed| replaced().any(|replaced| replaced.column_name.value.eq_ignore_ascii_case(&renamed.ident.value)))
}

#[cfg(test)]
mod tests {
    use crate::ast::error::ErrorKind;

    #[test]
    fn what_the_engine_would_refuse_is_refused_by_its_name() {
        for (sql, what) in [
            ("SELECT * REPLACE (id + 1 AS id) RENAME id AS zz FROM customers", "REPLACE and RENAME"),
            ("SELECT c.* REPLACE (id + 1 AS ID) RENAME (name AS n, id AS zz) FROM customers c", "REPLACE and RENAME"),
            ("CREATE TABLE t1 (id INT, CHECK (id < (SELECT max(id) FROM customers)))", "a subquery"),
            ("CREATE TABLE t1 (id INT CHECK (id < (SELECT max(id) FROM customers)))", "a subquery"),
            ("CREATE TABLE t1 (id INT DEFAULT (SELECT max(id) FROM customers))", "a subquery"),
        ] {
            let error = crate::parse(sql).expect_err(sql);
            assert!(matches!(error.kind, ErrorKind::Unsupported { .. }), "{sql}: {error:?}");
            assert!(error.message.contains(what), "{sql}: {error}");
        }
        for sql in [
            "SELECT * REPLACE (id + 1 AS id) RENAME name AS zz FROM customers",
            "CREATE TABLE t1 AS SELECT id FROM customers WHERE id < (SELECT max(id) FROM customers)",
            "CREATE TABLE t1 (id INT, CHECK (id < 7))",
        ] {
            assert!(crate::parse(sql).is_ok(), "{sql}");
        }
    }

    #[test]
    fn a_number_that_no_double_holds_is_refused_where_it_stands() {
        let many = "9".repeat(400);
        for (sql, column) in [("SELECT 1e400".to_owned(), 8), (format!("SELECT 1, {many}"), 11)] {
            let error = crate::parse(&sql).expect_err("a number too large");
            assert_eq!(error.kind, ErrorKind::Syntax);
            let position = error.position.expect("a place");
            assert_eq!((position.line, position.column, position.offset), (1, column, column), "{error:?}");
        }
        assert!(crate::parse("SELECT 1e308, 1e-400, 0e999").is_ok());
    }
}
