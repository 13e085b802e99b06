//! Calls: which family rewrites which name, and what happens to a name none of them knows.

use std::collections::HashMap;
use std::mem;
use std::sync::LazyLock;

use sqlparser::ast::{Expr, Function};

use super::call::{Handler, arity, plain};
use super::{
    Context, Done, aggregates, arithmetic, bytes, coerced, compose, conversions, dates, lambdas, lost_types, paths,
    regexp, semistructured, templates, text, variants, windows,
};
use crate::ast::error::Error;
use crate::functions::catalogue;

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
