//! What fails on purpose, under TRY.
//!
//! The engine takes `error` for volatile and refuses to try what is. A text that is no number fails as well; a NULL in
//! its place would not: `coalesce(100 / id > 1, TRUE)` would show a row that is hidden.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{DataType, Expr, Value, VisitorMut};

use crate::ast::call::{call, of_engine};
use crate::ast::expression::{cast, text};
use crate::ast::{VisitMut, names};

/// `TRY(part)`.
pub(super) fn tried(mut part: Expr) -> Expr {
    let _: ControlFlow<Infallible> = part.visit(&mut Erring);
    call("try", [part])
}

struct Erring;

impl VisitorMut for Erring {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Function(function) = expr
            && names::last(&function.name).is_some_and(|name| name.value == "error")
        {
            *expr = failing();
        }
        ControlFlow::Continue(())
    }
}

/// As `error` is, it is of no type, so what stands beside it in a CASE keeps its own.
fn failing() -> Expr {
    let place = cast(text("no number"), DataType::Integer(None));
    let nothing = of_engine("list_value", [Expr::Value(Value::Null.into())]);
    of_engine("list_extract", [nothing, place])
}
