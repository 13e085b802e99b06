//! The query inside EXPLAIN.

use sqlparser::ast;

use crate::ast::error::Error;

/// What would be run.
pub(super) fn query(tree: ast::Statement) -> Result<ast::Statement, Error> {
    let ast::Statement::Explain { statement, analyze: false, .. } = tree else {
        return Err(Error::unsupported("EXPLAIN ANALYZE"));
    };
    if !matches!(*statement, ast::Statement::Query(_)) {
        return Err(Error::unsupported("EXPLAIN of something other than a query"));
    }
    crate::print::admit(&statement)?;
    Ok(*statement)
}
