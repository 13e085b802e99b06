//! The path of a table, `schema.name`, as policies name tables.

use contract::policy::TableRef;

/// The table of a path; without a schema one of `main`.
pub fn table_ref(path: &str) -> TableRef<'_> {
    let (schema, name) = path.split_once('.').unwrap_or(("main", path));
    TableRef { schema, name }
}
