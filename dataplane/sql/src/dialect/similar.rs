//! What PostgreSQL matches by: `~`, which finds a pattern anywhere where the engine's is of the whole text, the
//! operators of LIKE, and SIMILAR TO, whose patterns are the standard's and to the engine regular expressions.

use sqlparser::ast::Expr;

use super::call::take_expr;
use super::text::not;
use super::{Context, Done, compose, patterns};
use crate::ast::error::Error;
use crate::compile::postgres;

pub(super) fn rewrite(expr: &mut Expr, _: &mut Context<'_>) -> Result<Done, Error> {
    let (mut matched, is_negated) = match expr {
        Expr::BinaryOp { left, op, right } => {
            let sign = op.to_string();
            let Some(matched) = postgres::matched(left, sign.trim_start_matches('!'), right) else {
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
