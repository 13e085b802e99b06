//! Keys of other systems that a text holds, cut out of what is written down of it.
//!
//! `CREDENTIALS = (…)` and `ENCRYPTION = (…)` are refused wherever they stand. By then the caller has sent them, and the
//! audit keeps the caller's own text.

use std::borrow::Cow;

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::ast::error::Position;
use crate::syntax::lex;
use crate::syntax::parentheses::closing;

const SECRET: [&str; 2] = ["credentials", "encryption"];
const CUT: &str = "(…)";

/// The text with `(…)` in place of what such an option holds; of one that cannot be read, nothing from its name on.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    let Some(first) = SECRET.iter().filter_map(|word| lower.find(word)).min() else {
        return Cow::Borrowed(text);
    };
    match lex::tokens(text) {
        Ok(tokens) => without(text, &tokens),
        Err(_) => Cow::Owned(format!("{}…", text.get(..first).unwrap_or_default())),
    }
}

fn without<'t>(text: &'t str, tokens: &[TokenWithSpan]) -> Cow<'t, str> {
    let mut kept = String::new();
    let (mut place, mut at) = (0, 0);
    while let Some(token) = tokens.get(at) {
        at += 1;
        if !is_secret(&token.token) || tokens.get(at).is_none_or(|next| next.token != Token::Eq) {
            continue;
        }
        let (Some(begin), end) = (tokens.get(at + 1), behind(tokens, at + 1)) else { break };
        let offset = |at| Position::of(text, at).and_then(|place| usize::try_from(place.offset).ok());
        let chars = text.chars().count();
        let from = offset(begin.span.start).map_or(chars, |offset| offset - 1);
        let to = tokens.get(end).and_then(|last| offset(last.span.start)).map_or(chars, |offset| offset - 1);
        kept.extend(text.chars().skip(place).take(from.saturating_sub(place)));
        kept.push_str(CUT);
        kept.push(' ');
        (place, at) = (to, end);
    }
    if place == 0 {
        return Cow::Borrowed(text);
    }
    kept.extend(text.chars().skip(place));
    Cow::Owned(kept.trim_end().to_owned())
}

fn is_secret(token: &Token) -> bool {
    matches!(token, Token::Word(word) if SECRET.iter().any(|secret| word.value.eq_ignore_ascii_case(secret)))
}

/// The place behind a value: one token, or brackets with all that is in them; the end where they are not closed.
fn behind(tokens: &[TokenWithSpan], begin: usize) -> usize {
    tokens.get(begin..).and_then(closing).map_or(tokens.len(), |place| begin + place + 1)
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn what_a_key_may_stand_in_is_cut_out_whatever_is_around_it() {
        let cases = [
            ("CREATE STAGE s CREDENTIALS = (KEY = 'sesame')", "CREATE STAGE s CREDENTIALS = (…)"),
            (
                "create stage s credentials=( k='a)' q=('sesame') ) file_format = f",
                "create stage s credentials=(…) file_format = f",
            ),
            (
                "COPY INTO t FROM 'x' /* ä */ \"Credentials\" /* ) */ = /* ( */ ('sesame') FORCE = TRUE",
                "COPY INTO t FROM 'x' /* ä */ \"Credentials\" /* ) */ = /* ( */ (…) FORCE = TRUE",
            ),
            (
                "CREATE STAGE s ENCRYPTION = (MASTER_KEY = 'sesame') CREDENTIALS = 'sesame' X = 1",
                "CREATE STAGE s ENCRYPTION = (…) CREDENTIALS = (…) X = 1",
            ),
            ("CREATE STAGE s CREDENTIALS = (KEY = 'sesame'", "CREATE STAGE s CREDENTIALS = (…)"),
            ("CREATE STAGE s CREDENTIALS = (KEY = 'sesame", "CREATE STAGE s …"),
            ("SELECT 'credentials = (x)', credentials FROM t", "SELECT 'credentials = (x)', credentials FROM t"),
            ("SELECT 1", "SELECT 1"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_credentials(text), expected);
        }
    }
}
