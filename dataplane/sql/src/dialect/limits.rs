//! Generators: how much one call may make.
//!
//! The engine follows no interrupt inside some of them and no memory limit inside others. A literal
//! above the limit is refused here; a size that is computed is checked by the engine, row by row.

use sqlparser::ast::{BinaryOperator, Expr};

use super::call::{expressions, take_expr};
use super::{Context, compose, templates};
use crate::error::Error;
use crate::functions::{self, GENERATED_MAX};
use crate::types::Type;

/// The sizes of a call that makes much of little.
pub(super) fn check(expr: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    let Expr::Function(function) = expr else { return Ok(()) };
    let Some(name) = compose::bare_name(&function.name) else { return Ok(()) };
    let sizes = functions::sizes(&name);
    if sizes.is_empty() {
        return Ok(());
    }
    for (at, size) in expressions(function).enumerate().filter(|(at, _)| sizes.contains(at)) {
        bound(&name, at, size, context)?;
    }
    Ok(())
}

fn bound(name: &str, at: usize, size: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    let most = i64::try_from(GENERATED_MAX).unwrap_or(i64::MAX);
    match compose::integer(size) {
        Some(literal) if (-most..=most).contains(&literal) => Ok(()),
        Some(_) => Err(Error::unsupported(format!("{} of more than {GENERATED_MAX}", name.to_ascii_uppercase()))),
        // dates and intervals step through time, which ends
        None if context.type_of(size) == Type::Integer || at > 0 && name != "range" && name != "generate_series" => {
            let taken = take_expr(size);
            let limit = compose::binary(taken.clone(), BinaryOperator::Gt, compose::number(most));
            context.copy(templates::size(&taken))?;
            let refusal = compose::call("error", [compose::text(format!("{name} of more than {GENERATED_MAX}"))]);
            *size = compose::case(None, vec![(limit, refusal)], Some(taken));
            Ok(())
        }
        None => Ok(()),
    }
}
