//! Defaults of columns: `pg_attrdef`.

use super::{CatalogueRows, CatalogueTable};
use crate::storage::catalogue::content::cell::CatalogueCell;

/// Ids of defaults, which nobody looks up by them, are below those of relations.
const FIRST: i64 = 14_000;

impl CatalogueRows<'_> {
    pub(super) fn defaults(&self) -> CatalogueTable {
        let of_table = self.relations().flat_map(|(one, id)| (1_i32..).zip(&one.columns).map(move |at| (*id, at)));
        let written = of_table.filter_map(|(id, (place, column))| match &column.default {
            Some(sql::DefaultValue::Expression(text)) => Some((id, place, text.as_str())),
            _ => None,
        });
        let rows = (FIRST..)
            .zip(written)
            .map(|(own, (id, place, text))| vec![CatalogueCell::Number(own), id.into(), place.into(), text.into()]);
        CatalogueTable { name: "pg_attrdef", columns: "oid, adrelid, adnum, adbin", rows: rows.collect() }
    }
}
