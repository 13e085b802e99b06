//! One file per environment, one process that has it open.
//!
//! The file is `raw.duckdb`, so its catalog is `raw`. Our own tables are `_svc*` schemas of the same
//! file, because a transaction can write only one database.

use std::path::{Path, PathBuf};

/// Schemas that begin so are ours and hidden.
pub const OURS: &str = "_svc";

pub struct Native {
    file: PathBuf,
}

impl Native {
    pub fn new(data: &Path) -> Self {
        Self { file: data.join("raw.duckdb") }
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Made at every open, before the configuration is locked.
    ///
    /// `changes` is the specification's write-ahead log: a row for each table a query wrote, in the
    /// same transaction as the write, before the first byte of the answer. `memories` is what agents
    /// keep: every version a row, the live one without an end. `steps` is their chain of thought. `branches`
    /// says which copies of tables there are, in schemas of their own. `answers` is what was told of statements that
    /// came with a key of their own, for a day. `files` is what COPY INTO has loaded, and `asked` what each was asked, for
    /// 64 days. Files of before get the columns that came later.
    pub fn prelude() -> impl Iterator<Item = &'static str> {
        include_str!("prelude.sql").split(';').map(str::trim).filter(|statement| !statement.is_empty())
    }

    /// A statement that reads this catalog, so that a transaction's snapshot is taken now.
    pub const TOUCH: &'static str = "select rows from raw._svc_dirty.changes limit 0";

    pub const TRACK: &'static str = "insert into raw._svc_dirty.changes values ($1, $2, $3, $4, $5, $6)";

    pub const CHECKPOINT: &'static str = "checkpoint raw";
}
