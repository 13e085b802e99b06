//! TRUNCATECOLUMNS of COPY INTO from a query: the value of a column with a length is cut to that.

use sqlparser::ast::{Insert, SelectItem, SetExpr, Statement};

use super::StageBinding;
use crate::ast::call::{call, take_expr};
use crate::ast::error::Error;
use crate::ast::expression::{as_text, number};

impl StageBinding {
    /// Cuts the values that a query makes of records, where the load is to do so.
    pub(super) fn truncate(&self, tree: &mut Statement) -> Result<(), Error> {
        let mut loads = self.reads.iter().filter_map(|read| read.load);
        if !loads.any(|load| load.transforms && load.truncates) {
            return Ok(());
        }
        let unknown = || Error::unsupported("TRUNCATECOLUMNS of a query with other than one value for each column");
        let Statement::Insert(Insert { source: Some(source), .. }) = tree else { return Err(unknown()) };
        let SetExpr::Select(select) = source.body.as_mut() else { return Err(unknown()) };
        if select.projection.len() != self.filled.len() {
            return Err(unknown());
        }
        for (item, column) in select.projection.iter_mut().zip(&self.filled) {
            let (SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }) = item else {
                return Err(unknown());
            };
            if let Some(length) = column.length().and_then(|length| i64::try_from(length).ok()) {
                *value = call("left", [as_text(take_expr(value)), number(length)]);
            }
        }
        Ok(())
    }
}
