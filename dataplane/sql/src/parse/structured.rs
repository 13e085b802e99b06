//! `OBJECT(a INT, b VARCHAR)` and `ARRAY(INT)`: columns whose members are declared.
//!
//! Both are JSON here, which declares none, so the parser crate gets the name alone. A cast to such a type is not read:
//! it would change the members.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::is;

/// Words that begin an expression, or a cast, whose members would be read.
const BEFORE_VALUE: [Keyword; 17] = [
    Keyword::AS,
    Keyword::SELECT,
    Keyword::DISTINCT,
    Keyword::ALL,
    Keyword::WHERE,
    Keyword::AND,
    Keyword::OR,
    Keyword::NOT,
    Keyword::ON,
    Keyword::BY,
    Keyword::WHEN,
    Keyword::THEN,
    Keyword::ELSE,
    Keyword::IN,
    Keyword::LIKE,
    Keyword::BETWEEN,
    Keyword::HAVING,
];

/// The tokens without the members of such types.
pub(super) fn plain(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let declares = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let opens = tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen);
        let holds_query = tokens.get(at + 2).is_some_and(|next| is_query(&next.token));
        opens && !holds_query && is_name(tokens.get(at)) && before.is_some_and(|before| is_before_type(&before.token))
    };
    let defines = [Keyword::CREATE, Keyword::ALTER];
    if !tokens.first().is_some_and(|first| defines.iter().any(|word| is(&first.token, *word))) {
        return tokens;
    }
    let begins: Vec<usize> = (0..tokens.len()).filter(|at| declares(*at)).collect();
    if begins.is_empty() {
        return tokens;
    }
    let mut kept = Vec::with_capacity(tokens.len());
    let mut depth = 0_usize;
    for (at, token) in tokens.into_iter().enumerate() {
        let opens = token.token == Token::LParen && (depth > 0 || at > 0 && begins.contains(&(at - 1)));
        let closes = token.token == Token::RParen && depth > 0;
        if depth == 0 && !opens {
            kept.push(token);
        }
        depth = if opens { depth + 1 } else { depth - usize::from(closes) };
    }
    kept
}

fn is_name(token: Option<&TokenWithSpan>) -> bool {
    matches!(token.map(|token| &token.token), Some(Token::Word(word)) if word.quote_style.is_none()
        && (word.value.eq_ignore_ascii_case("object") || word.value.eq_ignore_ascii_case("array")))
}

/// The name of a column.
fn is_before_type(token: &Token) -> bool {
    matches!(token, Token::Word(_)) && !BEFORE_VALUE.iter().any(|word| is(token, *word))
}

fn is_query(token: &Token) -> bool {
    [Keyword::SELECT, Keyword::WITH, Keyword::FROM].iter().any(|word| is(token, *word))
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn members_of_a_column_are_left_out() {
        let cases = [
            ("CREATE TABLE t (a OBJECT(x INT, y ARRAY(INT)), b INT)", "CREATE TABLE t (a OBJECT, b INT)"),
            ("ALTER TABLE t ADD data ARRAY(VARCHAR NOT NULL)", "ALTER TABLE t ADD data ARRAY"),
        ];
        for (written, read) in cases {
            let found = parse(written).map(|statement| statement.redacted());
            let whole = parse(read).map(|statement| statement.redacted());
            assert_eq!(found, whole, "{written}");
        }
    }
}
