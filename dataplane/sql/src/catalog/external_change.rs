//! Changes of a statement to the known files of an external table.

use crate::catalog::staged_rows::StagedRows;

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
    /// The one of this id is gone.
    Dropped { id: String },
    /// It is as it was: one that is there already, or none that is dropped.
    Nothing,
}
