//! Calls: which family rewrites which name, and what happens to a name none of them knows.

use std::collections::HashMap;
use std::mem;
use std::sync::LazyLock;

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments};

use super::{
    Context, Done, aggregates, arithmetic, bytes, coerced, compose, conversions, dates, lambdas, lost_types, paths,
    regexp, semistructured, templates, text, variants, windows,
};
pub(super) use crate::ast::call::take_expr;
use crate::ast::error::Error;
use crate::functions::catalogue;

/// Makes the engine's expression of one call of the warehouse.
pub(super) type Handler = fn(Function, &mut Context<'_>) -> Result<Expr, Error>;

/// Names that need more than a template, by family.
static CODED: LazyLock<HashMap<&'static str, Handler>> = LazyLock::new(|| {
    [
        aggregates::CALLS,
        arithmetic::CALLS,
        bytes::CALLS,
        conversions::CALLS,
        dates::CALLS,
        lambdas::CALLS,
        lost_types::CALLS,
        paths::CALLS,
        regexp::CALLS,
        text::CALLS,
        semistructured::CALLS,
        windows::CALLS,
    ]
    .into_iter()
    .flatten()
    .copied()
    .collect()
});

/// Whether the dialect adds this name, or gives it another meaning.
pub(super) fn is_known(name: &str) -> bool {
    CODED.contains_key(name) || templates::is_known(name)
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    CODED.keys().copied().chain(templates::names())
}

/// Rewrites a call; a function neither side knows is refused.
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    let Expr::Function(function) = expr else {
        return Ok(Done::No);
    };
    // only governance qualifies a function's name, and that is not ours to touch
    let Some(name) = compose::bare_name(&function.name) else {
        return Ok(Done::No);
    };
    variants::settle_arguments(&name, function, context)?;
    coerced::settle_arguments(&name, function, context);
    if let Some(handler) = CODED.get(name.as_str()) {
        *expr = handler(take(function), context)?;
        return Ok(Done::Yes);
    }
    if templates::is_known(&name) {
        if catalogue::find(&name).is_some() && !templates::takes(&name, arity(function)) {
            return Ok(Done::No);
        }
        let args = plain(take(function))?;
        *expr = templates::fill(&name, &args, context)?;
        return Ok(Done::Yes);
    }
    if catalogue::find(&name).is_none() {
        return Err(Error::unsupported_function(name));
    }
    Ok(Done::No)
}

fn take(function: &mut Function) -> Function {
    mem::replace(function, compose::function("", []))
}

/// How many arguments it has.
pub(super) fn arity(function: &Function) -> usize {
    match &function.args {
        FunctionArguments::List(list) => list.args.len(),
        FunctionArguments::None | FunctionArguments::Subquery(_) => 0,
    }
}

/// The arguments of a call that has nothing but positional arguments.
pub(super) fn plain(function: Function) -> Result<Vec<Expr>, Error> {
    let Function { name, uses_odbc_syntax: _, parameters, args, within_group, filter, null_treatment, over } = function;
    let decorated = parameters != FunctionArguments::None
        || !within_group.is_empty()
        || filter.is_some()
        || null_treatment.is_some()
        || over.is_some();
    let FunctionArguments::List(FunctionArgumentList { duplicate_treatment, args, clauses }) = args else {
        // CURRENT_DATE and its like have no brackets
        return if args == FunctionArguments::None && !decorated {
            Ok(Vec::new())
        } else {
            Err(odd(&name.to_string()))
        };
    };
    if decorated || duplicate_treatment.is_some() || !clauses.is_empty() {
        return Err(odd(&name.to_string()));
    }
    args.into_iter().map(|argument| positional(argument, &name.to_string())).collect()
}

fn odd(name: &str) -> Error {
    Error::unsupported(format!("{} with OVER, FILTER, DISTINCT or ORDER BY", name.to_ascii_uppercase()))
}

/// The expression of an unnamed argument.
pub(super) fn positional(argument: FunctionArg, name: &str) -> Result<Expr, Error> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
        FunctionArg::Unnamed(_) => Err(Error::unsupported(format!("* as an argument of {name}"))),
        FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
            Err(Error::unsupported(format!("a named argument of {name}")))
        }
    }
}

/// The arguments as an array of the length wanted.
pub(super) fn exactly<const N: usize>(name: &str, args: Vec<Expr>) -> Result<[Expr; N], Error> {
    let count = args.len();
    <[Expr; N]>::try_from(args).map_err(|_| wrong_count(name, count))
}

pub(super) fn wrong_count(name: &str, count: usize) -> Error {
    Error::unsupported(format!("{} with {count} arguments", name.to_ascii_uppercase()))
}

/// Every expression among the arguments, to be changed in place.
pub(super) fn expressions(function: &mut Function) -> impl Iterator<Item = &mut Expr> {
    let list = match &mut function.args {
        FunctionArguments::List(list) => list.args.as_mut_slice(),
        FunctionArguments::None | FunctionArguments::Subquery(_) => &mut [],
    };
    list.iter_mut().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}
