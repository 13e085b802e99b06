//! Parentheses among the tokens of a text.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// How many of them are open.
#[derive(Debug, Default)]
pub(crate) struct OpenParentheses(usize);

impl OpenParentheses {
    /// Whether none is open behind this token.
    pub fn are_none_behind(&mut self, token: &Token) -> bool {
        match token {
            Token::LParen => self.0 += 1,
            Token::RParen => self.0 = self.0.saturating_sub(1),
            _ => {}
        }
        self.0 == 0
    }
}

/// The place of the first token behind which none is open: the end of a value, or the bracket that closes the first.
pub(crate) fn closing(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut open = OpenParentheses::default();
    tokens.iter().position(|token| open.are_none_behind(&token.token))
}
