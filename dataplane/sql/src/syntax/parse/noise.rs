//! Words that the parser crate has no form for, and whose statement means the same without them.
//!
//! `NTH_VALUE(x, 2) FROM FIRST OVER …`, `WITH t AS MATERIALIZED (…)`, `TRIM(FROM x)`, `DESC VIEW v` and
//! `EXPLAIN USING TEXT …` have such words. CREATE SEQUENCE has the `=` of `START = 1`, ORDER, NOORDER and the first WITH.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::is;

/// `CREATE OR REPLACE TEMPORARY SEQUENCE`: the word is among the first.
const SEQUENCE_WITHIN: usize = 5;

/// Whether the tokens make a sequence.
pub(super) fn makes_sequence(tokens: &[TokenWithSpan]) -> bool {
    is_at(tokens, 0, Keyword::CREATE) && (1..SEQUENCE_WITHIN).any(|at| is_at(tokens, at, Keyword::SEQUENCE))
}

/// The tokens without such words.
pub(super) fn removed(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_word = |at, words: &[&str]| is_word(&tokens, at, words);
    let makes_sequence = makes_sequence(&tokens);
    let describes = is_word(0, &["desc", "describe"]) && is_word(1, &["view"]);
    let explains = is_word(0, &["explain"]) && is_word(1, &["using"]) && is_word(2, &["text", "tabular", "json"]);
    let is_of_sequence =
        |at| is_word(at, &["order", "noorder"]) || is_word(at, &["with"]) && is_word(at + 1, &["start", "increment"]);
    let is_noise = |at: usize, token: &Token| match token {
        Token::Eq => makes_sequence,
        Token::Word(word) if word.quote_style.is_none() => {
            let is_in_query = match word.keyword {
                Keyword::FROM => counts_from(&tokens, at) || trims(&tokens, at),
                Keyword::FIRST => at.checked_sub(1).is_some_and(|from| counts_from(&tokens, from)),
                Keyword::NOT | Keyword::MATERIALIZED => is_hint(&tokens, at),
                _ => false,
            };
            is_in_query
                || describes && at == 1
                || explains && (at == 1 || at == 2)
                || makes_sequence && is_of_sequence(at)
        }
        _ => false,
    };
    let found = tokens.iter().enumerate().filter(|(at, token)| is_noise(*at, &token.token)).map(|(at, _)| at);
    let places: Vec<usize> = found.collect();
    if !places.is_empty() {
        let mut at = 0..;
        tokens.retain(|_| at.next().is_none_or(|at| places.binary_search(&at).is_err()));
    }
    tokens
}

fn is_at(tokens: &[TokenWithSpan], at: usize, keyword: Keyword) -> bool {
    tokens.get(at).is_some_and(|token| is(&token.token, keyword))
}

fn is_word(tokens: &[TokenWithSpan], at: usize, words: &[&str]) -> bool {
    let Some(Token::Word(word)) = tokens.get(at).map(|token| &token.token) else { return false };
    word.quote_style.is_none() && words.iter().any(|known| word.value.eq_ignore_ascii_case(known))
}

fn is_token(tokens: &[TokenWithSpan], at: Option<usize>, wanted: &Token) -> bool {
    at.and_then(|at| tokens.get(at)).is_some_and(|token| token.token == *wanted)
}

/// The FROM of `NTH_VALUE(x, 2) FROM FIRST OVER …`.
fn counts_from(tokens: &[TokenWithSpan], at: usize) -> bool {
    let over = [Keyword::OVER, Keyword::RESPECT, Keyword::IGNORE];
    is_at(tokens, at, Keyword::FROM)
        && is_at(tokens, at + 1, Keyword::FIRST)
        && over.iter().any(|next| is_at(tokens, at + 2, *next))
        && is_token(tokens, at.checked_sub(1), &Token::RParen)
}

/// The FROM of `TRIM(FROM x)` and `TRIM(TRAILING FROM x)`.
fn trims(tokens: &[TokenWithSpan], at: usize) -> bool {
    let opens = |by: usize| {
        is_token(tokens, at.checked_sub(by), &Token::LParen) && at > by && is_word(tokens, at - by - 1, &["trim"])
    };
    opens(1) || opens(2) && is_word(tokens, at - 1, &["both", "leading", "trailing"])
}

/// A word that says how a WITH query is to be run, which the warehouse has no words for.
fn is_hint(tokens: &[TokenWithSpan], at: usize) -> bool {
    let hinted = |at: usize| {
        let materializes =
            |at: usize| is_word(tokens, at, &["materialized"]) && is_token(tokens, Some(at + 1), &Token::LParen);
        is_at(tokens, at, Keyword::AS)
            && (materializes(at + 1) || is_at(tokens, at + 1, Keyword::NOT) && materializes(at + 2))
    };
    let before = |by: usize| at.checked_sub(by).is_some_and(hinted);
    before(1) || before(2) && is_at(tokens, at - 1, Keyword::NOT)
}
