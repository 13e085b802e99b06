//! The rules of a table in a reference to it.

use std::sync::Arc;

use super::{TableRules, safe_filter};
use crate::ast::error::Error;
use crate::catalog::table::{Column, Table};
use crate::scan::Scan;

/// Binds the rules of the table; a rule that no longer fits the table refuses every statement on it.
pub(super) fn ruled(table: &Arc<Table>, rules: Option<&TableRules>) -> Result<Scan, Error> {
    let empty = TableRules::default();
    let TableRules { filters, masks, .. } = rules.unwrap_or(&empty);
    let mask_of =
        |name: &str| masks.iter().find(|(column, _)| column.eq_ignore_ascii_case(name)).map(|(_, mask)| *mask);
    let columns: &[Column] = if masks.is_empty() { &[] } else { &table.columns };
    let hiding = filters.iter().map(|filter| safe_filter::on_failure(filter, table));
    let hiding = hiding.collect::<Result<Vec<_>, Error>>()?;
    Ok(Scan {
        table: Arc::clone(table),
        masks: columns.iter().map(|column| mask_of(&column.name)).collect(),
        filter_can_fail: hiding.iter().any(|hiding| hiding.can_fail),
        filters: hiding.into_iter().map(|hiding| hiding.filter).collect(),
        check: None,
        with_rowid: false,
    })
}
