//! Rows that a query asks for by their primary key alone, under a row filter.
//!
//! The engine finds rows by a key's index only where the one condition that it hands to the scan is of the key. A filter on
//! another column would be the second, and every row would be read. Inside of a CASE that names the key as well it stays
//! above the scan. No value of a primary key is NULL, so the CASE is the filter.

use sqlparser::ast::{BinaryOperator, Expr, SetExpr, Statement, TableFactor};

use super::Printer;
use crate::ast::any_expression;
use crate::ast::error::Error;
use crate::ast::quote;
use crate::scan::Scan;
use crate::scan::marker::{self, Marked};

/// The scan of which a query asks for nothing but the row of a primary key.
pub(super) fn by_key(statement: &Statement, scans: &[Scan]) -> Option<usize> {
    let Statement::Query(query) = statement else { return None };
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let ([table], Some(Expr::BinaryOp { left, op: BinaryOperator::Eq, right })) =
        (select.from.as_slice(), &select.selection)
    else {
        return None;
    };
    let TableFactor::Table { name, .. } = &table.relation else { return None };
    let Some(Marked::Scan(number)) = marker::read(name) else { return None };
    let scan = scans.get(number)?;
    let key = key_of(scan)?;
    let is_of_key = named(left).is_some_and(|name| name.eq_ignore_ascii_case(key));
    (is_of_key && matches!(right.as_ref(), Expr::Value(_)) && table.joins.is_empty()).then_some(number)
}

/// The one column of a table's primary key, which is seen as it is, where a filter is of another column of the table.
fn key_of(scan: &Scan) -> Option<&str> {
    let [key] = scan.table.primary_key.as_slice() else { return None };
    let column = scan.columns().find(|column| column.name.eq_ignore_ascii_case(key))?;
    let is_another = |expr: &Expr| named(expr).is_some_and(|name| !name.eq_ignore_ascii_case(key));
    let is_of_others = scan.filters.iter().any(|filter| any_expression(filter, is_another));
    let is_plain = column.mask.is_none() && !scan.with_rowid && !scan.asks_other_tables();
    (is_plain && is_of_others).then_some(column.name)
}

/// The name of a column.
fn named(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) => Some(&name.value),
        Expr::CompoundIdentifier(path) => path.last().map(|name| name.value.as_str()),
        _ => None,
    }
}

impl Printer<'_> {
    /// The filters of a scan whose rows are found by its key.
    pub(super) fn filters_behind_key(&mut self, scan: &Scan) -> Result<(), Error> {
        let Some(key) = key_of(scan) else { return self.filters(" WHERE ", &scan.filters) };
        self.put(" WHERE CASE WHEN ");
        quote::name_into(&mut self.out, &scan.table.name);
        self.put(".");
        quote::name_into(&mut self.out, key);
        self.enclosed(" IS NULL THEN FALSE ELSE ", " END", |p| p.filters("", &scan.filters))
    }
}
