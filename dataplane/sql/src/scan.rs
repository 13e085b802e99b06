//! A reference to a table as the engine reads it: its columns with their masks, and its row filters.
//!
//! Governance fills it in, the printer writes it. In the tree a marker stands in its place.

pub(crate) mod marker;

use std::sync::Arc;

use contract::policy::MaskFunction;
use sqlparser::ast::Expr;

use crate::ast::any_expression;
use crate::catalog::column_comment::SpelledType;
use crate::catalog::table::{Column, Table};
use crate::functions::types::Type;

/// The mask that a caller sees in place of a column's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// By a function of a policy, with its parameter.
    Function { function: MaskFunction, visible_chars: u32 },
    /// NULL, where it is read; but a statement that touches the column is refused.
    Denied,
}

impl Mask {
    /// The function that masks what is read.
    pub(crate) const fn function(self) -> MaskFunction {
        match self {
            Self::Function { function, .. } => function,
            Self::Denied => MaskFunction::Null,
        }
    }

    const fn visible_chars(self) -> u32 {
        match self {
            Self::Function { visible_chars, .. } => visible_chars,
            Self::Denied => 0,
        }
    }

    /// What it shows, in an order: of two masks on a column the smaller one stays.
    pub(crate) fn shown(self) -> (bool, (u8, u32)) {
        (self != Self::Denied, self.function().shown(self.visible_chars()))
    }
}

impl From<MaskFunction> for Mask {
    fn from(function: MaskFunction) -> Self {
        Self::Function { function, visible_chars: 0 }
    }
}

/// One reference to a table, with what rules it.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    pub table: Arc<Table>,
    /// The masks of its columns, in their order; nothing where none has one.
    pub masks: Vec<Option<Mask>>,
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

/// A column of a table as it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanColumn<'a> {
    pub name: &'a str,
    pub type_name: &'a str,
    /// The word that it was declared by, where `type_name` does not tell it.
    pub spelled: Option<SpelledType>,
    pub mask: Option<Mask>,
}

impl ScanColumn<'_> {
    pub(crate) fn is_text(&self) -> bool {
        Type::of_name(self.type_name) == Type::Text
    }

    /// Its value as the caller sees it, in SQL of the engine.
    pub(crate) fn seen(&self, value: &str) -> String {
        let Some(mask) = self.mask else {
            return value.to_owned();
        };
        mask.function().sql(value, self.type_name, self.is_text(), mask.visible_chars())
    }
}

impl Scan {
    pub(crate) fn columns(&self) -> impl Iterator<Item = ScanColumn<'_>> {
        self.table.columns.iter().enumerate().map(move |(place, column)| self.seen(place, column))
    }

    pub(crate) fn column(&self, place: usize) -> Option<ScanColumn<'_>> {
        self.table.columns.get(place).map(|column| self.seen(place, column))
    }

    fn seen<'a>(&self, place: usize, column: &'a Column) -> ScanColumn<'a> {
        let Column { name, type_name, spelled, .. } = column;
        ScanColumn { name, type_name, spelled: *spelled, mask: self.masks.get(place).copied().flatten() }
    }

    pub(crate) fn is_governed(&self) -> bool {
        self.with_rowid || !self.filters.is_empty() || self.is_masked()
    }

    pub(crate) fn is_masked(&self) -> bool {
        self.masks.iter().any(Option::is_some)
    }

    /// Whether a filter of it reads other tables, so that there are plans to choose from.
    pub(crate) fn asks_other_tables(&self) -> bool {
        self.filters.iter().any(asks)
    }
}

/// Whether a filter asks other tables: a query stands in it.
pub(crate) fn asks(expr: &Expr) -> bool {
    any_expression(expr, |expr| matches!(expr, Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. }))
}
