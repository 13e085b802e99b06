//! One parsed statement and what can be said of it without a catalog.
//!
//! Statements are classified by their whole tree, not by their first word: a DELETE anywhere inside
//! makes a statement one that deletes.

mod facts;
mod kind;
pub(crate) mod many;
mod normal;
mod refused;
mod template;
pub(crate) mod unload;
mod walk;

use std::collections::BTreeSet;

use sqlparser::ast;

use crate::ast::error::Error;
use crate::catalog::past_load::LoadJob;
use crate::catalog::staged_rows::{LoadOptions, StageRead};
use crate::print;
use crate::syntax::parse::SourceText;
use crate::syntax::rewrites::Rewrites;

pub use contract::policy::abac::Operation;
pub(crate) use facts::targets;
pub use kind::{ExternalCommand, SessionCommand, StatementKind, TransactionCommand};
pub use normal::CYCLE;
pub(crate) use normal::expression;
pub use template::TableTemplate;
pub(crate) use unload::{SaidFormat, UnloadSource};
pub use unload::{Unload, partition_folder};

/// A table a statement names, as it names it, and what it does there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableUse {
    pub schema: Option<String>,
    pub name: String,
    pub operations: BTreeSet<Operation>,
}

/// A statement that parsed. Nothing is known of its tables and functions yet: see [`crate::resolve`].
#[derive(Debug, Clone)]
pub struct Statement {
    source: SourceText,
    kind: StatementKind,
    /// It has 3 KiB, and goes from stage to stage.
    tree: Box<ast::Statement>,
    facts: facts::Facts,
    /// The text for the log, or why the statement cannot be let through.
    admitted: Result<String, Error>,
    /// Where it reads files of stages.
    reads: Vec<StageRead>,
}

impl Statement {
    pub(crate) fn new(source: SourceText, tree: ast::Statement) -> Result<Self, Error> {
        Self::read(source, Box::new(tree), None, Rewrites::ALL)
    }

    /// Reads a parsed statement that needs these rewrites at most.
    pub(crate) fn needing(source: SourceText, tree: Box<ast::Statement>, rewrites: Rewrites) -> Result<Self, Error> {
        Self::read(source, tree, None, rewrites)
    }

    /// One whose tree alone does not say of what kind it is.
    pub(crate) fn of_kind(source: SourceText, tree: ast::Statement, kind: StatementKind) -> Result<Self, Error> {
        Self::read(source, Box::new(tree), Some(kind), Rewrites::ALL)
    }

    fn read(
        source: SourceText,
        mut tree: Box<ast::Statement>,
        kind: Option<StatementKind>,
        rewrites: Rewrites,
    ) -> Result<Self, Error> {
        let facts = normal::form(&mut tree, rewrites)?;
        let kind = kind.unwrap_or_else(|| kind::of(&tree));
        let admitted = print::admit(&tree);
        Ok(Self { source, kind, tree, facts, admitted, reads: Vec::new() })
    }

    /// The same, which reads files of stages where its tree has their names.
    pub(crate) fn reading(mut self, reads: Vec<StageRead>) -> Self {
        let removes = |read: &StageRead| read.load.is_some_and(LoadOptions::removes);
        if reads.iter().any(removes) {
            self.facts.operations.insert(Operation::Delete); // of files, as REMOVE does
        }
        Self { reads, ..self }
    }

    pub(crate) fn reads(&self) -> &[StageRead] {
        &self.reads
    }

    /// Whether it is COPY INTO a table: it answers a row for each file.
    pub fn loads(&self) -> bool {
        self.reads.iter().any(|read| read.load.is_some())
    }

    /// The earlier load that it asks for.
    pub fn load_job(&self) -> Option<&LoadJob> {
        self.reads.iter().find_map(|read| read.job.as_ref())
    }

    /// The caller's words.
    pub fn text(&self) -> &str {
        &self.source.own
    }

    /// The text that positions count in.
    pub(crate) fn whole(&self) -> &str {
        &self.source.whole
    }

    pub fn kind(&self) -> &StatementKind {
        &self.kind
    }

    /// Everything the statement does, wherever in its tree.
    pub fn operations(&self) -> &BTreeSet<Operation> {
        &self.facts.operations
    }

    /// Whether it changes anything, or calls a function that does.
    pub fn is_write(&self) -> bool {
        self.changes() || self.facts.calls_write || matches!(self.kind, StatementKind::Unload(_))
    }

    /// Whether it changes rows or definitions, anywhere in it.
    pub fn changes(&self) -> bool {
        self.facts.operations.iter().any(|operation| *operation != Operation::Select)
    }

    /// Whether it answers with rows: it reads, or returns the rows that it changes.
    pub fn answers(&self) -> bool {
        match &*self.tree {
            ast::Statement::Query(_) | ast::Statement::Remove(_) => true,
            ast::Statement::Insert(insert) => insert.returning.is_some() || self.loads(),
            ast::Statement::Update(update) => update.returning.is_some(),
            ast::Statement::Delete(delete) => delete.returning.is_some(),
            ast::Statement::Merge(merge) => merge.output.is_some(),
            _ => !self.is_write(),
        }
    }

    /// Tables named, each once, in the order of the text; WITH queries are not among them.
    pub fn tables(&self) -> &[TableUse] {
        &self.facts.tables
    }

    /// Whether it asks what tables there are: it may see only those that the caller may read.
    pub fn reads_catalogue(&self) -> bool {
        self.facts.reads_catalogue
            || self.kind.reads_staged()
            || matches!(self.kind, StatementKind::Show | StatementKind::Describe { .. } | StatementKind::Session(_))
    }

    /// Whether it lists what tables there are, and not what a name means alone.
    pub fn lists_tables(&self) -> bool {
        self.facts.reads_catalogue || matches!(self.kind, StatementKind::Show)
    }

    /// The highest number of a parameter; `?` are numbered from 1 in order.
    pub fn parameters(&self) -> usize {
        self.facts.parameters
    }

    /// Names of the functions called, in lower case, each once.
    pub fn functions(&self) -> &BTreeSet<String> {
        &self.facts.functions
    }

    /// The statement without its literals and comments, for the log.
    pub fn redacted(&self) -> String {
        match &self.admitted {
            Ok(text) if self.loads() => {
                let text = text.replacen("INSERT INTO ", "COPY INTO ", 1);
                match (text.split_once(" SELECT * FROM "), text.split_once(" SELECT ")) {
                    (Some((target, stage)), _) => format!("{target} FROM {stage} ?"),
                    (None, Some((target, query))) => format!("{target} FROM (SELECT {query}) ?"),
                    (None, None) => text,
                }
            }
            Ok(text) => match &self.kind {
                StatementKind::ExternalTable(command) => match command.altered() {
                    Some(words) => format!("{} {words} ?", text.replacen("TABLE ", "EXTERNAL TABLE ", 1)),
                    None => text.replacen("VIEW ", "EXTERNAL TABLE ", 1),
                },
                _ => text.clone(),
            },
            Err(_) => digest(&self.source.own),
        }
    }

    /// The tree as it was read.
    pub(crate) fn tree(&self) -> &ast::Statement {
        &self.tree
    }

    /// The tree, if everything in it is on the list of what is let through.
    pub(crate) fn into_admitted(self) -> Result<Box<ast::Statement>, Error> {
        self.admitted.map(|_| self.tree)
    }
}

/// What the log shows of text that cannot be redacted: only that it was the same text.
pub fn digest(text: &str) -> String {
    use sha2::{Digest, Sha256};
    format!("<unparsed sha256:{}>", hex::encode(Sha256::digest(text.as_bytes())))
}
