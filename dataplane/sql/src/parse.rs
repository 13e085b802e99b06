//! Text to one statement.
//!
//! The warehouse's grammar is tried first, the engine's on the same tokens when it refuses. What
//! neither reads is a syntax error; nothing is ever passed on as text.

use sqlparser::ast;
use sqlparser::dialect::{Dialect, DuckDbDialect, SnowflakeDialect};
use sqlparser::parser::{Parser, ParserError, ParserOptions};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use crate::error::{Error, Kind};
use crate::lex;
use crate::statement::Statement;

/// How deep the parser itself may recurse.
const RECURSION_MAX: usize = 120;
/// How many statements one simple query may hold.
const STATEMENTS_MAX: usize = 1000;

/// Exactly one statement.
pub fn parse(text: &str) -> Result<Statement, Error> {
    let mut groups = grouped(lex::tokens(text)?);
    match (groups.pop(), groups.is_empty()) {
        (None, _) => Err(Error::new(Kind::Empty, "there is no statement in the text")),
        (Some(tokens), true) => statement(text, tokens),
        (Some(_), false) => Err(Error::new(Kind::Several, "one statement is expected, this is more than one")),
    }
}

/// The statements of a simple query, in order; empty when there is none.
pub fn split(text: &str) -> Result<Vec<Statement>, Error> {
    let groups = grouped(lex::tokens(text)?);
    if groups.len() > STATEMENTS_MAX {
        return Err(Error::new(Kind::TooLarge, format!("a query may hold {STATEMENTS_MAX} statements")));
    }
    groups.into_iter().map(|tokens| statement(text, tokens)).collect()
}

/// One expression and nothing after it, as policies write their filters.
pub(crate) fn expression(text: &str) -> Result<ast::Expr, Error> {
    let tokens = lex::tokens(text)?;
    either(tokens, |parser| {
        let expr = parser.parse_expr()?;
        end(parser)?;
        Ok(expr)
    })
    .map_err(|e| e.within(text))
}

fn statement(text: &str, tokens: Vec<TokenWithSpan>) -> Result<Statement, Error> {
    let source = source(text, &tokens);
    let tree = either(tokens, |parser| {
        let tree = parser.parse_statement()?;
        end(parser)?;
        Ok(tree)
    });
    tree.and_then(|tree| Statement::new(source, tree)).map_err(|e| e.within(text))
}

/// The statement's own text; positions stay those of the whole text, so lines before it are kept blank.
fn source(text: &str, _tokens: &[TokenWithSpan]) -> String {
    text.to_owned()
}

fn end(parser: &Parser<'_>) -> Result<(), ParserError> {
    let next = parser.peek_token();
    if next.token == Token::EOF {
        return Ok(());
    }
    parser.expected("end of statement", next)
}

/// Tokens between semicolons.
fn grouped(tokens: Vec<TokenWithSpan>) -> Vec<Vec<TokenWithSpan>> {
    let mut groups = Vec::new();
    let mut group = Vec::with_capacity(tokens.len());
    for token in tokens {
        match token.token {
            Token::SemiColon | Token::EOF => groups.push(std::mem::take(&mut group)),
            _ => group.push(token),
        }
    }
    groups.push(group);
    groups.retain(|group| !group.is_empty());
    groups
}

fn either<T>(
    tokens: Vec<TokenWithSpan>,
    read: impl Fn(&mut Parser<'_>) -> Result<T, ParserError>,
) -> Result<T, Error> {
    let first = read(&mut parser(&SnowflakeDialect, tokens.clone()));
    match first {
        Ok(tree) => Ok(tree),
        Err(warehouse) => read(&mut parser(&DuckDbDialect, tokens)).map_err(|_| refused(warehouse)),
    }
}

fn parser(dialect: &dyn Dialect, tokens: Vec<TokenWithSpan>) -> Parser<'_> {
    Parser::new(dialect)
        .with_options(ParserOptions::new().with_unescape(false))
        .with_recursion_limit(RECURSION_MAX)
        .with_tokens_with_locations(tokens)
}

fn refused(error: ParserError) -> Error {
    match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
            let (message, at) = located(&message);
            let error = Error::syntax(message);
            match at {
                Some(at) => error.at(at),
                None => error,
            }
        }
        ParserError::RecursionLimitExceeded => Error::new(Kind::TooDeep, "the statement nests too deep"),
    }
}

/// The parser writes ` at Line: 1, Column: 8` behind its messages.
fn located(message: &str) -> (String, Option<Location>) {
    let Some((said, place)) = message.rsplit_once(" at Line: ") else { return (lowered(message), None) };
    let Some((line, column)) = place.split_once(", Column: ") else { return (lowered(message), None) };
    match (line.parse(), column.parse()) {
        (Ok(line), Ok(column)) => (lowered(said), Some(Location { line, column })),
        _ => (lowered(message), None),
    }
}

fn lowered(message: &str) -> String {
    let mut letters = message.trim_end_matches(':').trim_end().chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
