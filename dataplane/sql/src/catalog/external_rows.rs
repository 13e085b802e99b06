//! The rows of an external table as a bound statement reads them, and what a statement changes of its files.

use crate::ast::{names, quote};
use crate::catalog::definition::{Definition, DefinitionKind};
use crate::catalog::external_table::{ExternalColumn, KeptExternalTable, PartitionCondition};
use crate::catalog::table::{Column, Table};

/// How the rows of an external table come from the records of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalRows {
    pub schema: String,
    pub name: String,
    /// By which the files of its last refresh are known.
    pub id: String,
    /// The engine's name of the temporary table of its rows.
    pub kept_as: String,
    pub columns: Vec<Column>,
    /// What these are made of; the first is the whole record.
    pub(crate) made: Vec<ExternalColumn>,
    /// Names of columns by which files may be left out.
    pub(crate) partitions: Vec<String>,
    /// Which rows are read, as far as columns of partitions say it.
    pub(crate) conditions: Vec<PartitionCondition>,
    /// All that its files have is read, whatever is asked of it.
    pub(crate) is_whole: bool,
}

impl ExternalRows {
    /// `schema.table`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// Whether files may be left out by the column of this name.
    pub(crate) fn is_partition(&self, column: &str) -> bool {
        self.partitions.iter().any(|known| known.eq_ignore_ascii_case(column))
    }

    /// The same that leaves out no file, and nothing of one.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { conditions: Vec::new(), is_whole: true, ..self }
    }

    /// The engine's full name of the temporary table.
    pub fn place(&self) -> String {
        [names::TEMP_CATALOG, names::TEMP_SCHEMA, self.kept_as.as_str()].map(quote::name).join(".")
    }

    /// What makes the temporary table, without rows.
    pub fn created(&self) -> String {
        let column = |column: &Column| format!("{} {}", quote::name(&column.name), column.type_name);
        let columns: Vec<_> = self.columns.iter().map(column).collect();
        format!("CREATE OR REPLACE TEMP TABLE {} ({})", self.place(), columns.join(", "))
    }
}

impl Table {
    /// The external table that a view of the engine stands for, if it does.
    pub fn of_external(definition: &Definition) -> Option<Self> {
        let kept = Some(&definition.text).filter(|_| definition.kind == DefinitionKind::View)?;
        let kept = KeptExternalTable::read(kept, definition.homes())?;
        let mut table = Self::new(&definition.schema, &definition.name, definition.columns.clone());
        (table.external, table.comment) = (Some(std::sync::Arc::new(kept)), definition.comment.clone());
        Some(table)
    }

    pub fn is_external(&self) -> bool {
        self.external.is_some()
    }

    /// The same as the engine has it: a relation without rows.
    #[must_use]
    pub fn without_files(mut self) -> Self {
        self.external = None;
        self
    }
}
