//! The questions of the control plane about SQL texts.
//!
//! The compiler of the data planes answers them. The control plane depends on this trait alone, so that an
//! edit of the compiler does not build the control plane again.

use std::collections::BTreeSet;
use std::fmt;

use crate::policy::abac::Operation;

/// Reads SQL texts and runs none of them. Messages name the place in the text.
pub trait SqlAnalyzer: fmt::Debug + Send + Sync {
    /// The tables and operations of one statement; the error is why it does not parse.
    fn statement(&self, text: &str) -> Result<StatementUse, String>;

    /// One statement laid out for reading; the error is why it cannot be.
    fn layout(&self, text: &str) -> Result<String, String>;

    /// The names in braces of a row filter. `known` says which of them there are.
    fn filter(&self, text: &str, known: &dyn Fn(&str) -> bool) -> Result<BTreeSet<String>, FilterError>;

    /// Bytes of stack for a thread that reads texts, however deep they nest.
    fn stack_bytes(&self) -> usize;
}

/// A statement, by what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementUse {
    /// As the statement names them.
    pub tables: Vec<NamedTable>,
    pub operations: Vec<Operation>,
    pub is_write: bool,
}

/// A table as a statement names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTable {
    pub schema: Option<String>,
    pub name: String,
}

/// Why a text cannot be a row filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterError {
    /// It does not parse.
    Syntax(String),
    /// It parses, and no data plane could hold to it.
    Refused(String),
}
