//! Expressions that fail on purpose, under TRY.
//!
//! The engine takes `error` for volatile and refuses to try what is. A text that is no number fails as well; a NULL in
//! its place would not: `coalesce(100 / id > 1, TRUE)` would show a row that is hidden.

use sqlparser::ast::{DataType, Expr, Value};

use crate::ast::call::{call, of_engine};
use crate::ast::expression::{cast, text};
use crate::ast::{change_expressions, names};

/// `TRY(part)`.
pub(super) fn tried(mut part: Expr) -> Expr {
    change_expressions(&mut part, |expr| {
        if let Expr::Function(function) = expr
            && names::last(&function.name).is_some_and(|name| name.value == "error")
        {
            *expr = failing();
        }
    });
    call("try", [part])
}

/// As `error` is, it is of no type, so what stands beside it in a CASE keeps its own.
fn failing() -> Expr {
    let place = cast(text("no number"), DataType::Integer(None));
    let nothing = of_engine("list_value", [Expr::Value(Value::Null.into())]);
    of_engine("list_extract", [nothing, place])
}
