//! Generators: how much one call may make.
//!
//! The engine follows no interrupt inside some of them and no memory limit inside others. A literal
//! above the limit is refused here; a size that is computed is checked by the engine, row by row.

use sqlparser::ast::{BinaryOperator, DataType, Expr, FunctionArg, FunctionArgExpr, TableFactor};

use super::call::{expressions, take_expr};
use super::{Context, compose, templates};
use crate::ast::error::Error;
use crate::ast::names;
use crate::functions::catalogue::{self, GENERATED_MAX, SizeBound, find_in_engine};
use crate::functions::types::Type;
use crate::functions::widths;

/// The sizes of a call that only the warehouse has, before it becomes several of the engine's.
pub(super) fn check_ours(expr: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    match expr {
        Expr::Function(function)
            if names::last(&function.name).is_some_and(|name| find_in_engine(&name.value).is_none()) =>
        {
            check(expr, context)
        }
        _ => Ok(()),
    }
}

/// The sizes of a call that makes much of little.
pub(super) fn check(expr: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    let Expr::Function(function) = expr else {
        return Ok(());
    };
    let Some(known) = names::single(&function.name).and_then(|name| catalogue::find(&name.value)) else {
        return Ok(());
    };
    let (name, Some(limit)) = (known.name, &known.bound) else {
        return Ok(());
    };
    if is_series(name) {
        bound_steps(name, expressions(function).collect(), context)?;
    }
    match limit {
        SizeBound::Places(places) => {
            let sizes = expressions(function).enumerate().filter(|(place, _)| places.contains(place));
            sizes.map(|(_, size)| size).try_for_each(|size| bound(name, size, context))
        }
        SizeBound::Widths => expressions(function).take(1).try_for_each(|text| bound_widths(name, text, context)),
        SizeBound::Letters(least) if expressions(function).count() >= *least => {
            bound_letters(name, expressions(function).collect(), context)
        }
        SizeBound::Letters(_) => Ok(()),
        SizeBound::Depth => bound_depth(name, expressions(function), context),
    }
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
    for place in catalogue::sizes(&name) {
        if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(size))) = args.get_mut(*place) {
            bound(&name, size, context)?;
        }
    }
    Ok(())
}

fn too_many(name: &str) -> String {
    format!("{} of more than {GENERATED_MAX}", name.to_ascii_uppercase())
}

fn bound(name: &str, size: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    let most = i64::try_from(GENERATED_MAX).unwrap_or(i64::MAX);
    match compose::integer(size) {
        Some(literal) if (-most..=most).contains(&literal) => return Ok(()),
        Some(_) => return Err(Error::unsupported(too_many(name))),
        None => {}
    }
    match context.type_of(size) {
        // these step through time, which ends
        Type::Date | Type::Timestamp | Type::TimestampTz if is_series(name) => Ok(()),
        Type::Unknown | Type::Text if is_series(name) => {
            Err(Error::unsupported(format!("{} of an argument of unknown type", name.to_ascii_uppercase())))
        }
        _ if templates::is_volatile(size) => {
            Err(Error::unsupported(format!("{} of a size that is another each time", name.to_ascii_uppercase())))
        }
        _ => {
            context.copy(templates::size(size))?;
            let limit = Expr::Between {
                expr: Box::new(size.clone()),
                negated: true,
                low: Box::new(compose::number(-most)),
                high: Box::new(compose::number(most)),
            };
            refuse_where(limit, size, too_many(name), context);
            Ok(())
        }
    }
}

/// What a text of `format` or `printf` asks for; where it is computed, the engine looks at it first.
fn bound_widths(name: &str, text: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    if let Some(literal) = compose::literal(text) {
        return match widths::asked(name, literal) {
            Some(asked) if asked <= GENERATED_MAX => Ok(()),
            Some(_) => Err(Error::unsupported(too_many(name))),
            None => Err(Error::unsupported(format!("{} of a width that is an argument", name.to_ascii_uppercase()))),
        };
    }
    if templates::is_volatile(text) {
        return Err(Error::unsupported(format!("{} of a text that is another each time", name.to_ascii_uppercase())));
    }
    let most = compose::number(i64::try_from(GENERATED_MAX).unwrap_or(i64::MAX));
    let taken = take_expr(text);
    *text = templates::fill(&format!("_{name}"), &mut [taken, most, compose::text(too_many(name))], context)?;
    Ok(())
}

/// How many letters of one text an edit distance may compare with those of another: each with each.
const COMPARED_MAX: usize = 250_000;

/// No row may take longer than all of a chunk together may.
fn bound_letters(name: &str, mut args: Vec<&mut Expr>, context: &mut Context<'_>) -> Result<(), Error> {
    let [one, other, ..] = args.as_mut_slice() else { return Ok(()) };
    let too_long = || format!("{} of texts whose lengths multiply to over {COMPARED_MAX}", name.to_ascii_uppercase());
    if let (Some(one), Some(other)) = (compose::literal(one), compose::literal(other)) {
        let fits = one.len().saturating_mul(other.len()) <= COMPARED_MAX;
        return if fits { Ok(()) } else { Err(Error::unsupported(too_long())) };
    }
    if templates::is_volatile(one) || templates::is_volatile(other) {
        return Err(Error::unsupported(format!("{} of a text that is another each time", name.to_ascii_uppercase())));
    }
    context.copy(templates::size(one) + templates::size(other))?;
    let bytes = |text: &Expr| compose::call("strlen", [text.clone()]);
    let product = compose::binary(bytes(one), BinaryOperator::Multiply, bytes(other));
    let most = compose::number(i64::try_from(COMPARED_MAX).unwrap_or(i64::MAX));
    let is_long = compose::binary(product, BinaryOperator::Gt, most);
    refuse_where(is_long, one, too_long(), context);
    Ok(())
}

/// How many lists and objects JSON may hold, in one another or not, where a function follows it down by recursion:
/// 20,000 objects in one another end the engine's process (1.5.5).
const NESTED_MAX: usize = 5_000;

fn bound_depth<'a>(
    name: &str,
    args: impl Iterator<Item = &'a mut Expr>,
    context: &mut Context<'_>,
) -> Result<(), Error> {
    let too_deep = || format!("{} of JSON with more than {NESTED_MAX} lists and objects", name.to_ascii_uppercase());
    for arg in args {
        if let Some(literal) = compose::literal(arg) {
            let opened = literal.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
            if opened > NESTED_MAX {
                return Err(Error::unsupported(too_deep()));
            }
            continue;
        }
        if templates::is_volatile(arg) {
            let what = format!("{} of a value that is another each time", name.to_ascii_uppercase());
            return Err(Error::unsupported(what));
        }
        context.copy(2 * templates::size(arg))?;
        let text = compose::cast(arg.clone(), DataType::Varchar(None));
        let without = compose::call("translate", [text.clone(), compose::text("[{"), compose::text("")]);
        let bytes = |text: Expr| compose::call("strlen", [text]);
        let opened = compose::binary(bytes(text), BinaryOperator::Minus, bytes(without));
        let most = compose::number(i64::try_from(NESTED_MAX).unwrap_or(i64::MAX));
        let is_deep = compose::binary(opened, BinaryOperator::Gt, most);
        refuse_where(is_deep, arg, too_deep(), context);
    }
    Ok(())
}

/// A list of moments: from one to another in steps, which may be small ones.
fn bound_steps(name: &str, args: Vec<&mut Expr>, context: &mut Context<'_>) -> Result<(), Error> {
    let Ok([from, to, step]) = <[&mut Expr; 3]>::try_from(args) else { return Ok(()) };
    let is_moment = |expr: &Expr, context: &mut Context<'_>| {
        matches!(context.type_of(expr), Type::Date | Type::Timestamp | Type::TimestampTz)
    };
    if !is_moment(from, context) && !is_moment(to, context) {
        return Ok(());
    }
    if [&*from, &*to, &*step].into_iter().any(templates::is_volatile) {
        return Err(Error::unsupported(format!("{} of moments that are others each time", name.to_ascii_uppercase())));
    }
    context.copy(templates::size(from) + 2 * templates::size(to) + templates::size(step))?;
    let seconds = |expr: &Expr| compose::call("epoch", [expr.clone()]);
    let distance = compose::binary(seconds(to), BinaryOperator::Minus, seconds(from));
    let most = i64::try_from(GENERATED_MAX).unwrap_or(i64::MAX);
    let reach = compose::binary(seconds(step), BinaryOperator::Multiply, compose::number(most));
    let is_far = compose::binary(compose::call("abs", [distance]), BinaryOperator::Gt, compose::call("abs", [reach]));
    refuse_where(is_far, to, too_many(name), context);
    Ok(())
}

/// The argument, where it is not too much; the engine raises the refusal for the row that asks for more.
fn refuse_where(is_too_much: Expr, argument: &mut Expr, why: String, context: &mut Context<'_>) {
    context.repeats = true;
    let refusal = compose::call("error", [compose::text(why)]);
    let taken = take_expr(argument);
    *argument = compose::case(None, vec![(is_too_much, refusal)], Some(taken));
}

/// Whether it makes the numbers or moments from one to another.
fn is_series(name: &str) -> bool {
    catalogue::is_table_function(name) && !catalogue::sizes(name).is_empty()
}
