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
use std::mem;

use sqlparser::dialect::{Dialect, SnowflakeDialect};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::ast::error::{Error, ErrorKind};

/// Longest statement, in bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Longest name, in characters.
pub const IDENTIFIER_CHARS_MAX: usize = 128;

/// Bytes that a token has in most texts, white space between them counted as one.
const BYTES_OF_TOKEN: usize = 3;
/// The most tokens that there is room for before they are read.
const TOKENS_RESERVED_MAX: usize = 1_024;

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
    let mut tokens = Vec::with_capacity((text.len() / BYTES_OF_TOKEN).min(TOKENS_RESERVED_MAX));
    Tokenizer::new(&STANDARD, text)
        .tokenize_with_location_into_buf(&mut tokens)
        .map_err(|e| Error::syntax(e.message).at(e.location).within(text))?;
    Ok(tokens)
}

/// The tokens of the text without white space and comments.
pub(crate) fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, Error> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Error::new(ErrorKind::TooLarge, "a statement may be 1 MB long"));
    }
    let mut found = lexed(text)?;
    refuse_odd_space(text, &found)?;
    found.retain(|found| !matches!(found.token, Token::Whitespace(_)));
    for TokenWithSpan { token, span } in &mut found {
        simplify(token).map_err(|error| error.at(span.start).within(text))?;
    }
    if !nesting::is_never_too_deep(found.len()) {
        nesting::levels(&found).map_err(|error| error.within(text))?;
    }
    Ok(found)
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

/// Makes it one of the tokens that statements are read from: there is one kind of string, and names are bounded.
fn simplify(token: &mut Token) -> Result<(), Error> {
    match token {
        Token::EscapedStringLiteral(text) | Token::NationalStringLiteral(text) => {
            *token = Token::SingleQuotedString(mem::take(text));
        }
        Token::DollarQuotedString(quoted) => *token = Token::SingleQuotedString(mem::take(&mut quoted.value)),
        Token::Word(word) if is_too_long(&word.value) => {
            let message = format!("a name may have {IDENTIFIER_CHARS_MAX} characters");
            return Err(Error::new(ErrorKind::InvalidName, message));
        }
        Token::Word(word) if word.value.contains('\0') || word.value.is_empty() => {
            return Err(Error::syntax("a name may not be empty or hold a zero character"));
        }
        Token::SingleQuotedString(text) if text.contains('\0') => {
            return Err(Error::syntax("a string may not hold a zero character"));
        }
        Token::UnicodeStringLiteral(_) => return Err(Error::unsupported("U&'' string")),
        Token::Char(c) => return Err(Error::syntax(format!("unexpected character {c:?}"))),
        _ => {}
    }
    Ok(())
}

fn is_too_long(name: &str) -> bool {
    name.len() > IDENTIFIER_CHARS_MAX && name.chars().count() > IDENTIFIER_CHARS_MAX
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
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')) {
        return 0;
    }
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
