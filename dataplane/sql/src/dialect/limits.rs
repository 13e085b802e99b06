//! Generators: how much one call may make.
//!
//! The engine follows no interrupt inside some of them and no memory limit inside others. A literal
//! above the limit is refused here; a size that is computed is checked by the engine, row by row.

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, TableFactor};

use super::call::{expressions, take_expr};
use super::{Context, compose, templates};
use crate::error::Error;
use crate::functions::{self, GENERATED_MAX};
use crate::types::Type;

/// The sizes of a call that makes much of little.
pub(super) fn check(expr: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    let Expr::Function(function) = expr else {
        return Ok(());
    };
    let Some(name) = compose::bare_name(&function.name) else {
        return Ok(());
    };
    let sizes = functions::sizes(&name);
    if sizes.is_empty() {
        return Ok(());
    }
    for (_, size) in expressions(function).enumerate().filter(|(at, _)| sizes.contains(at)) {
        bound(&name, size, context)?;
    }
    Ok(())
}

/// The same of a function in FROM.
pub(super) fn check_table(factor: &mut TableFactor, context: &mut Context<'_>) -> Result<(), Error> {
    let (name, args) = match factor {
        TableFactor::Function { name, args, .. } => (name, args),
        TableFactor::Table { name, args: Some(args), .. } => (name, &mut args.args),
        _ => return Ok(()),
    };
    let Some(name) = compose::bare_name(name) else {
        return Ok(());
    };
    for place in functions::sizes(&name) {
        if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(size))) = args.get_mut(*place) {
            bound(&name, size, context)?;
        }
    }
    Ok(())
}

fn bound(name: &str, size: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    let most = i64::try_from(GENERATED_MAX).unwrap_or(i64::MAX);
    let too_many = format!("{} of more than {GENERATED_MAX}", name.to_ascii_uppercase());
    match compose::integer(size) {
        Some(literal) if (-most..=most).contains(&literal) => return Ok(()),
        Some(_) => return Err(Error::unsupported(too_many)),
        None => {}
    }
    match context.type_of(size) {
        // these step through time, which ends
        Type::Date | Type::Timestamp | Type::TimestampTz if is_series(name) => Ok(()),
        Type::Unknown | Type::Text if is_series(name) => {
            Err(Error::unsupported(format!("{} of an argument of unknown type", name.to_ascii_uppercase())))
        }
        _ => {
            context.copy(templates::size(size))?;
            let taken = take_expr(size);
            let limit = Expr::Between {
                expr: Box::new(taken.clone()),
                negated: true,
                low: Box::new(compose::number(-most)),
                high: Box::new(compose::number(most)),
            };
            let refusal = compose::call("error", [compose::text(too_many)]);
            *size = compose::case(None, vec![(limit, refusal)], Some(taken));
            Ok(())
        }
    }
}

fn is_series(name: &str) -> bool {
    matches!(name, "range" | "generate_series")
}
