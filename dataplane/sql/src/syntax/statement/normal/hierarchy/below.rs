//! Questions about the rows below a row: `CONNECT_BY_ISLEAF` is 1 where there are none, `CONNECT_BY_ISCYCLE` where
//! one of them stands above it too, and NOCYCLE left it out.

use sqlparser::ast::{BinaryOperator, Expr, Ident, Query, Select, SelectItem, SetExpr, TableFactor};

use super::cycles::Cycles;
use super::{binary, children, is_word};
use crate::ast::error::Error;
use crate::ast::names;
use crate::ast::names::ours::{CYCLE, LEAF, TABLE};

/// Which of the two a query asks for.
#[derive(Debug, Default)]
pub(super) struct Below {
    leaf: bool,
    cycle: bool,
}

impl Below {
    /// The column that stands for the word, if it is one of them; from now on there is that column.
    pub fn asked(&mut self, ident: &Ident) -> Option<&'static str> {
        if is_word(ident, "connect_by_isleaf") {
            self.leaf = true;
            return Some(LEAF);
        }
        let is_cycle = is_word(ident, "connect_by_iscycle");
        self.cycle |= is_cycle;
        is_cycle.then_some(CYCLE)
    }

    pub fn columns(&self) -> impl Iterator<Item = &'static str> + use<> {
        [(self.leaf, LEAF), (self.cycle, CYCLE)].into_iter().filter_map(|(asked, name)| asked.then_some(name))
    }

    /// Adds the columns to the finished hierarchy.
    pub fn look(
        &self,
        query: &mut Query,
        table: &TableFactor,
        condition: &Expr,
        cycles: Option<&Cycles>,
    ) -> Result<(), Error> {
        let SetExpr::Select(hierarchy) = query.body.as_mut() else {
            return Err(Error::unsupported("CONNECT BY"));
        };
        if self.leaf {
            add(hierarchy, LEAF, "NOT", table, children(condition, cycles))?;
        }
        if self.cycle {
            let cycles = cycles.filter(|cycles| cycles.nocycle);
            let cycles = cycles.ok_or_else(|| Error::unsupported("CONNECT_BY_ISCYCLE without NOCYCLE"))?;
            let again = binary(Expr::Nested(Box::new(condition.clone())), BinaryOperator::And, cycles.seen());
            add(hierarchy, CYCLE, "", table, again)?;
        }
        Ok(())
    }
}

/// `CAST([NOT] EXISTS (SELECT 1 FROM table WHERE condition) AS INTEGER) AS name`.
fn add(hierarchy: &mut Select, name: &str, not: &str, table: &TableFactor, condition: Expr) -> Result<(), Error> {
    let unexpected = || Error::unsupported("CONNECT BY");
    let mut made = crate::syntax::parse::expression(&format!(
        "CAST({not} EXISTS (SELECT 1 FROM \"{TABLE}\" WHERE TRUE) AS INTEGER)"
    ))?;
    let Expr::Cast { expr, .. } = &mut made else { return Err(unexpected()) };
    let inner = match expr.as_mut() {
        Expr::Exists { subquery, .. } => subquery,
        Expr::UnaryOp { expr, .. } => match expr.as_mut() {
            Expr::Exists { subquery, .. } => subquery,
            _ => return Err(unexpected()),
        },
        _ => return Err(unexpected()),
    };
    let SetExpr::Select(rows) = inner.body.as_mut() else { return Err(unexpected()) };
    rows.selection = Some(condition);
    if let Some(from) = rows.from.first_mut() {
        from.relation = table.clone();
    }
    hierarchy.projection.push(SelectItem::ExprWithAlias { expr: made, alias: names::quoted(name) });
    Ok(())
}
