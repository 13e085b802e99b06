//! Calls of the engine's functions, as nodes: by name, with plain arguments and nothing else.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName, Value,
};

/// `name(args)`.
pub(crate) fn call(name: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::Function(function(&[name], args))
}

/// By its whole path: no definition of a caller can take its place.
pub(crate) fn of_engine(name: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::Function(function(&["system", "main", name], args))
}

/// The same by a whole path, to be decorated or put somewhere.
pub(crate) fn function(path: &[&str], args: impl IntoIterator<Item = Expr>) -> Function {
    Function {
        name: ObjectName::from(path.iter().map(|part| Ident::new(*part)).collect::<Vec<_>>()),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(argument).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }
}

pub(crate) fn argument(expr: Expr) -> FunctionArg {
    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
}

/// The arguments of a call, whatever they are.
pub(crate) fn listed(function: &Function) -> &[FunctionArg] {
    match &function.args {
        FunctionArguments::List(list) => &list.args,
        FunctionArguments::None | FunctionArguments::Subquery(_) => &[],
    }
}

/// An argument that is a plain expression.
pub(crate) fn plain(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// The expression of an argument, with a name or without.
pub(crate) fn given(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(expr), .. }
        | FunctionArg::ExprNamed { arg: FunctionArgExpr::Expr(expr), .. } => Some(expr),
        _ => None,
    }
}

/// The arguments of a call that are plain expressions.
pub(crate) fn arguments(function: &Function) -> impl Iterator<Item = &Expr> {
    listed(function).iter().filter_map(plain)
}

/// The one argument of a call.
pub(crate) fn sole_argument(function: &Function) -> Option<&Expr> {
    let [argument] = listed(function) else { return None };
    plain(argument)
}

/// What a function is called by, in small letters and without its path.
pub(crate) fn called(function: &Function) -> Option<String> {
    crate::ast::names::last(&function.name).map(|name| name.value.to_ascii_lowercase())
}

/// The text of a string literal.
pub(crate) fn literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) => literal(inner),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Takes the expression out of its place, where NULL is left.
pub(crate) fn take_expr(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::value(Value::Null))
}
