//! A statement that is parsed once and bound to values as often as its client wants.

use std::sync::{Arc, Mutex, PoisonError};

use contract::Code;

use crate::Description;
use crate::pipeline::AuthorizationState;
use crate::protocols::pgwire::command::{self, PgCommand};
use crate::protocols::pgwire::failure::ErrorResponse;
use crate::protocols::pgwire::lex;

/// A prepared statement.
#[derive(Debug)]
pub struct PreparedStatement {
    pub(super) sql: String,
    /// Characters of the client's text before this statement.
    pub(super) before: usize,
    pub(super) starts: Vec<usize>,
    pub(super) what: PreparedKind,
    /// Parameter types the client gave; 0 is for us to tell.
    pub(super) declared: Vec<u32>,
    /// Under which rules it was described last, for whom, and how.
    pub(super) described: Mutex<Option<(u64, AuthorizationState, Arc<Description>)>>,
}

#[derive(Debug)]
pub(super) enum PreparedKind {
    Empty,
    Command(PgCommand),
    Statement,
}

impl PreparedStatement {
    pub fn new(text: &str, declared: Vec<u32>) -> Result<Self, ErrorResponse> {
        let mut pieces = lex::split(text);
        if pieces.len() > 1 {
            return Err(ErrorResponse::new(Code::BadSql, "a prepared statement is one statement"));
        }
        let Some(piece) = pieces.pop() else {
            return Ok(Self {
                sql: String::new(),
                before: 0,
                starts: Vec::new(),
                what: PreparedKind::Empty,
                declared,
                described: Mutex::default(),
            });
        };
        let what = command::read(&piece.tokens).map_or(PreparedKind::Statement, PreparedKind::Command);
        let sql = piece.text.to_owned();
        Ok(Self { sql, before: piece.before, starts: piece.starts, what, declared, described: Mutex::default() })
    }

    /// Whether it is one for the engine of which nothing was told yet.
    pub(super) fn is_untold(&self) -> bool {
        let described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(self.what, PreparedKind::Statement) && described.is_none()
    }

    pub fn is_empty(&self) -> bool {
        matches!(self.what, PreparedKind::Empty)
    }

    pub fn command(&self) -> Option<&PgCommand> {
        match &self.what {
            PreparedKind::Command(command) => Some(command),
            PreparedKind::Empty | PreparedKind::Statement => None,
        }
    }
}
