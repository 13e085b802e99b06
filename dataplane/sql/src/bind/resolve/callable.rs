//! Functions that may be called: those on the list, and in FROM those whose size is bounded.

use sqlparser::ast::{Expr, FunctionArg, ObjectName, UnaryOperator, Value};

use super::located;
use crate::ast::call::plain;
use crate::ast::error::{Error, ErrorKind};
use crate::ast::names;
use crate::functions::catalogue::{self, Class};

/// The dialect bounds calls in expressions; in FROM it is done here.
pub(super) fn table_function(name: &ObjectName, args: &[FunctionArg]) -> Result<(), Error> {
    let Some(ident) = names::single(name) else {
        return Err(uncallable(name, Error::unsupported_function));
    };
    if !catalogue::is_table_function(&ident.value) {
        return Err(uncallable(name, Error::unsupported_function));
    }
    let sizes = catalogue::sizes(&ident.value).iter();
    if sizes.filter_map(|size| args.get(*size)).all(is_bounded) {
        return Ok(());
    }
    let name = ident.value.to_ascii_lowercase();
    let message = format!("{name} in FROM needs numbers up to {} written out", catalogue::GENERATED_MAX);
    let kind = ErrorKind::Unsupported { construct: format!("this size in {name}") };
    Err(Error::new(kind, message).at(ident.span.start))
}

/// A literal number that is not too large, or a literal that is no number: dates count by their step.
pub(crate) fn is_bounded(argument: &FunctionArg) -> bool {
    let expr = match plain(argument) {
        Some(Expr::UnaryOp { op: UnaryOperator::Minus, expr }) => expr.as_ref(),
        Some(other) => other,
        None => return false,
    };
    match expr {
        Expr::TypedString(_) => true,
        Expr::Cast { expr, .. } => {
            matches!(expr.as_ref(), Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)))
        }
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse::<u64>().is_ok_and(|number| number <= catalogue::GENERATED_MAX),
            _ => false,
        },
        _ => false,
    }
}

/// A call of a function of this class; the dialect bounds those whose result grows with an argument.
pub(super) fn called(name: &ObjectName, class: Option<Class>) -> Result<(), Error> {
    match class {
        None => Err(uncallable(name, Error::unsupported_function)),
        Some(Class::Denied) => Err(uncallable(name, Error::denied_function)),
        Some(Class::Safe | Class::Throwing | Class::Stable | Class::Volatile | Class::Write) => Ok(()),
    }
}

pub(super) fn uncallable(name: &ObjectName, why: impl FnOnce(String) -> Error) -> Error {
    located(why(names::last(name).map_or_else(String::new, |ident| ident.value.to_ascii_lowercase())), name)
}
