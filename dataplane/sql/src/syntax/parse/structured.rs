//! `OBJECT(a INT, b VARCHAR)` and `ARRAY(INT)`: columns whose members are declared.
//!
//! Both are JSON here, which declares none, so the parser crate gets the name alone. A cast to such a type reads the
//! members as theirs: it is one to the engine's list or struct, and from there to a variant.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{is, made};

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

/// `x::ARRAY(INT)` as `x::INT[]::VARIANT`, `CAST(x AS OBJECT(a INT))` as `CAST(x AS STRUCT(a INT))::VARIANT`.
pub(super) fn cast(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_cast = |at: usize| {
        let opens = tokens.get(at + 2).is_some_and(|next| next.token == Token::LParen);
        opens && is_name(tokens.get(at + 1)) && matches!(tokens.get(at), Some(before) if is_before_cast(&before.token))
    };
    if !(0..tokens.len()).any(is_cast) {
        return tokens;
    }
    let mut cast: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut calls: Vec<bool> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.token {
            Token::LParen => calls.push(cast.last().is_some_and(|before| is_cast_call(&before.token))),
            Token::RParen => _ = calls.pop(),
            _ => {}
        }
        let in_call = is(&token.token, Keyword::AS) && calls.last() == Some(&true);
        let read = if is_cast(at) && (in_call || token.token == Token::DoubleColon) {
            of_engine(&tokens, at + 1)
        } else {
            None
        };
        cast.push(token.clone());
        at += 1;
        let Some((kind, next)) = read else { continue };
        cast.extend(kind);
        at = next;
        if in_call && let Some(end) = tokens.get(at) {
            cast.push(end.clone());
            calls.pop();
            at += 1;
        }
        cast.extend([TokenWithSpan::wrap(Token::DoubleColon), made("VARIANT")]);
    }
    cast
}

fn is_before_cast(token: &Token) -> bool {
    *token == Token::DoubleColon || is(token, Keyword::AS)
}

fn is_cast_call(token: &Token) -> bool {
    is(token, Keyword::CAST) || is(token, Keyword::TRY_CAST)
}

/// The engine's type for the one that begins here, and where it ends; nothing for what is none.
#[recursive::recursive]
fn of_engine(tokens: &[TokenWithSpan], at: usize) -> Option<(Vec<TokenWithSpan>, usize)> {
    let token = |at: usize| tokens.get(at).map(|token| &token.token);
    let wrap = TokenWithSpan::wrap;
    let first = tokens.get(at).filter(|first| matches!(first.token, Token::Word(_)))?;
    let is_array = matches!(&first.token, Token::Word(word) if word.value.eq_ignore_ascii_case("array"));
    if !is_name(Some(first)) || token(at + 1) != Some(&Token::LParen) {
        return plain_type(tokens, at);
    }
    if is_array {
        let (mut kind, end) = of_engine(tokens, at + 2)?;
        let end = without_null(tokens, end);
        kind.extend([wrap(Token::LBracket), wrap(Token::RBracket)]);
        return (token(end) == Some(&Token::RParen)).then_some((kind, end + 1));
    }
    let mut kind = vec![made("STRUCT"), wrap(Token::LParen)];
    let mut at = at + 2;
    loop {
        kind.push(tokens.get(at).filter(|name| matches!(name.token, Token::Word(_)))?.clone());
        let (member, end) = of_engine(tokens, at + 1)?;
        kind.extend(member);
        at = without_null(tokens, end);
        kind.push(tokens.get(at)?.clone());
        match token(at)? {
            Token::Comma => at += 1,
            Token::RParen => return Some((kind, at + 1)),
            _ => return None,
        }
    }
}

/// A word, and its sizes in brackets.
fn plain_type(tokens: &[TokenWithSpan], at: usize) -> Option<(Vec<TokenWithSpan>, usize)> {
    let sized = tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen);
    let end = match tokens.get(at..)?.iter().position(|token| token.token == Token::RParen) {
        Some(length) if sized => at + length + 1,
        _ => at + 1,
    };
    Some((tokens.get(at..end)?.to_vec(), end))
}

/// Behind `NOT NULL`.
fn without_null(tokens: &[TokenWithSpan], at: usize) -> usize {
    let is_at = |at: usize, keyword| tokens.get(at).is_some_and(|token| is(&token.token, keyword));
    if is_at(at, Keyword::NOT) && is_at(at + 1, Keyword::NULL) { at + 2 } else { at }
}

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
    fn a_cast_reads_the_members() {
        let cases = [
            ("SELECT x::ARRAY(VARCHAR)[0]", "SELECT x::VARCHAR[]::VARIANT[0]"),
            ("SELECT CAST(x AS ARRAY(NUMBER(9, 2) NOT NULL))", "SELECT CAST(x AS NUMBER(9, 2)[])::VARIANT"),
            (
                "SELECT x::OBJECT(a INT NOT NULL, b ARRAY(ARRAY(INT))), 1",
                "SELECT x::STRUCT(a INT, b INT[][])::VARIANT, 1",
            ),
            ("SELECT array(1), x AS array", "SELECT array(1), x AS array"),
        ];
        for (written, read) in cases {
            let found = parse(written).map(|statement| statement.redacted());
            let whole = parse(read).map(|statement| statement.redacted());
            assert_eq!(found, whole, "{written}");
        }
    }

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
