//! Primary keys: `pg_index`, `pg_constraint`, and the functions that tell how one is defined.

use super::{COLLATION, CatalogueEntry, CatalogueRows, CatalogueTable, OPCLASS, Variable, map, text};
use crate::storage::catalogue::content::cell::CatalogueCell;

impl CatalogueRows<'_> {
    /// The definitions of primary keys.
    pub(super) fn key_variables(&self) -> [Variable; 3] {
        let constraint = |one: &CatalogueEntry| text(&format!("PRIMARY KEY ({})", key_list(one)));
        let columns = |one: &CatalogueEntry| {
            let columns: Vec<_> = one.primary_key.iter().map(|name| text(name)).collect();
            format!("[{}]", columns.join(", "))
        };
        let constraints = self.keys.iter().map(|(one, _, _, key)| (key.to_string(), constraint(one)));
        let indexes = self.keys.iter().map(|(one, _, index, _)| (index.to_string(), text(&index_definition(one))));
        let index_columns = self.keys.iter().map(|(one, _, index, _)| (index.to_string(), columns(one)));
        [
            ("constraints", map(constraints, "bigint", "varchar")),
            ("indexes", map(indexes, "bigint", "varchar")),
            ("index_columns", map(index_columns, "bigint", "varchar[]")),
        ]
    }

    pub(super) fn indexes(&self) -> CatalogueTable {
        let rows = self.keys.iter().map(|(one, id, index, _)| {
            let count = i32::try_from(one.primary_key.len()).unwrap_or(i32::MAX);
            let places = places(one);
            let each = |value: i64| CatalogueCell::Numbers(vec![value; places.len()]);
            let mut row = row![*index, *id, count, count, true, true, true, true, true, true];
            row.extend([CatalogueCell::Numbers(places.clone()), each(OPCLASS.into()), each(0), each(COLLATION.into())]);
            row
        });
        let columns = "indexrelid, indrelid, indnatts, indnkeyatts, indisunique, indisprimary, indimmediate, \
            indisvalid, indisready, indislive, indkey, indclass, indoption, indcollation";
        CatalogueTable { name: "pg_index", columns, rows: rows.collect() }
    }

    pub(super) fn constraints(&self) -> CatalogueTable {
        let rows = self.keys.iter().map(|(one, id, index, key)| {
            let mut row = row![
                *key,
                key_name(one).as_str(),
                self.schema(&one.schema),
                "p",
                *id,
                *index,
                true,
                true,
                " ",
                " ",
                " "
            ];
            row.push(CatalogueCell::Numbers(places(one)));
            row
        });
        let columns = "oid, conname, connamespace, contype, conrelid, conindid, convalidated, conislocal, \
            confupdtype, confdeltype, confmatchtype, conkey";
        CatalogueTable { name: "pg_constraint", columns, rows: rows.collect() }
    }
}

pub(super) fn key_name(one: &CatalogueEntry) -> String {
    format!("{}_pkey", one.name)
}

fn key_list(one: &CatalogueEntry) -> String {
    one.primary_key.join(", ")
}

fn index_definition(one: &CatalogueEntry) -> String {
    format!("CREATE UNIQUE INDEX {} ON {}.{} USING btree ({})", key_name(one), one.schema, one.name, key_list(one))
}

/// The key's columns, in its order.
pub(super) fn key_columns(one: &CatalogueEntry) -> Vec<&sql::Column> {
    let column = |name: &String| one.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
    one.primary_key.iter().filter_map(column).collect()
}

/// Places of the key's columns in their table.
fn places(one: &CatalogueEntry) -> Vec<i64> {
    let place = |name: &String| {
        let at = one.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        at.and_then(|at| i64::try_from(at + 1).ok())
    };
    one.primary_key.iter().filter_map(place).collect()
}
