//! What PostgreSQL matches by: `~`, which finds a pattern anywhere where the engine's is of the whole text, the
//! operators of LIKE, and SIMILAR TO, whose patterns are the standard's and to the engine regular expressions.

use sqlparser::ast::{BinaryOperator, Expr};

use super::call::take_expr;
use super::text::not;
use super::{Context, Done, compose};
use crate::error::Error;

pub(super) fn rewrite(expr: &mut Expr, _: &mut Context<'_>) -> Result<Done, Error> {
    use BinaryOperator as B;
    let matched = match expr {
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (left.as_mut(), right.as_mut());
            match op {
                B::PGRegexMatch => found(left, right, ""),
                B::PGRegexIMatch => found(left, right, "i"),
                B::PGRegexNotMatch => not(found(left, right, "")),
                B::PGRegexNotIMatch => not(found(left, right, "i")),
                B::PGLikeMatch => like(left, right, false),
                B::PGILikeMatch => ilike(left, right, false),
                B::PGNotLikeMatch => like(left, right, true),
                B::PGNotILikeMatch => ilike(left, right, true),
                _ => return Ok(Done::No),
            }
        }
        Expr::SimilarTo { negated, expr: text, pattern, escape_char: None } => {
            let written =
                compose::literal(pattern).ok_or_else(|| Error::unsupported("SIMILAR TO a computed pattern"))?;
            let pattern = compose::text(regular(written));
            let similar = compose::call("regexp_full_match", [take_expr(text), pattern, compose::text("s")]);
            if *negated { not(similar) } else { similar }
        }
        _ => return Ok(Done::No),
    };
    *expr = matched;
    Ok(Done::Yes)
}

fn found(text: &mut Expr, pattern: &mut Expr, options: &str) -> Expr {
    let options = (!options.is_empty()).then(|| compose::text(options));
    compose::call("regexp_matches", [take_expr(text), take_expr(pattern)].into_iter().chain(options))
}

fn like(text: &mut Expr, pattern: &mut Expr, negated: bool) -> Expr {
    let (expr, pattern) = (Box::new(take_expr(text)), Box::new(take_expr(pattern)));
    Expr::Like { negated, any: false, expr, pattern, escape_char: None }
}

fn ilike(text: &mut Expr, pattern: &mut Expr, negated: bool) -> Expr {
    let (expr, pattern) = (Box::new(take_expr(text)), Box::new(take_expr(pattern)));
    Expr::ILike { negated, any: false, expr, pattern, escape_char: None }
}

/// The regular expression of a pattern of SIMILAR TO: `%` and `_` are of it, `.`, `^` and `$` are themselves, a
/// backslash takes the meaning from what is behind it.
fn regular(pattern: &str) -> String {
    let mut made = String::with_capacity(pattern.len() + 8);
    let (mut signs, mut is_in_set) = (pattern.chars(), false);
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => {
                let meant = signs.next().unwrap_or('\\');
                if !meant.is_alphanumeric() {
                    made.push('\\');
                }
                made.push(meant);
            }
            '%' if !is_in_set => made.push_str(".*"),
            '_' if !is_in_set => made.push('.'),
            '.' | '^' | '$' if !is_in_set => made.extend(['\\', sign]),
            _ => {
                is_in_set = if is_in_set { sign != ']' } else { sign == '[' };
                made.push(sign);
            }
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_the_standard_becomes_a_regular_expression() {
        for (pattern, expected) in [
            ("Al%", "Al.*"),
            ("_b_", ".b."),
            ("(a|b)+c{2}", "(a|b)+c{2}"),
            ("a.b$", r"a\.b\$"),
            (r"10\%\_\d", r"10\%\_d"),
            ("[^%_.]%", "[^%_.].*"),
            (r"a\", r"a\\"),
        ] {
            assert_eq!(regular(pattern), expected, "{pattern}");
        }
    }
}
