//! Changes of a statement to the known files of an external table.

use crate::catalog::staged_rows::StagedRows;

/// How files that a statement names become known of an external table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListChange {
    Added,
    Removed,
}

/// A change of the files that are known of an external table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExternalChange {
    Made {
        rows: Box<StagedRows>,
        /// The id of the one in whose place it is.
        replaces: Option<String>,
        /// Whether its files are looked for.
        is_filled: bool,
    },
    /// Files whose paths begin so are looked for anew.
    Refreshed { rows: Box<StagedRows> },
    /// The files of these paths are among them from now on, or no longer.
    Listed { rows: Box<StagedRows>, paths: Vec<String>, change: ListChange },
    /// The one of this id is gone.
    Dropped { id: String },
    /// It is as it was: one that is there already, or none that is dropped.
    Nothing,
}
