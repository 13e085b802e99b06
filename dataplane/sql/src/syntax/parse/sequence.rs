//! Syntax of sequences that the parser crate has no form for: `CREATE OR REPLACE SEQUENCE`, START before INCREMENT.

use std::mem;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::is;

/// The tokens of such a statement without `OR REPLACE`.
pub(super) fn without_replace(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let words = [Keyword::CREATE, Keyword::OR, Keyword::REPLACE, Keyword::SEQUENCE];
    let begins = words.iter().zip(tokens).filter(|(word, token)| is(&token.token, **word)).count() == words.len();
    let kept = tokens.iter().enumerate().filter(|(place, _)| !matches!(place, 1 | 2));
    begins.then(|| kept.map(|(_, token)| token.clone()).collect())
}

/// The parser crate reads INCREMENT before START alone.
pub(super) fn step_first(tokens: &mut [TokenWithSpan]) {
    let place = |keyword| tokens.iter().position(|token| is(&token.token, keyword));
    if let (Some(start), Some(step)) = (place(Keyword::START), place(Keyword::INCREMENT))
        && start < step
        && let Some(turned) = tokens.get_mut(start..)
    {
        turned.rotate_left(step - start);
    }
}

/// The same within `GENERATED … AS IDENTITY (START WITH 5 INCREMENT BY 2)`.
pub(super) fn steps_of_identities(tokens: &mut [TokenWithSpan]) {
    let mut rest = tokens;
    while let Some(at) = rest.iter().position(|token| is(&token.token, Keyword::IDENTITY)) {
        let behind = mem::take(&mut rest).get_mut(at + 1..).unwrap_or_default();
        let end = behind.iter().position(|token| token.token == Token::RParen).unwrap_or(0);
        let (options, others) = behind.split_at_mut(end);
        if options.first().is_some_and(|first| first.token == Token::LParen) {
            step_first(options);
        }
        rest = others;
    }
}
