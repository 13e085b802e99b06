//! Errors of a file that is loaded: the line, and the reason in words of ours.

use contract::body::Problem;
use engine::{FileFault, Kind};

use super::Error;

/// The key of the history of loads, as the engine tells it.
const LOADED_KEY: [&str; 3] = ["table_name: ", "stage_id: ", "path: "];

impl Error {
    /// The same, told by the file's line where the file is at fault.
    pub(crate) fn of_file(self) -> Self {
        let fault = match &self {
            Self::Engine(error) => FileFault::of(error),
            Self::Hinted { error, .. } => match error.as_ref() {
                Self::Engine(error) => FileFault::of(error),
                _ => None,
            },
            _ => None,
        };
        fault.map_or(self, Self::FileRefused)
    }

    /// The same, where a file was loaded by two statements at once: only one of them writes that down.
    pub(crate) fn of_load(self) -> Self {
        let is_key = |message: &str| LOADED_KEY.iter().all(|column| message.contains(column));
        match self {
            Self::Engine(error) if error.kind == Kind::Constraint && is_key(&error.message) => Self::LoadedMeanwhile,
            other => other,
        }
    }

    /// A fault that we have found ourselves.
    pub(crate) fn file(line: Option<u64>, reason: impl Into<String>) -> Self {
        Self::FileRefused(FileFault { line, reason: reason.into() })
    }
}

pub(super) fn refusal(FileFault { line, reason }: &FileFault) -> String {
    match line {
        Some(line) => format!("line {line} of the file: {reason}; nothing was loaded"),
        None => format!("the file: {reason}; nothing was loaded"),
    }
}

pub(super) fn staged_refusal(path: &str, FileFault { line, reason }: &FileFault) -> String {
    match line {
        Some(line) => format!("line {line} of {path}: {reason}"),
        None => format!("{path}: {reason}"),
    }
}

/// `field` is where the file was given.
pub(super) fn told(problem: Problem, field: &str, fault: &FileFault) -> Problem {
    let problem = problem.detail("field", field);
    match fault.line {
        Some(line) => problem.detail("line", line),
        None => problem,
    }
}
