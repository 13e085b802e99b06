//! `CREATE OR REPLACE SEQUENCE`, for which the parser crate has no form.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::TokenWithSpan;

use super::is;

/// The tokens of such a statement without `OR REPLACE`.
pub(super) fn without_replace(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let words = [Keyword::CREATE, Keyword::OR, Keyword::REPLACE, Keyword::SEQUENCE];
    let begins = words.iter().zip(tokens).filter(|(word, token)| is(&token.token, **word)).count() == words.len();
    let kept = tokens.iter().enumerate().filter(|(place, _)| !matches!(place, 1 | 2));
    begins.then(|| kept.map(|(_, token)| token.clone()).collect())
}
