//! Pattern operators of PostgreSQL: `~`, which finds a pattern anywhere where the engine's is of the whole text, the
//! operators of LIKE, and SIMILAR TO, whose patterns are the standard's and to the engine regular expressions.

use sqlparser::ast::{BinaryOperator, Expr};

use super::call::take_expr;
use super::text::not;
use super::{Context, Done, compose, patterns};
use crate::ast::error::Error;

pub(super) fn rewrite(expr: &mut Expr, _: &mut Context<'_>) -> Result<Done, Error> {
    let (mut matched, is_negated) = match expr {
        Expr::BinaryOp { left, op, right } => {
            let Some(sign) = sign(op) else { return Ok(Done::No) };
            let Some(matched) = matched(left, sign.trim_start_matches('!'), right) else {
                return Ok(Done::No);
            };
            (matched, sign.starts_with('!'))
        }
        Expr::SimilarTo { negated, expr: text, pattern, escape_char: None } => {
            let written =
                compose::literal(pattern).ok_or_else(|| Error::unsupported("SIMILAR TO a computed pattern"))?;
            let pattern = compose::text(regular(written));
            (compose::call("regexp_full_match", [take_expr(text), pattern, compose::text("s")]), *negated)
        }
        _ => return Ok(Done::No),
    };
    patterns::bound(&mut matched);
    *expr = if is_negated { not(matched) } else { matched };
    Ok(Done::Yes)
}

/// The sign of an operator that may be one on patterns.
fn sign(op: &BinaryOperator) -> Option<&str> {
    use BinaryOperator as B;
    Some(match op {
        B::PGRegexMatch => "~",
        B::PGRegexIMatch => "~*",
        B::PGRegexNotMatch => "!~",
        B::PGRegexNotIMatch => "!~*",
        B::PGLikeMatch => "~~",
        B::PGILikeMatch => "~~*",
        B::PGNotLikeMatch => "!~~",
        B::PGNotILikeMatch => "!~~*",
        B::Custom(sign) => sign.as_str(),
        _ => return None,
    })
}

/// What an operator on patterns asks, by its sign without the negation. A regular expression is found anywhere.
pub(crate) fn matched(left: &Expr, sign: &str, right: &Expr) -> Option<Expr> {
    let sides = || (left.clone(), right.clone());
    Some(match sign {
        "~" => compose::call("regexp_matches", <[Expr; 2]>::from(sides())),
        "~*" => compose::call("regexp_matches", <[Expr; 2]>::from(sides()).into_iter().chain([compose::text("i")])),
        "~~" => like(sides(), false),
        "~~*" => like(sides(), true),
        _ => return None,
    })
}

fn like((expr, pattern): (Expr, Expr), any_case: bool) -> Expr {
    let (expr, pattern, escape_char) = (Box::new(expr), Box::new(pattern), Some(Box::new(compose::text("\\"))));
    if any_case {
        Expr::ILike { negated: false, any: false, expr, pattern, escape_char }
    } else {
        Expr::Like { negated: false, any: false, expr, pattern, escape_char }
    }
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
