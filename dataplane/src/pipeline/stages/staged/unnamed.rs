//! Faults of files in words that tell of no file, no line and no value: a rule may hide them from who asks.

use engine::{FileFault, Kind};
use sql::StagedRows;

use crate::Error;
use crate::error::StageFileFault;

/// Why what is called so cannot be read.
pub(super) fn told(called: String, reason: String) -> Error {
    Error::StagedFileRefused { path: called, fault: FileFault { line: None, reason } }
}

/// What is wrong with a file of a stage that a rule names for who asks.
pub(super) fn of_stage(rows: &StagedRows, error: Error) -> Error {
    fault(&format!("stage {}", rows.path()), error)
}

/// What is wrong with a file of what is called so.
pub(super) fn fault(called: &str, error: Error) -> Error {
    let called = called.to_owned();
    match error {
        Error::StagedFileRefused { .. } => told(
            called,
            "a file of it has a record that is none of its format, or a value that is none of its column's type"
                .to_owned(),
        ),
        Error::StageFile(
            StageFileFault::Missing { .. } | StageFileFault::Exists { .. } | StageFileFault::Unnameable { .. },
        ) => told(called, "a file of its stage cannot be read: ask somebody who may LIST the stage".to_owned()),
        Error::StageFile(StageFileFault::Replaced { .. }) => StageFileFault::Replaced { path: called }.into(),
        Error::StageFile(StageFileFault::BrokenOff { .. }) => StageFileFault::BrokenOff { path: called }.into(),
        Error::Engine(error) if is_of_engine(error.kind) => Error::Engine(error),
        Error::Engine(_) | Error::ColumnMissing { .. } => {
            told(called, "its columns cannot be made of a record of its files".to_owned())
        }
        other => other,
    }
}

/// Whether an error follows from no record.
fn is_of_engine(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Timeout
            | Kind::Interrupted
            | Kind::Crashed
            | Kind::Starved
            | Kind::Fatal
            | Kind::Unavailable
            | Kind::TransactionAborted
            | Kind::WriteConflict
            | Kind::OutOfMemory
            | Kind::TempSpace
    )
}
