//! Numbers. Division by zero is error 22012, where the engine answers infinity or NULL.
//!
//! `a / b` becomes `a / CASE b WHEN 0 THEN error('division by zero') ELSE b END`. `error` is denied to
//! callers, so its message can only be ours, and the data plane makes 22012 of it. A divisor that is a
//! literal other than zero, or `nullif(…, 0)`, stays as it is.

use sqlparser::ast::{
    BinaryOperator, CeilFloorKind, DataType, DateTimeField, Expr, Function, FunctionArg, FunctionArguments, Value,
};

use super::call::{Handler, exactly, expressions, plain, take_expr};
use super::{Context, Done, compose, templates};
use crate::ast::call::arguments;
use crate::ast::error::Error;
use crate::bind::types::digits::{Digits, digits_of};
use crate::functions::types::Type;
use crate::functions::types::exact::DIGITS_MAX;
use crate::print::asked::parameter;

pub(super) const CALLS: &[(&[&str], Handler)] =
    &[(&["ceil", "ceiling", "floor"], to_digits), (&["div0", "div0null"], quotient_or_zero), (&["round"], round)];

/// Digits behind the point of a quotient of whole numbers.
const SCALE: i64 = 6;

/// `DIV0(a, b)`: of whole numbers it is exact, with six digits behind the point.
fn quotient_or_zero(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = compose::bare_name(&function.name).unwrap_or_default();
    let mut args: [Expr; 2] = exactly(&name, plain(function)?)?;
    let is_whole = |value: &Expr| context.type_of(value) == Type::Integer || compose::is_null(value);
    let is_exact = args.iter().all(is_whole);
    let quotient = templates::fill(&format!("_{name}"), &mut args, context)?;
    Ok(if is_exact { compose::cast(quotient, compose::decimal(SCALE)) } else { quotient })
}

/// `CEIL(x, -1)`, which the parser takes for a call.
fn to_digits(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = compose::bare_name(&function.name).unwrap_or_default();
    let mut args = plain(function)?;
    let digits = if args.len() == 2 { args.pop() } else { None };
    match (<[Expr; 1]>::try_from(args), digits) {
        (Ok([value]), Some(digits)) => to_scale(&name, value, digits, context),
        (Ok([value]), None) if is_whole(&value, context) => Ok(value),
        (Ok([value]), None) => Ok(compose::call(&name, [value])),
        (Err(args), _) => Ok(compose::call(&name, args)),
    }
}

/// Whether it is a number without digits behind the point: a DOUBLE, which the engine makes of it, has 53 bits.
fn is_whole(value: &Expr, context: &Context<'_>) -> bool {
    digits_of(value, &context.scopes).is_some_and(|digits| digits.scale == 0)
}

/// `CEIL(x, n)` and `FLOOR(x, n)`: exact where it is known how many digits the number has, else of floating point.
fn to_scale(name: &str, value: Expr, count: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    let is_floor = name == "floor";
    let kept = compose::integer(&count).and_then(|kept| usize::try_from(kept).ok());
    if let (Some(Digits { whole, scale }), Some(kept)) = (digits_of(&value, &context.scopes), kept) {
        let engine = if is_floor { "floor" } else { "ceil" };
        let number = |digits: String| Expr::value(Value::Number(digits, false));
        if kept >= usize::from(scale) {
            return Ok(value);
        }
        if kept == 0 {
            return Ok(compose::call(engine, [value]));
        }
        if usize::from(whole + scale) + kept < usize::from(DIGITS_MAX) {
            let zeros = "0".repeat(kept);
            // a product of shorter numbers has 18 digits
            let wide = compose::cast(value, compose::decimal(scale.into()));
            let moved = compose::binary(wide, BinaryOperator::Multiply, number(format!("1{zeros}")));
            let unit = number(format!("0.{}1", zeros.get(1..).unwrap_or_default()));
            return Ok(compose::binary(compose::call(engine, [moved]), BinaryOperator::Multiply, unit));
        }
    }
    templates::fill(if is_floor { "_floor" } else { "_ceil" }, &mut [value, count], context)
}

/// The number of digits, which the engine wants whole.
pub(super) fn whole(digits: Expr) -> Expr {
    if compose::integer(&digits).is_some() { digits } else { compose::cast(digits, DataType::Integer(None)) }
}

/// `ROUND(EXPR => x, SCALE => n, ROUNDING_MODE => m)` by place.
fn by_place(mut function: Function) -> Function {
    const PLACES: [&str; 3] = ["expr", "scale", "rounding_mode"];
    let FunctionArguments::List(list) = &mut function.args else { return function };
    let place = |argument: &FunctionArg| match argument {
        FunctionArg::Named { name, .. } => PLACES.iter().position(|place| name.value.eq_ignore_ascii_case(place)),
        _ => None,
    };
    let places: Option<Vec<usize>> = list.args.iter().map(place).collect();
    let Some(mut places) = places else { return function };
    list.args.sort_by_key(|argument| place(argument));
    places.sort_unstable();
    if places.into_iter().eq(0..list.args.len()) {
        for argument in &mut list.args {
            if let FunctionArg::Named { arg, .. } = argument {
                *argument = FunctionArg::Unnamed(arg.clone());
            }
        }
    }
    function
}

/// `ROUND(x, n, 'HALF_TO_EVEN')`; without the word, half is away from zero, as in the engine.
fn round(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(by_place(function))?;
    let mode = if args.len() == 3 { args.pop() } else { None };
    if let [value, digits] = args.as_mut_slice()
        && compose::integer(digits).map_or_else(|| parameter(digits).is_some(), |digits| digits < 0)
        && context.type_of(value) != Type::Double
    {
        // the engine rounds within the digits of the number's type, and what is carried beyond them is lost
        *value = templates::fill("_as_wide", &mut [take_expr(value)], context)?;
    }
    if args.len() == 2 {
        args = args.into_iter().enumerate().map(|(place, arg)| if place == 1 { whole(arg) } else { arg }).collect();
    }
    let Some(mode) = mode else {
        return Ok(compose::call("round", args));
    };
    match compose::literal(&mode).map(str::to_ascii_uppercase).as_deref() {
        Some("HALF_AWAY_FROM_ZERO") => Ok(compose::call("round", args)),
        Some("HALF_TO_EVEN") => Ok(compose::call("round_even", args)),
        _ => Err(Error::unsupported("ROUND in a mode other than HALF_AWAY_FROM_ZERO and HALF_TO_EVEN")),
    }
}

/// The message the engine answers, word for word.
pub const MESSAGE: &str = "division by zero";

/// `/`, `%` and `mod`; `CEIL` and `FLOOR` to a number of digits.
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::Divide, right } if is_long_quotient(left, right, context) => {
            let (dividend, divisor) = (take_expr(left), take_expr(right));
            let mut guarded = divisor.clone();
            guard(&mut guarded, context)?;
            *expr = templates::fill("_long_quotient", &mut [dividend, divisor, guarded], context)?;
        }
        Expr::BinaryOp { op: BinaryOperator::Divide | BinaryOperator::Modulo, right, .. } => guard(right, context)?,
        // whole numbers have 38 digits in the warehouse, and 64 bits in the engine
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply, right }
            if compose::integer(left).is_some() && compose::integer(right).is_some() =>
        {
            if compose::integer(expr).is_none()
                && let Expr::BinaryOp { left, .. } = expr
            {
                **left = compose::cast(take_expr(left), DataType::HugeInt);
            }
        }
        Expr::Function(function) if compose::is_call_of(function, "mod") => {
            if let Some(divisor) = expressions(function).nth(1) {
                guard(divisor, context)?;
            }
        }
        Expr::Ceil { expr: value, field: CeilFloorKind::Scale(digits) } => {
            let (value, digits) = (take_expr(value), Expr::Value(digits.clone()));
            *expr = to_scale("ceil", value, digits, context)?;
        }
        Expr::Floor { expr: value, field: CeilFloorKind::Scale(digits) } => {
            let (value, digits) = (take_expr(value), Expr::Value(digits.clone()));
            *expr = to_scale("floor", value, digits, context)?;
        }
        Expr::Ceil { expr: value, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) }
        | Expr::Floor { expr: value, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) }
            if is_whole(value, context) =>
        {
            *expr = take_expr(value);
        }
        _ => return Ok(Done::No),
    }
    Ok(Done::Yes)
}

/// Whether a whole number that may have more digits than a BIGINT is divided by another one.
///
/// The engine would divide them as floating point, which loses the last digits. In the warehouse the quotient has six
/// digits behind the point.
fn is_long_quotient(dividend: &Expr, divisor: &Expr, context: &Context<'_>) -> bool {
    const OF_BIGINT: u16 = 19;
    let whole = |value: &Expr| digits_of(value, &context.scopes).filter(|digits| digits.scale == 0);
    whole(dividend).is_some_and(|digits| digits.whole > OF_BIGINT)
        && whole(divisor).is_some()
        && ![dividend, divisor].into_iter().any(templates::is_volatile)
}

fn guard(divisor: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    if is_never_zero(divisor) {
        return Ok(());
    }
    let taken = take_expr(divisor);
    *divisor = templates::fill("_divisor", &mut [taken], context)?;
    Ok(())
}

fn is_never_zero(divisor: &Expr) -> bool {
    match divisor {
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => is_never_zero(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => {
                digits.chars().take_while(|c| !matches!(c, 'e' | 'E')).any(|c| matches!(c, '1'..='9'))
            }
            Value::Null => true,
            _ => false,
        },
        Expr::Function(function) if compose::is_call_of(function, "nullif") => {
            arguments(function).nth(1).is_some_and(|unwanted| compose::integer(unwanted) == Some(0))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::MESSAGE;

    #[test]
    fn the_template_raises_the_message_the_data_plane_knows() {
        assert!(include_str!("templates.txt").contains(&format!("error('{MESSAGE}')")));
    }
}
