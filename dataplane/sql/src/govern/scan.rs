//! One reference to a table: what is read of it, and what is written to it.

use std::sync::Arc;

use sqlparser::ast::Expr;

use super::{Mask, TableRules, safe_filter};
use crate::ast::error::Error;
use crate::catalog::tables::Table;

/// One reference to a table, with what rules it.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    pub table: Arc<Table>,
    pub columns: Vec<ScanColumn>,
    /// On the table's columns, values in.
    pub filters: Vec<Expr>,
    /// Whether one of them may fail on a row.
    pub filter_can_fail: bool,
    /// What a row written to it must pass.
    pub check: Option<Check>,
    /// Whether the engine's row number is read too: the way to find a written row again.
    pub with_rowid: bool,
}

/// Filters on a new row, and the first value written, which is not when they fail.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub filters: Vec<Expr>,
    pub value: Expr,
    pub type_name: String,
}

#[derive(Debug, Clone)]
pub(crate) struct ScanColumn {
    pub name: String,
    pub type_name: String,
    pub is_text: bool,
    pub mask: Option<Mask>,
}

impl Scan {
    pub(crate) fn is_governed(&self) -> bool {
        self.with_rowid || !self.filters.is_empty() || self.is_masked()
    }

    pub(crate) fn is_masked(&self) -> bool {
        self.columns.iter().any(|column| column.mask.is_some())
    }

    /// Whether a filter of it reads other tables, so that there are plans to choose from.
    pub(crate) fn asks_other_tables(&self) -> bool {
        self.filters.iter().any(safe_filter::asks)
    }

    /// Binds the rules of the table; a rule that no longer fits the table refuses every statement on it.
    pub(super) fn new(table: &Arc<Table>, rules: Option<&TableRules>) -> Result<Self, Error> {
        let empty = TableRules::default();
        let TableRules { filters, masks, .. } = rules.unwrap_or(&empty);
        let mask_of =
            |name: &str| masks.iter().find(|(column, _)| column.eq_ignore_ascii_case(name)).map(|(_, mask)| *mask);
        let columns = table.columns.iter().map(|column| ScanColumn {
            name: column.name.clone(),
            type_name: column.type_name.clone(),
            is_text: column.family() == crate::functions::types::Type::Text,
            mask: mask_of(&column.name),
        });
        let hiding = filters.iter().map(|filter| safe_filter::on_failure(filter, table));
        let hiding = hiding.collect::<Result<Vec<_>, Error>>()?;
        Ok(Self {
            table: Arc::clone(table),
            columns: columns.collect(),
            filter_can_fail: hiding.iter().any(|hiding| hiding.can_fail),
            filters: hiding.into_iter().map(|hiding| hiding.filter).collect(),
            check: None,
            with_rowid: false,
        })
    }
}
