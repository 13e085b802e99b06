//! The tables there are: schemas, tables, columns with types, primary keys, rows as estimated.
//!
//! Our own `_svc*` schemas are left out. Temporary tables of the session that asks are in the schema `pg_temp`, and so
//! are the rows of files that it has open. Names are compared as the engine does, without case for ASCII letters.

mod listed;

use serde::{Deserialize, Serialize};

use crate::message::Column;
pub(crate) use listed::{heed, load};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    pub schemas: Vec<String>,
    pub tables: Vec<Table>,
    pub definitions: Vec<Definition>,
    /// The commits of definitions that it is as of; none where that is not sure.
    #[serde(skip)]
    pub(crate) as_of: Option<u64>,
}

/// A view, function or sequence, with the comment that was left with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    pub kind: DefinitionKind,
    pub schema: String,
    pub name: String,
    /// Of a view.
    pub columns: Vec<Column>,
    pub comment: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefinitionKind {
    View,
    Function,
    Sequence,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    pub schema: String,
    pub name: String,
    pub columns: Vec<Column>,
    pub primary_key: Vec<String>,
    /// The columns of each UNIQUE of it.
    pub unique: Vec<Vec<String>>,
    /// The columns of each CHECK of it.
    pub checks: Vec<Vec<String>>,
    /// What the engine believes; exact after a checkpoint.
    pub estimated_rows: u64,
    /// What was left with it.
    pub comment: Option<String>,
    /// And with its columns.
    pub column_comments: Vec<ColumnComment>,
    /// What a column has that no value is given for, as the engine writes it.
    pub column_defaults: Vec<ColumnDefault>,
    /// Our sequences that one column of it, and no other of any table, counts by.
    pub counters: Vec<Counter>,
}

/// A column with a sequence of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    pub column: String,
    pub schema: String,
    pub sequence: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnComment {
    pub name: String,
    pub comment: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnDefault {
    pub name: String,
    pub text: String,
}

impl Catalog {
    pub fn table(&self, schema: &str, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.schema.eq_ignore_ascii_case(schema) && t.name.eq_ignore_ascii_case(name))
    }
}
