//! The parts of an INSERT into several tables.

use sqlparser::ast::{Insert, MultiTableInsertIntoClause};

/// Every INTO, in the order written.
pub(crate) fn clauses(insert: &Insert) -> impl Iterator<Item = &MultiTableInsertIntoClause> {
    let under = insert.multi_table_when_clauses.iter().flat_map(|when| &when.into_clauses);
    insert.multi_table_into_clauses.iter().chain(under).chain(insert.multi_table_else_clause.iter().flatten())
}

pub(crate) fn clauses_mut(insert: &mut Insert) -> impl Iterator<Item = &mut MultiTableInsertIntoClause> {
    let under = insert.multi_table_when_clauses.iter_mut().flat_map(|when| &mut when.into_clauses);
    let otherwise = insert.multi_table_else_clause.iter_mut().flatten();
    insert.multi_table_into_clauses.iter_mut().chain(under).chain(otherwise)
}
