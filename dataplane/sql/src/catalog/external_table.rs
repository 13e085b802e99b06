//! An external table: columns that are made of the records of a stage's files, and what the engine keeps of it.
//!
//! The engine has a view without rows of its name, so that names collide and columns are listed as they should. With it,
//! as a comment, are two ids and the statement that made it. Its rows are those of the files of its last refresh.

use sqlparser::ast::{DataType, Expr, Ident, ObjectName};

use crate::ast::expression;
use crate::ast::names;
use crate::catalog::stage::StageFormat;

/// The column that every external table has: a whole record of a file.
pub const RECORD_COLUMN: &str = "VALUE";

/// Before the ids that are kept; no statement begins so.
const HEAD: &str = "external table ";

/// The record of an external table beside the names and types of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptExternalTable {
    /// Names the files that are known of it, whatever the table is called.
    pub id: String,
    /// The stage that it is over: another of the same name is not it.
    pub stage_id: String,
    /// The statement that made it.
    pub text: String,
    /// The schemas in which names without one were looked for.
    pub homes: Vec<String>,
    /// All of it, as it is kept.
    pub kept: String,
}

impl KeptExternalTable {
    /// What this text of a definition keeps, if that is of an external table.
    pub(crate) fn read<'h>(kept: &str, homes: impl Iterator<Item = &'h str>) -> Option<Self> {
        let (ids, text) = kept.strip_prefix(HEAD)?.split_once('\n')?;
        let (id, stage_id) = ids.split_once(' ')?;
        let homes = homes.map(str::to_owned).collect();
        let (id, stage_id, text, kept) = (id.to_owned(), stage_id.to_owned(), text.to_owned(), kept.to_owned());
        Some(Self { id, stage_id, text, homes, kept })
    }

    /// What is kept of one that this statement makes.
    pub(crate) fn written(id: &str, stage_id: &str, text: &str) -> String {
        format!("{HEAD}{id} {stage_id}\n{text}")
    }
}

/// The definition of an external table in its statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalDefinition {
    /// Those beside the whole record.
    pub(crate) columns: Vec<ExternalColumn>,
    /// Names of columns by which files are left out.
    pub(crate) partition_by: Vec<Ident>,
    /// As trees have it.
    pub(crate) stage: ObjectName,
    /// How the paths of its files begin.
    pub(crate) prefix: String,
    /// A regular expression that they match.
    pub(crate) pattern: Option<String>,
    /// In place of the stage's own.
    pub(crate) format: Option<StageFormat>,
    /// Its files are looked for when it is made.
    pub(crate) is_filled: bool,
    pub(crate) comment: Option<String>,
}

/// A column of an external table, and what its values are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExternalColumn {
    pub name: Ident,
    pub data_type: DataType,
    pub expr: Expr,
}

impl ExternalColumn {
    /// Its value of a record.
    pub fn value(&self) -> Expr {
        expression::cast(Expr::Nested(Box::new(self.expr.clone())), self.data_type.clone())
    }
}

/// The values that a column of partitions has where a statement reads a row of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PartitionCondition {
    pub column: String,
    /// Literals; never none.
    pub values: Vec<Expr>,
}

/// The whole record as a column of a tree.
pub(crate) fn record() -> Expr {
    Expr::Identifier(names::quoted(RECORD_COLUMN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_and_the_text_of_a_view_is_none() {
        let kept = KeptExternalTable::written("q1", "q0", "CREATE EXTERNAL TABLE t\nLOCATION = @s");
        let read = KeptExternalTable::read(&kept, ["main"].into_iter()).unwrap();
        assert_eq!((read.id.as_str(), read.stage_id.as_str()), ("q1", "q0"));
        assert_eq!(read.text, "CREATE EXTERNAL TABLE t\nLOCATION = @s");
        assert_eq!((read.kept, read.homes), (kept, vec!["main".to_owned()]));
        assert!(KeptExternalTable::read("CREATE VIEW v AS SELECT 1", std::iter::empty()).is_none());
    }
}
