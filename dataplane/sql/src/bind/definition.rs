//! A definition's statement, read again where its name stands.

use sqlparser::ast;

use crate::ast::error::Error;
use crate::catalog::definition::Definition;
use crate::syntax::parse;

impl Definition {
    /// The statement that made it.
    pub(crate) fn statement(&self) -> Result<ast::Statement, Error> {
        let unreadable = |error: Error| Error { position: None, snippet: None, ..error };
        parse::parse(&self.text).map_err(unreadable)?.into_admitted().map(|tree| *tree).map_err(unreadable)
    }
}
