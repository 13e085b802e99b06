//! Sums of numbers with 38 digits. The engine checks each number that it adds to one, but not the parts of it that it adds
//! apart, as threads and arms of UNION ALL do: their sum overflows silently (duckdb/duckdb#24081).

use sqlparser::ast::{BinaryOperator, Expr, Value};

use super::call::{expressions, take_expr};
use super::{Context, compose, templates, types};
use crate::ast::call::arguments;
use crate::ast::error::Error;
use crate::bind::types::digits::digits_of;
use crate::functions::types::Type;
use crate::functions::types::exact::DIGITS_MAX;

/// Puts a sum that is an error where it does not fit in the place of one that would be another number.
///
/// The same sum of floating point says how large it is: what it says wrongly is less than the margin of the limit.
pub(super) fn check(expr: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    let Some(scale) = longest(expr, context) else { return Ok(()) };
    let Expr::Function(function) = &*expr else { return Ok(()) };
    context.copy(templates::size(expr))?;
    let mut rough = function.clone();
    expressions(&mut rough).take(1).for_each(|number| *number = compose::cast(take_expr(number), types::double()));
    let size = compose::call("abs", [Expr::Function(rough)]);
    let limit = Expr::value(Value::Number(format!("12e{}", DIGITS_MAX - 1 - scale), false));
    let is_beyond = compose::binary(size, BinaryOperator::GtEq, limit);
    let sum = take_expr(expr);
    *expr = compose::case(None, vec![(is_beyond, overflow(scale))], Some(sum));
    Ok(())
}

/// The sum itself, for PIVOT, which takes calls alone.
pub(super) fn unchecked(aggregate: &mut Expr) {
    if let Expr::Case { operand: None, else_result: Some(sum), .. } = aggregate
        && is_sum(sum)
    {
        *aggregate = take_expr(sum);
    }
}

/// The digits behind the point, of a sum of numbers that may have all digits of a DECIMAL.
fn longest(expr: &Expr, context: &Context<'_>) -> Option<u16> {
    let Expr::Function(function) = expr else { return None };
    if !is_sum(expr) {
        return None;
    }
    let number = arguments(function).next()?;
    let digits = digits_of(number, &context.scopes).filter(|digits| digits.whole + digits.scale >= DIGITS_MAX)?;
    let is_checked = context.type_of(number) == Type::Decimal && digits.scale < DIGITS_MAX;
    (is_checked && !templates::is_volatile(expr)).then_some(digits.scale)
}

fn is_sum(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if compose::is_call_of(function, "sum"))
}

/// A sum of two numbers that the engine finds out of range, of the type of the sum.
fn overflow(scale: u16) -> Expr {
    let nines = "9".repeat(usize::from(DIGITS_MAX - scale));
    let greatest = || compose::cast(compose::text(nines.as_str()), compose::decimal(scale.into()));
    compose::binary(greatest(), BinaryOperator::Plus, greatest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pivot_is_given_the_sum_itself() {
        let given = |text: &str| {
            let mut aggregate = crate::syntax::parse::expression(text).expect("an expression");
            unchecked(&mut aggregate);
            aggregate.to_string()
        };
        assert_eq!(given("CASE WHEN abs(sum(n)) >= 12 THEN 1 + 1 ELSE sum(n) END"), "sum(n)");
        for other in ["sum(n)", "CASE WHEN a THEN 1 ELSE max(n) END", "max(n)"] {
            assert_eq!(given(other), other);
        }
    }
}
