//! `a JOIN_VECTOR b ON semantic_match(b.col, a.col)`: a join by meaning.

use sqlparser::keywords::{Keyword, RESERVED_FOR_TABLE_ALIAS};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::ast::error::Error;
use crate::functions::catalogue;

const JOIN: &str = "join_vector";

/// `JOIN_VECTOR` is a join, if its condition compares by meaning. The word is no keyword: in any other
/// place it is a name like others.
pub(super) fn joined(mut tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, Error> {
    let places: Vec<usize> = (1..tokens.len()).filter(|place| joins(&tokens, *place)).collect();
    for place in places {
        // without a condition it is no join, and the parser says what is wrong
        let Some(compares) = tokens.get(place + 1..).and_then(condition) else { continue };
        let Some(token) = tokens.get_mut(place) else { continue };
        if !compares {
            let error = Error::unsupported("JOIN_VECTOR without semantic_match in its condition");
            return Err(error.at(token.span.start));
        }
        token.token = Token::make_keyword("JOIN");
    }
    Ok(tokens)
}

/// Whether the condition of the join that these tokens go on with compares by meaning; none where it has none.
fn condition(tokens: &[TokenWithSpan]) -> Option<bool> {
    let (mut depth, mut on) = (0_usize, false);
    for (place, token) in tokens.iter().enumerate() {
        let calls = matches!(tokens.get(place + 1).map(|next| &next.token), Some(Token::LParen));
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen | Token::Comma | Token::EOF if depth == 0 => break,
            Token::RParen => depth -= 1,
            Token::Word(word) if depth == 0 && word.quote_style.is_none() && word.keyword == Keyword::ON => {
                if on {
                    break;
                }
                on = true;
            }
            Token::Word(word) if on && calls && catalogue::compares_meaning(&word.value) => return Some(true),
            Token::Word(word) if depth == 0 && !calls && word.quote_style.is_none() => {
                let ends = RESERVED_FOR_TABLE_ALIAS.contains(&word.keyword) && word.keyword != Keyword::END;
                if ends || is_word(&token.token, JOIN) {
                    break;
                }
            }
            _ => {}
        }
    }
    on.then_some(false)
}

fn is_word(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// Between a table and a table.
fn joins(tokens: &[TokenWithSpan], place: usize) -> bool {
    let is_table = |token: Option<&TokenWithSpan>, end: &Token| match token.map(|token| &token.token) {
        Some(Token::Word(word)) => {
            let reserved = RESERVED_FOR_TABLE_ALIAS.contains(&word.keyword) || OTHERS.contains(&word.keyword);
            word.quote_style.is_some() || !reserved
        }
        Some(other) => other == end,
        None => false,
    };
    let before = place.checked_sub(1).and_then(|before| tokens.get(before));
    tokens.get(place).is_some_and(|token| is_word(&token.token, JOIN))
        && is_table(before, &Token::RParen)
        && is_table(tokens.get(place + 1), &Token::LParen)
}

/// Words that stand beside a column, not beside a table.
const OTHERS: [Keyword; 16] = [
    Keyword::AND,
    Keyword::OR,
    Keyword::NOT,
    Keyword::AS,
    Keyword::IS,
    Keyword::IN,
    Keyword::LIKE,
    Keyword::ILIKE,
    Keyword::BETWEEN,
    Keyword::CASE,
    Keyword::WHEN,
    Keyword::THEN,
    Keyword::ELSE,
    Keyword::BY,
    Keyword::DISTINCT,
    Keyword::ASC,
];
