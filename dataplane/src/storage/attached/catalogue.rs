//! The catalogue of an attached database: its tables and views, with the columns that have a counterpart here.
//!
//! Names are told apart here whatever their case: of two that differ by it alone none is shown, since no policy could
//! mean one of them. Nor is a name with a dot, which no path has.

use std::collections::BTreeMap;

use tokio_postgres::{Error, Row};

use super::columns::{RemoteColumn, RemoteType};

/// Columns of one database, those that are not shown among them.
pub const COLUMNS_MAX: usize = 20_000;

/// A table or view of an attached database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteTable {
    /// Its schema there.
    pub schema: String,
    pub name: String,
    pub columns: Vec<RemoteColumn>,
}

impl RemoteTable {
    /// As prefixes of a storage integration have it.
    pub fn url(&self) -> String {
        format!("postgres://{}/{}", self.schema, self.name)
    }
}

/// The question for all columns that the user may read, or for those of the schema and table that are its parameters.
pub fn asked() -> String {
    format!(
        "select n.nspname::text, c.relname::text, a.attname::text, t.typname::text, t.typtype::text,
                t.typnamespace = 'pg_catalog'::regnamespace, a.atttypmod
         from pg_class c
         join pg_namespace n on n.oid = c.relnamespace
         join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         join pg_type t on t.oid = a.atttypid
         where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
           and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
           and ($1::text is null or n.nspname = $1::text) and ($2::text is null or c.relname = $2::text)
           and has_schema_privilege(n.oid, 'USAGE') and has_column_privilege(c.oid, a.attnum, 'SELECT')
         order by n.nspname, c.relname, a.attnum
         limit {}",
        COLUMNS_MAX + 1
    )
}

/// The tables that rows of the catalogue tell of. One without a column to show is none.
pub fn read(rows: &[Row]) -> Result<Vec<RemoteTable>, Error> {
    let mut tables: Vec<RemoteTable> = Vec::new();
    let mut met: Vec<String> = Vec::new();
    for row in rows {
        let (schema, name): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let column: String = row.try_get(2)?;
        let said = RemoteType {
            name: row.try_get(3)?,
            sort: row.try_get(4)?,
            is_built_in: row.try_get(5)?,
            modifier: row.try_get(6)?,
        };
        if tables.last().is_none_or(|last| (&last.schema, &last.name) != (&schema, &name)) {
            tables.push(RemoteTable { schema, name, columns: Vec::new() });
            met.clear();
        }
        let Some(table) = tables.last_mut() else { continue };
        let folded = column.to_lowercase();
        if met.contains(&folded) {
            table.columns.retain(|known| known.name.to_lowercase() != folded);
        } else if let Some((type_name, carried)) = said.counterpart() {
            table.columns.push(RemoteColumn { name: column, type_name, carried });
        }
        met.push(folded);
    }
    tables.retain(|table| !table.columns.is_empty() && is_nameable(table));
    Ok(tables)
}

fn is_nameable(table: &RemoteTable) -> bool {
    let has_sign = |name: &str| name.starts_with('@') || name.to_lowercase().starts_with("file format ");
    !table.name.contains('.') && !has_sign(&table.name) && !table.schema.contains('/') && !table.name.contains('/')
}

/// Those that no other has the name of, whatever its case and schema.
pub fn told_apart(tables: Vec<RemoteTable>) -> Vec<RemoteTable> {
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for table in &tables {
        *named.entry(table.name.to_lowercase()).or_default() += 1;
    }
    tables.into_iter().filter(|table| named.get(&table.name.to_lowercase()) == Some(&1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(schema: &str, name: &str) -> RemoteTable {
        RemoteTable { schema: schema.to_owned(), name: name.to_owned(), columns: Vec::new() }
    }

    #[test]
    fn names_that_two_tables_have_are_those_of_none() {
        let tables = [("public", "orders"), ("crm", "Orders"), ("crm", "people")];
        let kept = told_apart(tables.map(|(schema, name)| table(schema, name)).to_vec());
        assert_eq!(kept, [table("crm", "people")]);
        assert!(!is_nameable(&table("public", "a.b")) && !is_nameable(&table("public", "@s")));
        assert!(is_nameable(&table("public", "order lines")));
    }
}
