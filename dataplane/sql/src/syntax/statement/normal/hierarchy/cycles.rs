//! A row that is its own ancestor: an error, or, with NOCYCLE, left out.
//!
//! Rows are told apart by the columns that the condition names; a condition that bounds LEVEL ends by itself, so only
//! NOCYCLE looks for cycles there.

use sqlparser::ast::{Array, Expr, Ident, Select, SelectItem};

use super::{call, is_word, parent};
use crate::ast::error::Error;
use crate::ast::expression::as_text;
use crate::ast::names::ours::{LEVEL, PATH};
use crate::ast::{change_expressions, each_expression, names};

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
        each_expression(condition, |expr| named.look(expr));
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
                let (seen, level) = (self.seen(), std::mem::replace(expr, checked.clone()));
                change_expressions(expr, |part| match part {
                    Expr::Identifier(ident) if ident.value == "seen" => *part = seen.clone(),
                    Expr::Identifier(ident) if ident.value == "level" => *part = level.clone(),
                    _ => {}
                });
            }
        }
        Ok(())
    }
}

/// The names in a condition.
#[derive(Default)]
struct ConditionNames {
    columns: Vec<Ident>,
    prior: bool,
    level: bool,
}

impl ConditionNames {
    fn look(&mut self, expr: &Expr) {
        let column = match expr {
            Expr::Prior(_) => return self.prior = true,
            Expr::Identifier(ident) if is_word(ident, "level") => return self.level = true,
            Expr::Identifier(ident) => ident,
            Expr::CompoundIdentifier(path) => match path.last() {
                Some(column) => column,
                None => return,
            },
            _ => return,
        };
        if !self.columns.iter().any(|known| known.value.eq_ignore_ascii_case(&column.value)) {
            self.columns.push(column.clone());
        }
    }
}
