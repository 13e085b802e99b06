//! A table: its columns, its keys, and where the engine finds it.

use std::sync::Arc;

use sqlparser::ast::ObjectName;

use crate::ast::names::{self, MAIN_SCHEMA, ours};
use crate::ast::quote;
use crate::catalog::column_comment::{self, SpelledType};
use crate::catalog::comment::Comment;
use crate::catalog::external_table::KeptExternalTable;
use crate::functions::types::Type;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// As the engine prints it: `DECIMAL(15,2)`.
    pub type_name: String,
    pub nullable: bool,
    /// The word that it was declared by, where the engine's type does not tell it and PostgreSQL's catalogue does.
    pub spelled: Option<SpelledType>,
    /// `COMMENT ON COLUMN`.
    pub comment: Option<String>,
    pub default: Option<DefaultValue>,
}

/// The default of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefaultValue {
    /// As it is written.
    Expression(String),
    /// The next number of a sequence of its own.
    Counted,
}

impl Column {
    pub fn new(name: impl Into<String>, type_name: impl Into<String>) -> Self {
        Self { name: name.into(), type_name: type_name.into(), nullable: true, ..Self::default() }
    }

    pub fn family(&self) -> Type {
        Type::of_name(&self.type_name)
    }

    /// The characters that its texts have at most, where it has such a length.
    pub fn length(&self) -> Option<u64> {
        column_comment::length_named(&self.type_name)
    }
}

/// A column that counts by a sequence of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    pub column: String,
    pub schema: String,
    pub sequence: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    pub schema: String,
    pub name: String,
    pub columns: Vec<Column>,
    /// Names of its columns, in the key's order; none has no key.
    pub primary_key: Vec<String>,
    /// The columns of each UNIQUE of it.
    pub unique: Vec<Vec<String>>,
    /// The columns of each CHECK of it.
    pub checks: Vec<Vec<String>>,
    /// It ends with the transaction that made it.
    pub temporary: bool,
    /// It is one of another database: its rows are brought here for each statement, and nobody writes to it.
    pub attached: bool,
    /// What was written down of where its rows are from, when it was made.
    pub origin: Option<String>,
    /// `COMMENT ON TABLE`.
    pub comment: Option<String>,
    /// The id of its own stage, once something was put into that.
    pub own_stage: Option<String>,
    /// Sequences of its columns, which nothing else counts by.
    pub counters: Vec<Counter>,
    /// Set where its rows are those of files.
    pub external: Option<Arc<KeptExternalTable>>,
    /// The schema its rows are in, where that is not the one it is known by: a branch's own copy.
    stored_in: Option<String>,
    /// The name that the engine finds it by, where that is another: rows of files, kept for one statement.
    stored_as: Option<String>,
}

impl Table {
    pub fn new(schema: impl Into<String>, name: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { schema: schema.into(), name: name.into(), columns, ..Self::default() }
    }

    /// The same table with a primary key.
    #[must_use]
    pub fn with_primary_key(self, primary_key: &[String]) -> Self {
        Self { primary_key: primary_key.to_vec(), ..self }
    }

    /// The same table, of whose rows no two have the same values in each of these.
    #[must_use]
    pub fn with_unique(self, unique: &[Vec<String>]) -> Self {
        Self { unique: unique.to_vec(), ..self }
    }

    /// The same table, of this origin.
    #[must_use]
    pub fn with_origin(self, origin: Option<String>) -> Self {
        Self { origin, ..self }
    }

    /// The same table, with what is kept as its comment.
    #[must_use]
    pub fn with_comment(self, comment: Comment) -> Self {
        Self { origin: comment.ours, comment: comment.words, own_stage: comment.own_stage, ..self }
    }

    /// The same table, with columns that count.
    #[must_use]
    pub fn with_counters(self, counters: Vec<Counter>) -> Self {
        Self { counters, ..self }
    }

    /// One of the transaction that asks, known by [`names::TEMPORARY_SCHEMA`].
    #[must_use]
    pub fn temporary(self) -> Self {
        let schema = names::TEMPORARY_SCHEMA.to_owned();
        Self { schema, temporary: true, stored_in: Some(names::TEMP_SCHEMA.to_owned()), ..self }
    }

    /// The same table for names and policies, whose rows are in a temporary table of this name.
    #[must_use]
    pub(crate) fn kept_as(self, name: &str) -> Self {
        let stored_in = Some(names::TEMP_SCHEMA.to_owned());
        Self { temporary: true, stored_in, stored_as: Some(name.to_owned()), ..self }
    }

    /// The table of another database that has this number among all that are attached.
    #[must_use]
    pub fn attached(self, number: usize) -> Self {
        Self { attached: true, ..self.kept_as(&ours::attached(number)) }
    }

    /// The same table for names and policies, with other rows.
    #[must_use]
    pub fn stored_in(self, schema: impl Into<String>) -> Self {
        Self { stored_in: Some(schema.into()), ..self }
    }

    /// The name that the engine finds it by, whatever its search path is.
    pub(crate) fn place(&self) -> ObjectName {
        if self.temporary {
            names::temporary(self.stored_name())
        } else {
            names::qualified(self.stored_schema(), self.stored_name())
        }
    }

    /// The schema that the engine finds it in.
    pub(crate) fn stored_schema(&self) -> &str {
        self.stored_in.as_deref().unwrap_or(&self.schema)
    }

    /// The name that the engine finds it by.
    pub(crate) fn stored_name(&self) -> &str {
        self.stored_as.as_deref().unwrap_or(&self.name)
    }

    /// The same table, of whose rows each passes a condition on each of these.
    #[must_use]
    pub fn with_checks(self, checks: &[Vec<String>]) -> Self {
        Self { checks: checks.to_vec(), ..self }
    }

    /// The columns of all its keys, the primary one among them.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[String]> {
        std::iter::once(self.primary_key.as_slice()).chain(self.unique.iter().map(Vec::as_slice))
    }

    pub(crate) fn is_key(&self, column: &str) -> bool {
        self.primary_key.iter().any(|key| key.eq_ignore_ascii_case(column))
    }

    /// The same under another name.
    pub fn renamed(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Is this its `schema.name`?
    pub fn is_at(&self, path: &str) -> bool {
        let (schema, name) = path.split_once('.').unwrap_or((MAIN_SCHEMA, path));
        self.schema.eq_ignore_ascii_case(schema) && self.name.eq_ignore_ascii_case(name)
    }

    /// `schema.name`, for people.
    pub fn path(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }
}

/// What the engine is told, to keep this with a table as ours: what people said of the table stays.
pub fn keeping(table: &Table, ours: &str) -> String {
    let (words, own_stage) = (table.comment.clone(), table.own_stage.clone());
    commented(table, &Comment { words, own_stage, ..Comment::ours(ours.to_owned()) })
}

/// What the engine is told, to keep this as the id of the table's own stage: what else is kept of the table stays.
pub fn keeping_stage(table: &Table, id: &str) -> String {
    let (words, ours) = (table.comment.clone(), table.origin.clone());
    commented(table, &Comment { words, ours, own_stage: Some(id.to_owned()), ..Comment::default() })
}

fn commented(table: &Table, comment: &Comment) -> String {
    let (kept, place) = (comment.kept(), table.place());
    let parts = names::parts(&place).unwrap_or_default().into_iter().map(|part| quote::name(&part.value));
    let kept = kept.map_or_else(|| "NULL".to_owned(), |kept| quote::text(&kept));
    format!("COMMENT ON TABLE {} IS {kept}", parts.collect::<Vec<_>>().join("."))
}
