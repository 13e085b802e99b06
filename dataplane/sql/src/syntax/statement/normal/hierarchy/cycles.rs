//! A row that is its own ancestor: an error, or, with NOCYCLE, left out.
//!
//! Rows are told apart by the columns that the condition names; a condition that bounds LEVEL ends by itself, so only
//! NOCYCLE looks for cycles there.

use std::ops::ControlFlow;

use sqlparser::ast::{Array, Expr, Ident, Select, SelectItem, VisitorMut};

use super::{call, is_word, parent};
use crate::ast::error::Error;
use crate::ast::expression::as_text;
use crate::ast::names::ours::{LEVEL, PATH};
use crate::ast::{VisitMut, names};

/// In the engine's error when a row is its own ancestor.
pub const CYCLE: &str = "the hierarchy has a cycle";

/// How a cycle is found, and whether it is left out or an error.
pub(super) struct Cycles {
    /// `[CAST(column AS VARCHAR), …]` of the row, as one text.
    row: Expr,
    pub(super) nocycle: bool,
}

impl Cycles {
    /// None where no cycle can come about or is looked for.
    pub(super) fn of(condition: &Expr, alias: &Ident, nocycle: bool) -> Option<Self> {
        let mut named = ConditionNames::default();
        let ControlFlow::Continue(()) = condition.clone().visit(&mut named);
        if !named.prior || named.level && !nocycle {
            return None;
        }
        let text = |column: Ident| as_text(Expr::CompoundIdentifier(vec![alias.clone(), column]));
        let elem = named.columns.into_iter().map(text).collect();
        let row = call("to_json", [Expr::Array(Array { elem, named: true })]);
        Some(Self { row, nocycle })
    }

    pub(super) fn seen(&self) -> Expr {
        call("list_contains", [parent(&names::quoted(PATH)), self.row.clone()])
    }

    /// What the rows below carry: their own text behind their ancestors'.
    pub(super) fn carry(&self, roots: &mut Select, rows: &mut Select) -> Result<(), Error> {
        let named = |expr| SelectItem::ExprWithAlias { expr, alias: names::quoted(PATH) };
        let alone = Expr::Array(Array { elem: vec![self.row.clone()], named: true });
        roots.projection.push(named(alone));
        rows.projection.push(named(call("list_append", [parent(&names::quoted(PATH)), self.row.clone()])));
        if self.nocycle {
            return Ok(());
        }
        // in the projection: it is asked of rows that are children, and of no other pair
        let checked = crate::syntax::parse::expression(&format!(
            "CASE WHEN seen THEN CAST('{CYCLE}' AS INTEGER) ELSE level END"
        ))?;
        for item in &mut rows.projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item
                && alias.value == LEVEL
            {
                let mut fill = Checked { seen: self.seen(), level: expr.clone() };
                let mut made = checked.clone();
                let ControlFlow::Continue(()) = made.visit(&mut fill);
                *expr = made;
            }
        }
        Ok(())
    }
}

/// Puts the two expressions in for their words.
struct Checked {
    seen: Expr,
    level: Expr,
}

impl VisitorMut for Checked {
    type Break = std::convert::Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Identifier(ident) if ident.value == "seen" => *expr = self.seen.clone(),
            Expr::Identifier(ident) if ident.value == "level" => *expr = self.level.clone(),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// What a condition names.
#[derive(Default)]
struct ConditionNames {
    columns: Vec<Ident>,
    prior: bool,
    level: bool,
}

impl VisitorMut for ConditionNames {
    type Break = std::convert::Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let column = match expr {
            Expr::Prior(_) => {
                self.prior = true;
                return ControlFlow::Continue(());
            }
            Expr::Identifier(ident) if is_word(ident, "level") => {
                self.level = true;
                return ControlFlow::Continue(());
            }
            Expr::Identifier(ident) => Some(ident.clone()),
            Expr::CompoundIdentifier(path) => path.last().cloned(),
            _ => None,
        };
        if let Some(column) = column
            && !self.columns.iter().any(|known| known.value.eq_ignore_ascii_case(&column.value))
        {
            self.columns.push(column);
        }
        ControlFlow::Continue(())
    }
}
