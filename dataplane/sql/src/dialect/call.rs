//! The parts of a call: what a family that rewrites it takes apart.

use std::fmt;

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments};

use super::Context;
pub(super) use crate::ast::call::take_expr;
use crate::ast::error::Error;
use crate::ast::names;

/// Makes the engine's expression of one call of the warehouse.
pub(super) type Handler = fn(Function, &mut Context<'_>) -> Result<Expr, Error>;

/// The name of a call in small letters, with the quotes that it has.
pub(super) fn written_name(function: &Function) -> String {
    match names::single(&function.name) {
        Some(name) if name.quote_style.is_none() => name.value.to_ascii_lowercase(),
        _ => function.name.to_string().to_ascii_lowercase(),
    }
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
    args.into_iter().map(|argument| positional(argument, &name)).collect()
}

fn odd(name: &str) -> Error {
    Error::unsupported(format!("{} with OVER, FILTER, DISTINCT or ORDER BY", name.to_ascii_uppercase()))
}

/// The expression of an unnamed argument.
pub(super) fn positional(argument: FunctionArg, name: &dyn fmt::Display) -> Result<Expr, Error> {
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
