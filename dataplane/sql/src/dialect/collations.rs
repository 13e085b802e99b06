//! DISTINCT of an aggregate under a collation, which the engine does not ask: it takes each spelling for a value.

use sqlparser::ast::{DuplicateTreatment, Expr, Function, FunctionArguments};

use super::call::{expressions, take_expr};
use super::compose;
use crate::ast::error::Error;
use crate::ast::names;

/// Counts the collated values by what they are compared by; of any other aggregate it is refused.
pub(super) fn distinct(function: &mut Function) -> Result<(), Error> {
    let is_distinct = matches!(&function.args, FunctionArguments::List(list)
        if list.duplicate_treatment == Some(DuplicateTreatment::Distinct));
    if !is_distinct || !expressions(function).any(|argument| matches!(argument, Expr::Collate { .. })) {
        return Ok(());
    }
    let name = compose::bare_name(&function.name).unwrap_or_default();
    let refused = || Error::unsupported(format!("{} of DISTINCT values under a collation", name.to_ascii_uppercase()));
    if name != "count" {
        return Err(refused());
    }
    for argument in expressions(function) {
        if let Expr::Collate { expr, collation } = argument {
            let written = names::single(collation).map(|name| name.value.to_ascii_lowercase()).unwrap_or_default();
            *argument = key(take_expr(expr), &written).ok_or_else(refused)?;
        }
    }
    Ok(())
}

/// What the engine compares under the collation, as the printer writes it.
fn key(text: Expr, collation: &str) -> Option<Expr> {
    let without_case = |text| compose::call("lower", [text]);
    match collation {
        "" | "utf8" => Some(text),
        "en-ci" | "nocase" => Some(without_case(text)),
        "en-ci-ai" | "en-ai-ci" | "nocase.noaccent" => Some(compose::call("strip_accents", [without_case(text)])),
        _ => None,
    }
}
