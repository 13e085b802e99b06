//! `{name}` in a filter: where a literal may stand, or inside one.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::scan::marker::{self, GeneratedExpr};

/// A piece of a literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LiteralPart {
    Text(String),
    Name(String),
}

impl LiteralPart {
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Text(_) => None,
        }
    }
}

/// The tokens with every literal that holds a placeholder numbered, and those literals; equal ones have one number.
pub(super) fn replaced(tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Vec<Vec<LiteralPart>>) {
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut literals = Vec::new();
    for token in tokens {
        let span = token.span;
        let parts = match &token.token {
            Token::SingleQuotedString(text) => split(text),
            Token::RBrace => braced(&kept).map(|name| {
                kept.truncate(kept.len() - 2);
                vec![LiteralPart::Name(name)]
            }),
            _ => None,
        };
        match parts {
            Some(parts) => {
                let number = literals.iter().position(|known| *known == parts).unwrap_or(literals.len());
                if number == literals.len() {
                    literals.push(parts);
                }
                kept.push(TokenWithSpan {
                    token: Token::Placeholder(marker::name_of(GeneratedExpr::Literal(number))),
                    span,
                });
            }
            None => kept.push(token),
        }
    }
    (kept, literals)
}

/// The number of a literal by the name of what stands for it.
pub(super) fn number(name: &str) -> Option<usize> {
    match marker::made(name) {
        Some(GeneratedExpr::Literal(number)) => Some(number),
        _ => None,
    }
}

/// The literal for one caller; nothing if a name in it has no value.
pub(super) fn text(parts: &[LiteralPart], value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    parts
        .iter()
        .map(|part| match part {
            LiteralPart::Text(text) => Some(text.clone()),
            // A zero character would make it something else than text.
            LiteralPart::Name(name) => value(name).filter(|value| !value.contains('\0')),
        })
        .collect()
}

/// `{`, name: what stands before a closing brace.
fn braced(kept: &[TokenWithSpan]) -> Option<String> {
    let [.., open, name] = kept else { return None };
    match (&open.token, &name.token) {
        (Token::LBrace, Token::Word(word)) if word.quote_style.is_none() && is_name(&word.value) => {
            Some(word.value.clone())
        }
        _ => None,
    }
}

/// The parts of a string, if there is a name among them.
fn split(text: &str) -> Option<Vec<LiteralPart>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut before = String::new();
    while let Some(open) = rest.find('{') {
        let (head, tail) = rest.split_at(open);
        before.push_str(head);
        let inside = tail.strip_prefix('{').unwrap_or(tail);
        match inside.split_once('}') {
            Some((name, after)) if is_name(name) => {
                if !before.is_empty() {
                    parts.push(LiteralPart::Text(std::mem::take(&mut before)));
                }
                parts.push(LiteralPart::Name(name.to_owned()));
                rest = after;
            }
            _ => {
                before.push('{');
                rest = inside;
            }
        }
    }
    if parts.is_empty() {
        return None;
    }
    before.push_str(rest);
    if !before.is_empty() {
        parts.push(LiteralPart::Text(before));
    }
    Some(parts)
}

/// Names of attributes: `[a-z][a-z0-9_]*`.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
