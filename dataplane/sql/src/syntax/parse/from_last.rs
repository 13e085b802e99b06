//! `NTH_VALUE(x, n) FROM LAST OVER (…)`, for which the parser crate has no form: it becomes a name of its own.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::is;

/// What `NTH_VALUE(x, n) FROM LAST` is called: the parser crate reads a name and its arguments alone.
pub(crate) const FROM_LAST: &str = "nth_value_from_last";

pub(super) fn named(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while let Some(found) = next(&tokens, at) {
        if let Some(called) = called(&tokens, found).and_then(|place| tokens.get_mut(place)) {
            called.token = Token::make_word(FROM_LAST, None);
            tokens.drain(found..found + 2);
        }
        at = found + 1;
    }
    tokens
}

/// The next `FROM LAST` that stands before a window.
fn next(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let is_at = |at: usize, keyword| tokens.get(at).is_some_and(|token| is(&token.token, keyword));
    let before_window = |at| [Keyword::OVER, Keyword::RESPECT, Keyword::IGNORE].iter().any(|word| is_at(at, *word));
    (from..tokens.len()).find(|at| is_at(*at, Keyword::FROM) && is_at(at + 1, Keyword::LAST) && before_window(at + 2))
}

/// Where `NTH_VALUE` stands, if its brackets close right before this place.
fn called(tokens: &[TokenWithSpan], end: usize) -> Option<usize> {
    let mut open = 0_usize;
    for (place, TokenWithSpan { token, .. }) in tokens.iter().enumerate().take(end).rev() {
        match token {
            Token::RParen => open += 1,
            Token::LParen => open = open.checked_sub(1)?,
            _ => {}
        }
        if open == 0 {
            let name = place.checked_sub(1)?;
            return tokens.get(name).is_some_and(|token| is(&token.token, Keyword::NTH_VALUE)).then_some(name);
        }
    }
    None
}
