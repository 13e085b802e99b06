//! Rewrites that walk over a tree, as far as the tokens of a statement tell that it may need them.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::syntax::parse::is;

/// The function that a rewrite of its own is for.
pub(crate) const CHANGE_EVENT: &str = "conditional_change_event";

/// A set of rewrites: one that a statement needs is always in it, one that is in it may find nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rewrites(u8);

impl Rewrites {
    /// What is asked for where the tokens are not at hand.
    pub const ALL: Self = Self(u8::MAX);
    /// `a.id = b.id (+)`.
    pub const OUTER_JOINS: Self = Self(1);
    /// `CONDITIONAL_CHANGE_EVENT(x) OVER (…)`.
    pub const CHANGE_EVENTS: Self = Self(2);
    /// `f(*)` and `f(t.*)`, but for `COUNT(*)`.
    pub const WHOLE_ROWS: Self = Self(4);
    /// `[1, 2]`, `{'a': 1}` and `1e3`.
    pub const CONSTANTS: Self = Self(8);

    pub fn of(tokens: &[TokenWithSpan]) -> Self {
        let needed = tokens.iter().enumerate().map(|(at, TokenWithSpan { token, .. })| match token {
            Token::Plus if is_at(tokens, at + 1, |behind| *behind == Token::RParen) => Self::OUTER_JOINS.0,
            Token::Word(word) if word.value.eq_ignore_ascii_case(CHANGE_EVENT) => Self::CHANGE_EVENTS.0,
            Token::Mul if stands_for_a_row(tokens, at) => Self::WHOLE_ROWS.0,
            Token::LBracket | Token::LBrace => Self::CONSTANTS.0,
            Token::Number(digits, _) if digits.contains(['e', 'E']) => Self::CONSTANTS.0,
            _ => 0,
        });
        Self(needed.fold(0, |all, one| all | one))
    }

    pub fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }
}

fn is_at(tokens: &[TokenWithSpan], at: usize, is_one: impl FnOnce(&Token) -> bool) -> bool {
    tokens.get(at).is_some_and(|token| is_one(&token.token))
}

/// Whether this `*` may be all that a function is given; `COUNT(*)` is read as it is.
fn stands_for_a_row(tokens: &[TokenWithSpan], at: usize) -> bool {
    let (Some(before), counted) = (at.checked_sub(1), at.checked_sub(2)) else { return false };
    let counts = |token: &Token| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case("count"));
    is_at(tokens, before, |token| match token {
        Token::LParen => counted.is_none_or(|place| !is_at(tokens, place, counts)),
        Token::Period => true,
        other => is(other, Keyword::DISTINCT) || is(other, Keyword::ALL),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::lex;

    #[test]
    fn what_a_statement_may_need_is_told_by_its_tokens() {
        let none = Rewrites(0);
        for (text, needed) in [
            ("select count(*), a * 2, t.a from t where (a + 1) > (2) order by 1", none),
            ("select \"count\"(*), COUNT ( * ) from t", none),
            ("select 1 from a, b where a.id = b.id (+)", Rewrites::OUTER_JOINS),
            ("select Conditional_Change_Event(a) over (order by 1) from t", Rewrites::CHANGE_EVENTS),
            ("select \"conditional_change_event\"(a) from t", Rewrites::CHANGE_EVENTS),
            ("select object_construct(*) from t", Rewrites::WHOLE_ROWS),
            ("select hash(distinct *), (*) from t", Rewrites::WHOLE_ROWS),
            ("select count(t.*) from t", Rewrites::WHOLE_ROWS),
            ("select [1, 2]", Rewrites::CONSTANTS),
            ("select {'a': 1}", Rewrites::CONSTANTS),
            ("select 1.5E3, 1e2", Rewrites::CONSTANTS),
        ] {
            assert_eq!(Rewrites::of(&lex::tokens(text).expect(text)), needed, "{text}");
        }
    }
}
