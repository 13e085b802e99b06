//! From text to tokens, by our own lexical rules.
//!
//! A backslash in `'…'` is an ordinary character over every protocol (`standard_conforming_strings` is on),
//! so the warehouse's own lexer, which takes it as an escape, is never used: what a driver quotes for
//! `\' OR 1=1 --` must come back as one literal. Who asks for escapes has their text made standard before. All ways to write a string become one kind of token,
//! and white space that a reader cannot see is refused.

pub(crate) mod escapes;
pub(crate) mod nesting;
pub(crate) mod places;

use std::any::TypeId;

use sqlparser::dialect::{Dialect, SnowflakeDialect};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::ast::error::{Error, ErrorKind};

/// Longest statement, in bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Longest name, in characters.
pub const IDENTIFIER_CHARS_MAX: usize = 128;

/// The warehouse's identifiers and comments.
#[derive(Debug)]
struct Lex {
    /// A backslash escapes in `'…'`.
    escapes: bool,
}

/// With the standard's strings: how every statement is read.
const STANDARD: Lex = Lex { escapes: false };
/// With the warehouse's strings.
const ESCAPING: Lex = Lex { escapes: true };

impl Dialect for Lex {
    /// `//` and `#` start comments, as in the warehouse.
    fn dialect(&self) -> TypeId {
        TypeId::of::<SnowflakeDialect>()
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_alphanumeric() || ch == '_' || ch == '$'
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '"'
    }

    fn supports_string_literal_backslash_escape(&self) -> bool {
        self.escapes
    }

    /// `E'…'` is the one place where a backslash escapes; libpq writes it.
    fn supports_string_escape_constant(&self) -> bool {
        true
    }

    fn supports_comment_on(&self) -> bool {
        true
    }

    fn supports_nested_comments(&self) -> bool {
        true
    }
}

fn lexed(text: &str) -> Result<Vec<TokenWithSpan>, Error> {
    Tokenizer::new(&STANDARD, text)
        .tokenize_with_location()
        .map_err(|e| Error::syntax(e.message).at(e.location).within(text))
}

/// The tokens of the text without white space and comments.
pub(crate) fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, Error> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Error::new(ErrorKind::TooLarge, "a statement may be 1 MB long"));
    }
    let found = lexed(text)?;
    refuse_odd_space(text, &found)?;
    let mut kept = Vec::with_capacity(found.len());
    for TokenWithSpan { token, span } in found {
        let here = |e: Error| e.at(span.start).within(text);
        let token = match token {
            Token::Whitespace(_) => continue,
            Token::Char(c) => {
                return Err(here(Error::syntax(format!("unexpected character {c:?}"))));
            }
            other => plain(other).map_err(here)?,
        };
        kept.push(TokenWithSpan { token, span });
    }
    nesting::levels(&kept).map_err(|error| error.within(text))?;
    Ok(kept)
}

/// How many levels deep the tree of this text can become.
pub(crate) fn levels(text: &str) -> Result<usize, Error> {
    nesting::levels(&tokens(text)?)
}

/// All that the text says: its tokens as they are spelled, and its comments, whatever space is around and in them.
pub(crate) fn written(text: &str) -> Result<Vec<Token>, Error> {
    Ok(lexed(text)?.into_iter().filter_map(|TokenWithSpan { token, .. }| spoken(token)).collect())
}

fn spoken(token: Token) -> Option<Token> {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    match token {
        Token::Whitespace(Whitespace::SingleLineComment { comment, prefix }) => {
            let comment = squeezed(&comment);
            Some(Token::Whitespace(Whitespace::SingleLineComment { comment, prefix }))
        }
        Token::Whitespace(Whitespace::MultiLineComment(comment)) => {
            Some(Token::Whitespace(Whitespace::MultiLineComment(squeezed(&comment))))
        }
        Token::Whitespace(_) => None,
        other => Some(other),
    }
}

/// One kind of string, bounded names, numbered parameters.
fn plain(token: Token) -> Result<Token, Error> {
    match token {
        Token::EscapedStringLiteral(text) | Token::NationalStringLiteral(text) => Ok(Token::SingleQuotedString(text)),
        Token::DollarQuotedString(quoted) => Ok(Token::SingleQuotedString(quoted.value)),
        Token::Word(word) if word.value.chars().count() > IDENTIFIER_CHARS_MAX => {
            Err(Error::new(ErrorKind::InvalidName, format!("a name may have {IDENTIFIER_CHARS_MAX} characters")))
        }
        Token::Word(word) if word.value.contains('\0') || word.value.is_empty() => {
            Err(Error::syntax("a name may not be empty or hold a zero character"))
        }
        Token::SingleQuotedString(text) if text.contains('\0') => {
            Err(Error::syntax("a string may not hold a zero character"))
        }
        Token::UnicodeStringLiteral(_) => Err(Error::unsupported("U&'' string")),
        other => Ok(other),
    }
}

/// White space outside of literals is space, tab and line end. The engine takes many more characters
/// for white space, which a log or a reader cannot see.
fn refuse_odd_space(text: &str, tokens: &[TokenWithSpan]) -> Result<(), Error> {
    let total = odd_spaces(text);
    if total == 0 {
        return Ok(());
    }
    let inside: usize = tokens.iter().map(|token| quoted(&token.token).map_or(0, odd_spaces)).sum();
    if total == inside {
        return Ok(());
    }
    Err(Error::syntax("white space other than space, tab and line end is not allowed outside of literals"))
}

fn odd_spaces(text: &str) -> usize {
    text.chars().filter(|c| is_odd_space(*c)).count()
}

fn is_odd_space(c: char) -> bool {
    match c {
        ' ' | '\t' | '\n' | '\r' => false,
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{180e}'
        | '\u{ad}' => true,
        other => other.is_whitespace() || other.is_control(),
    }
}

fn quoted(token: &Token) -> Option<&str> {
    match token {
        Token::SingleQuotedString(text) | Token::NationalStringLiteral(text) | Token::EscapedStringLiteral(text) => {
            Some(text)
        }
        Token::DollarQuotedString(quoted) => Some(&quoted.value),
        Token::Word(word) if word.quote_style.is_some() => Some(&word.value),
        Token::Whitespace(Whitespace::SingleLineComment { comment, .. } | Whitespace::MultiLineComment(comment)) => {
            Some(comment)
        }
        _ => None,
    }
}
