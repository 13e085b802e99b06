//! `ALTER EXTERNAL TABLE t ADD FILES ('path', …)`, or `REMOVE FILES` of the same.

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::{is_word, leads_down, refused};
use crate::ast::error::Error;
use crate::catalog::external_change::ListChange;
use crate::syntax::statement::ExternalCommand;

/// Files that are named at most.
const FILES_MAX: usize = 1_000;

/// The command that begins with this word; none where it is another one.
pub(super) fn read(parser: &mut Parser<'_>, action: &Token) -> Result<Option<ExternalCommand>, Error> {
    let change = if is_word(action, "add") {
        ListChange::Added
    } else if is_word(action, "remove") {
        ListChange::Removed
    } else {
        return Ok(None);
    };
    if !is_word(&parser.peek_token_ref().token, "files") {
        return Ok(None);
    }
    parser.next_token();
    parser.expect_token(&Token::LParen).map_err(refused)?;
    let files = parser.parse_comma_separated(path).map_err(refused)?;
    parser.expect_token(&Token::RParen).map_err(refused)?;
    if files.len() > FILES_MAX || files.iter().any(String::is_empty) {
        return Err(Error::syntax(format!("FILES is a list of up to {FILES_MAX} paths")));
    }
    files.iter().try_for_each(|file| leads_down(file))?;
    Ok(Some(ExternalCommand::List { change, files }))
}

fn path(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let next = parser.next_token();
    match &next.token {
        Token::SingleQuotedString(text) => Ok(text.clone()),
        _ => parser.expected("the path of a file, as a text", next),
    }
}
