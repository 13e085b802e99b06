//! Text to one statement.
//!
//! The warehouse's grammar is tried first, the engine's on the same tokens when it refuses. What
//! neither reads is a syntax error; nothing is ever passed on as text.

mod alteration;
mod external;
pub(crate) mod from_last;
mod join_vector;
mod noise;
pub(crate) mod options;
mod request;
mod sequence;
pub(crate) mod stage_read;
pub(crate) mod staged;
mod staged_files;
mod structured;
mod template;
mod unload;

use sqlparser::ast;
use sqlparser::dialect::{Dialect, DuckDbDialect, PostgreSqlDialect, SnowflakeDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError, ParserOptions};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use crate::ast::error::{Error, ErrorKind};
use crate::ast::names::ours;
use crate::ast::sequence::replacing;
use crate::syntax::lex::places;
use crate::syntax::rewrites::Rewrites;
use crate::syntax::statement::Statement;
use crate::syntax::variables::Variables;
use crate::syntax::{lex, refusals};

pub use request::request;

/// How deep the parser itself may recurse.
const RECURSION_MAX: usize = 120;
/// How many statements one simple query may hold.
const STATEMENTS_MAX: usize = 1000;

/// Exactly one statement.
pub fn parse(text: &str) -> Result<Statement, Error> {
    parse_with(text, &Variables::default())
}

/// The same in a session that has variables.
pub fn parse_with(text: &str, variables: &Variables) -> Result<Statement, Error> {
    let mut groups = grouped(variables.put_into(lex::tokens(text)?));
    match (groups.pop(), groups.is_empty()) {
        (None, _) => Err(Error::new(ErrorKind::Empty, "there is no statement in the text")),
        (Some(tokens), true) if shows_variables(&tokens) => {
            let listed = ast::Statement::Query(Box::new(variables.listed()?));
            Statement::new(source(text, &tokens), listed)
        }
        (Some(tokens), true) => statement(text, tokens),
        (Some(_), false) => Err(Error::new(ErrorKind::Several, "one statement is expected, this is more than one")),
    }
}

/// `SHOW VARIABLES`, which the session alone can answer.
fn shows_variables(tokens: &[TokenWithSpan]) -> bool {
    matches!(tokens, [show, variables] if is(&show.token, Keyword::SHOW) && is(&variables.token, Keyword::VARIABLES))
}

/// The statements of a simple query, in order; empty when there is none.
pub fn split(text: &str) -> Result<Vec<Statement>, Error> {
    let groups = grouped(lex::tokens(text)?);
    if groups.len() > STATEMENTS_MAX {
        return Err(Error::new(ErrorKind::TooLarge, format!("a query may hold {STATEMENTS_MAX} statements")));
    }
    groups.into_iter().map(|tokens| statement(text, tokens)).collect()
}

/// `SELECT` and these tokens, as policies write their filters.
pub(crate) fn selected(mut tokens: Vec<TokenWithSpan>) -> Result<ast::Statement, Error> {
    tokens.retain(|token| token.token != Token::EOF);
    tokens.insert(0, made("SELECT"));
    tree(tokens).map(|tree| *tree)
}

/// A statement of our own text.
pub(crate) fn own(text: &str) -> Result<ast::Statement, Error> {
    tree(lex::tokens(text)?).map(|tree| *tree)
}

/// A query of our own text.
pub(crate) fn query(text: &str) -> Result<Box<ast::Query>, Error> {
    match *tree(lex::tokens(text)?)? {
        ast::Statement::Query(query) => Ok(query),
        _ => Err(Error::syntax("a query is expected")),
    }
}

fn statement(text: &str, tokens: Vec<TokenWithSpan>) -> Result<Statement, Error> {
    let source = source(text, &tokens);
    ours::refuse(&tokens).map_err(|error| error.within(text))?;
    let staged = staged::read(&tokens).transpose();
    let staged = staged.or_else(|| staged_files::read(&tokens).transpose());
    let staged = staged.or_else(|| unload::read(text, &tokens).transpose());
    let staged = staged.or_else(|| template::read(text, &tokens).transpose());
    let staged = staged.or_else(|| external::read(&tokens).transpose());
    if let Some(staged) = staged.transpose().map_err(|error| error.within(text))? {
        return Statement::of_kind(source, staged.tree, staged.kind).map_err(|error| error.within(text));
    }
    let (tokens, reads) = stage_read::read(tokens).map_err(|error| error.within(text))?;
    if let Some(error) = refusals::of(&tokens) {
        return Err(error.within(text));
    }
    read(source, tokens).map(|statement| statement.reading(reads)).map_err(|error| error.within(text))
}

fn read(source: SourceText, tokens: Vec<TokenWithSpan>) -> Result<Statement, Error> {
    let tokens = tables_selected(spelled(from_last::named(join_vector::joined(tokens)?)));
    let rewrites = Rewrites::of(&tokens);
    Statement::needing(source, tree(tokens)?, rewrites)
}

/// The tree of a statement, behind a pointer: it has 3 KiB.
fn tree(tokens: Vec<TokenWithSpan>) -> Result<Box<ast::Statement>, Error> {
    if let Some(tokens) = function(&tokens) {
        return postgres(tokens).map(Box::new);
    }
    if let Some(tokens) = sequence::without_replace(&tokens) {
        return tree(tokens).map(|tree| Box::new(replacing(*tree)));
    }
    either(tokens)
}

/// A statement in PostgreSQL's grammar.
pub(crate) fn postgres(tokens: Vec<TokenWithSpan>) -> Result<ast::Statement, Error> {
    whole(&mut parser(&PostgreSqlDialect {}, tokens)).map(|tree| *tree).map_err(refused)
}

/// `CREATE [OR REPLACE] [SECURE] FUNCTION …`, which only PostgreSQL's grammar reads.
fn function(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let words = [Keyword::CREATE, Keyword::OR, Keyword::REPLACE, Keyword::SECURE];
    let at = tokens.iter().position(|token| !words.iter().any(|word| is(&token.token, *word)))?;
    let is_function = at > 0 && is(&tokens.get(at)?.token, Keyword::FUNCTION);
    let kept = tokens.iter().enumerate().filter(|(place, token)| *place > at || !is(&token.token, Keyword::SECURE));
    is_function.then(|| kept.map(|(_, token)| token.clone()).collect())
}

/// One expression of our own or a function's text.
pub(crate) fn expression(text: &str) -> Result<ast::Expr, Error> {
    let mut tokens = lex::tokens(text)?;
    let is_query = tokens.first().is_some_and(|token| is(&token.token, Keyword::SELECT));
    let tree = if is_query { *tree(std::mem::take(&mut tokens))? } else { selected(tokens)? };
    let wrong = || Error::unsupported("a function whose body is not one expression");
    let ast::Statement::Query(query) = tree else {
        return Err(wrong());
    };
    let ast::Query { with: None, body, order_by: None, limit_clause: None, fetch: None, .. } = *query else {
        return Err(wrong());
    };
    let ast::SetExpr::Select(select) = *body else {
        return Err(wrong());
    };
    if !select.from.is_empty() || select.selection.is_some() || select.distinct.is_some() {
        return Err(wrong());
    }
    match <[ast::SelectItem; 1]>::try_from(select.projection) {
        Ok([ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. }]) => Ok(expr),
        _ => Err(wrong()),
    }
}

/// The statement's own text among others, its place kept, so that positions fit both.
fn source(text: &str, tokens: &[TokenWithSpan]) -> SourceText {
    let edge = |at: Option<Location>| at.and_then(|at| places::byte(text, at));
    let start = edge(tokens.first().map(|token| token.span.start)).unwrap_or(0);
    let end = edge(tokens.last().map(|token| token.span.end)).unwrap_or(text.len());
    let own = text.get(start..end).unwrap_or_default();
    SourceText { whole: text.to_owned(), own: own.to_owned() }
}

/// The text a statement came in, and its own part.
#[derive(Debug, Clone)]
pub(crate) struct SourceText {
    pub whole: String,
    pub own: String,
}

/// `TABLE t` is `SELECT * FROM t`; the parser crate drops what stands behind it.
fn tables_selected(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is(&token.token, Keyword::TABLE)) {
        return tokens;
    }
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 2);
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        let begins = kept.last().is_none_or(|before| begins_query(&before.token));
        let named = rest.peek().is_some_and(|next| matches!(next.token, Token::Word(_)));
        if is(&token.token, Keyword::TABLE) && begins && named {
            kept.extend([made("SELECT"), TokenWithSpan { token: Token::Mul, span: token.span }, made("FROM")]);
        } else {
            kept.push(token);
        }
    }
    kept
}

/// The tokens as the parser crate has a form for them.
fn spelled(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let makes_sequence = noise::makes_sequence(&tokens);
    let mut kept = noise::removed(tokens);
    if makes_sequence {
        sequence::step_first(&mut kept);
        return kept;
    }
    sequence::steps_of_identities(&mut kept);
    structured::plain(structured::cast(alteration::spelled(view_renamed(kept))))
}

/// The parser crate knows `ALTER TABLE v RENAME TO w` alone, which PostgreSQL takes for a view as well.
fn view_renamed(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let renames = |two: &[TokenWithSpan]| match two {
        [one, two] => is(&one.token, Keyword::RENAME) && is(&two.token, Keyword::TO),
        _ => false,
    };
    if let [first, second, rest @ ..] = tokens.as_mut_slice()
        && is(&first.token, Keyword::ALTER)
        && is(&second.token, Keyword::VIEW)
        && rest.windows(2).any(renames)
    {
        second.token = Token::make_keyword("TABLE");
    }
    tokens
}

fn begins_query(before: &Token) -> bool {
    let words = [
        Keyword::UNION,
        Keyword::ALL,
        Keyword::EXCEPT,
        Keyword::INTERSECT,
        Keyword::MINUS,
        Keyword::DISTINCT,
        Keyword::AS,
    ];
    matches!(before, Token::LParen | Token::RParen) || words.iter().any(|word| is(before, *word))
}

pub(crate) fn is(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.keyword == keyword && word.quote_style.is_none())
}

fn made(keyword: &str) -> TokenWithSpan {
    TokenWithSpan::wrap(Token::make_keyword(keyword))
}

fn end(parser: &Parser<'_>) -> Result<(), ParserError> {
    if parser.peek_token_ref().token == Token::EOF {
        return Ok(());
    }
    parser.expected("end of statement", parser.peek_token())
}

/// The statement that all of the tokens are.
fn whole(parser: &mut Parser<'_>) -> Result<Box<ast::Statement>, ParserError> {
    let tree = Box::new(parser.parse_statement()?);
    end(parser)?;
    Ok(tree)
}

/// Tokens between semicolons.
fn grouped(mut tokens: Vec<TokenWithSpan>) -> Vec<Vec<TokenWithSpan>> {
    let mut groups = Vec::new();
    let ends = |found: &TokenWithSpan| matches!(found.token, Token::SemiColon | Token::EOF);
    while let Some(end) = tokens.iter().rposition(ends) {
        groups.push(tokens.split_off(end + 1));
        tokens.pop();
    }
    groups.push(tokens);
    groups.retain(|group| !group.is_empty());
    groups.reverse();
    groups
}

fn either(mut tokens: Vec<TokenWithSpan>) -> Result<Box<ast::Statement>, Error> {
    if has_engine_type(&tokens) {
        let mut engine = parser(&DuckDbDialect, tokens);
        match whole(&mut engine) {
            Ok(tree) => return Ok(tree),
            Err(_) => tokens = engine.into_tokens(),
        }
    }
    let mut warehouse = parser(&SnowflakeDialect, tokens);
    whole(&mut warehouse).or_else(|error| {
        let tokens = warehouse.into_tokens();
        whole(&mut parser(&DuckDbDialect, tokens)).map_err(|_| refused(error))
    })
}

/// `x::STRUCT(a INT)`: the warehouse's grammar of the parser crate takes the members for sizes.
fn has_engine_type(tokens: &[TokenWithSpan]) -> bool {
    tokens.windows(3).any(|three| match three {
        [before, name, open] => {
            let is_cast = before.token == Token::DoubleColon || is(&before.token, Keyword::AS);
            is_cast && is(&name.token, Keyword::STRUCT) && open.token == Token::LParen
        }
        _ => false,
    })
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
        ParserError::RecursionLimitExceeded => Error::new(ErrorKind::TooDeep, "the statement nests too deep"),
    }
}

/// The parser writes ` at Line: 1, Column: 8` behind its messages.
fn located(message: &str) -> (String, Option<Location>) {
    let Some((said, place)) = message.rsplit_once(" at Line: ") else {
        return (lowered(message), None);
    };
    let Some((line, column)) = place.split_once(", Column: ") else {
        return (lowered(message), None);
    };
    match (line.parse(), column.parse()) {
        (Ok(line), Ok(column)) => (lowered(said), Some(Location { line, column })),
        _ => (lowered(message), None),
    }
}

fn lowered(message: &str) -> String {
    let mut letters = message.trim_end_matches(':').trim_end().chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests;
