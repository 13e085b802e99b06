//! `SHOW PRIMARY | IMPORTED KEYS [IN [TABLE | SCHEMA | DATABASE | ACCOUNT] name]`.

use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName};

use crate::ast::error::Error;
use crate::ast::names::TableName;
use crate::catalog::table::Table;
use crate::catalog::tables::{Catalog, SessionNames};
use crate::syntax::listing::{Listing, cell};

/// The columns of primary keys, in order; the parser crate leaves out the points between the parts of a name.
pub(super) fn primary(within: &[Ident], catalog: &Catalog, session: &SessionNames) -> Result<Listing, Error> {
    let mut tables: Vec<&Arc<Table>> = match within {
        [] => catalog.tables().collect(),
        [first, rest @ ..] if is(first, "in") => tables(rest, catalog, session)?,
        _ => return Err(Error::unsupported("SHOW PRIMARY KEYS with anything but IN")),
    };
    tables.sort_by_key(|table| table.path());
    let mut listing =
        Listing::new("created_on, schema_name, table_name, column_name, key_sequence, constraint_name, rely, comment");
    for table in tables {
        for (column, place) in session.told(&table.schema, &table.name, &table.primary_key).iter().zip(1_usize..) {
            let name = format!("{}_pkey", table.name);
            listing.add(vec![
                None,
                cell(&table.schema),
                cell(&table.name),
                cell(column),
                cell(place.to_string()),
                cell(name),
                cell("false"),
                None,
            ]);
        }
    }
    Ok(listing)
}

/// The columns of foreign keys: none, since no table here keeps one.
pub(super) fn imported(within: &[Ident], catalog: &Catalog, session: &SessionNames) -> Result<Listing, Error> {
    match within {
        [] => {}
        [first, rest @ ..] if is(first, "in") => _ = tables(rest, catalog, session)?,
        _ => return Err(Error::unsupported("SHOW IMPORTED KEYS with anything but IN")),
    }
    Ok(Listing::new(
        "created_on, pk_schema_name, pk_table_name, pk_column_name, fk_schema_name, fk_table_name, fk_column_name, \
        key_sequence, update_rule, delete_rule, fk_name, pk_name, deferrability, rely, comment",
    ))
}

fn tables<'a>(path: &[Ident], catalog: &'a Catalog, session: &SessionNames) -> Result<Vec<&'a Arc<Table>>, Error> {
    let everywhere = |schema: Option<&Ident>| {
        let is_in = |table: &&Arc<Table>| schema.is_none_or(|schema| table.schema.eq_ignore_ascii_case(&schema.value));
        catalog.tables().filter(is_in).collect()
    };
    match path {
        [kind, ..] if is(kind, "account") || is(kind, "database") => Ok(everywhere(None)),
        [kind, .., schema] if is(kind, "schema") => Ok(everywhere(Some(schema))),
        [kind, name @ ..] if is(kind, "table") && !name.is_empty() => one(name, catalog, session),
        name => one(name, catalog, session),
    }
}

fn one<'a>(name: &[Ident], catalog: &'a Catalog, session: &SessionNames) -> Result<Vec<&'a Arc<Table>>, Error> {
    let name = TableName::of(&ObjectName::from(name.to_vec()));
    let name = name.ok_or_else(|| Error::unsupported("this form of table name"))?;
    Ok(vec![catalog.find(&name, session)?])
}

fn is(ident: &Ident, word: &str) -> bool {
    ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(word)
}
