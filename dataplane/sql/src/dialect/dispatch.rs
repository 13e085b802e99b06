//! Calls: which family rewrites which name, and what happens to a name none of them knows.

use std::borrow::Cow;
use std::mem;
use std::sync::LazyLock;

use sqlparser::ast::{Expr, Function, FunctionArguments, Ident, ObjectName};

use super::call::{Handler, arity, plain};
use super::{
    Context, Done, aggregates, arithmetic, bytes, coerced, collations, conversions, dates, format, lambdas, letters,
    lost_types, paths, regexp, semistructured, templates, text, variants, windows,
};
use crate::ast::error::Error;
use crate::ast::names;
use crate::functions::catalogue;
use crate::functions::index::NameIndex;

/// Names that need more than a template, by family.
static CODED: LazyLock<NameIndex<Handler>> = LazyLock::new(|| {
    [
        aggregates::CALLS,
        arithmetic::CALLS,
        bytes::CALLS,
        conversions::CALLS,
        dates::CALLS,
        format::CALLS,
        lambdas::CALLS,
        letters::CALLS,
        lost_types::CALLS,
        paths::CALLS,
        regexp::CALLS,
        text::CALLS,
        semistructured::CALLS,
        windows::CALLS,
    ]
    .into_iter()
    .flatten()
    .flat_map(|(names, handler)| names.iter().map(move |name| (*name, *handler)))
    .collect()
});

/// Names that the dialect adds, or gives another meaning.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let renamed = catalogue::all().filter(|function| function.engine.is_some()).map(|function| function.name);
    CODED.entries().map(|(name, _)| name).chain(templates::names()).chain(renamed)
}

/// Rewrites a call; a function neither side knows is refused.
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    let Expr::Function(function) = expr else {
        return Ok(Done::No);
    };
    // only governance qualifies a function's name, and that is not ours to touch
    let Some(Ident { value: called, .. }) = names::single(&function.name) else {
        return Ok(Done::No);
    };
    let (known, coded, templated) = (catalogue::find(called), CODED.get(called), templates::known(called));
    let name = match known.map(|known| known.name).or(templated) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(called.to_ascii_lowercase()),
    };
    collations::distinct(function)?;
    variants::settle_arguments(&name, known, function, context)?;
    coerced::settle_arguments(&name, known, function, context);
    if let Some(handler) = coded {
        *expr = handler(take(function), context)?;
        return Ok(Done::Yes);
    }
    if let Some(engine) = known.and_then(|known| known.engine) {
        aggregates::rename(function, engine);
        return Ok(Done::Yes);
    }
    let is_of_engine = known.is_some_and(catalogue::Function::is_of_engine);
    if templated.is_some() {
        if is_of_engine && !templates::takes(&name, arity(function)) {
            return Ok(Done::No);
        }
        let mut args = plain(take(function))?;
        *expr = templates::fill(&name, &mut args, context)?;
        return Ok(Done::Yes);
    }
    if !is_of_engine {
        return Err(Error::unsupported_function(name));
    }
    Ok(Done::No)
}

fn take(function: &mut Function) -> Function {
    let nothing = Function {
        name: ObjectName(Vec::new()),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::None,
        within_group: Vec::new(),
        filter: None,
        null_treatment: None,
        over: None,
    };
    mem::replace(function, nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::catalogue::FunctionKind;

    #[test]
    fn what_the_dialect_adds_with_code_has_a_row_and_each_row_is_of_what_it_adds() {
        let names = CODED.entries().map(|(name, _)| name);
        let without: Vec<_> = names.filter(|name| catalogue::find(name).is_none()).collect();
        assert!(without.is_empty(), "without a row: {without:?}");
        for function in catalogue::all().filter(|function| function.is(FunctionKind::Dialect)) {
            let name = function.name;
            let is_added = CODED.get(name).is_some()
                || templates::is_known(name)
                || function.engine.is_some()
                || catalogue::is_table_function_of_dialect(name);
            assert!(is_added, "{name}");
        }
    }
}
