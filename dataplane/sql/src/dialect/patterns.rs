//! LIKE and ILIKE, as long as their text and pattern are and no longer.
//!
//! The engine goes back to every `%` of a pattern, so its time grows by a power for each of them. It does not where
//! it knows the pattern beforehand and no `_` stands in it, nor where a pattern has but one `%` to go back to. Whatever
//! else is asked, `sluice_like` of the engine's process answers: it goes back to the last one.

use sqlparser::ast::Expr;

use super::call::take_expr;
use super::compose;
use crate::ast::error::Error;
use crate::ast::names;
use crate::functions::catalogue::{self, FunctionKind};
use crate::functions::host::LIKE;

/// The same of whatever is asked; by a name of the engine's it is refused.
pub(super) fn check(expr: &mut Expr) -> Result<(), Error> {
    if let Expr::Function(function) = expr
        && let Some(known) = names::single(&function.name).and_then(|name| catalogue::find(&name.value))
        && known.is(FunctionKind::Operator)
    {
        return Err(Error::unsupported_function(known.name));
    }
    bound(expr);
    Ok(())
}

/// Puts what does not take long in the place of a LIKE that might.
pub(super) fn bound(expr: &mut Expr) {
    let (is_exact, negated, text, pattern, escape) = match expr {
        Expr::Like { negated, any: false, expr, pattern, escape_char } => (true, *negated, expr, pattern, escape_char),
        Expr::ILike { negated, any: false, expr, pattern, escape_char } => {
            (false, *negated, expr, pattern, escape_char)
        }
        _ => return,
    };
    if let Some(literal) = compose::literal(pattern) {
        let sign = escape.as_deref().map_or(Some(""), compose::literal).map(str::to_owned);
        escape.take_if(|_| sign.as_ref().is_some_and(|sign| sign.len() == 1 && !literal.contains(sign)));
        let is_plain = is_exact && escape.is_none() && !literal.contains('_');
        if is_plain || sign.is_some_and(|sign| returns(literal, &sign) <= 1) {
            return;
        }
    }
    let cased = |one: Expr| if is_exact { one } else { compose::call("lower", [one]) };
    let sign = escape.as_deref_mut().map_or_else(|| compose::text(""), take_expr);
    let like = compose::call(LIKE, [cased(take_expr(text)), cased(take_expr(pattern)), sign]);
    *expr = if negated { super::text::not(like) } else { like };
}

/// To how many `%` of a pattern the engine goes back: one at the end is for whatever is left.
fn returns(pattern: &str, escape: &str) -> usize {
    let escape = escape.chars().next();
    let mut signs = pattern.chars();
    let (mut found, mut is_within) = (0, false);
    while let Some(sign) = signs.next() {
        let is_any = sign == '%';
        if Some(sign) == escape {
            signs.next();
        }
        found += usize::from(is_any && !is_within);
        is_within = is_any;
    }
    found - usize::from(is_within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_signs_is_one_and_the_last_one_none() {
        let known = [("", 0), ("a", 0), ("a%", 0), ("%", 0), ("%a", 1), ("%a%", 1), ("a%%b", 1), ("%a%b", 2)];
        for (pattern, count) in known {
            assert_eq!(returns(pattern, ""), count, "{pattern}");
        }
        assert_eq!(returns(r"%a\%b%c", r"\"), 2);
        assert_eq!(returns("%%a_%b%%", ""), 2);
    }
}
