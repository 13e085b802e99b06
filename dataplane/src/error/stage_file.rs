//! Why a file of a stage cannot be read or written.

use contract::Code;
use contract::body::Problem;

use super::Error;

/// Why a file of a stage cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StageFileFault {
    #[error("there is no stage {name}: SHOW STAGES lists those that there are")]
    NoStage { name: String },
    #[error("the stage has no file {path}: LIST it to see the files that it has")]
    Missing { path: String },
    #[error("the stage has a file {path} already: say OVERWRITE = TRUE, or write another")]
    Exists { path: String },
    #[error("more than {limit} files of the stage have paths that begin so: name more of the path")]
    Many { limit: usize },
    #[error("a file of a stage has at most {} MiB: put it there in parts", .limit >> 20)]
    TooLarge { limit: u64 },
    #[error("the environment's disk has no room for the file: remove files that are not needed")]
    NoRoom,
    #[error("the files of stages cannot be read or written now: try again")]
    Unavailable,
}

impl From<StageFileFault> for Error {
    fn from(fault: StageFileFault) -> Self {
        Self::StageFile(fault)
    }
}

impl StageFileFault {
    pub(super) const fn code(&self) -> Code {
        match self {
            Self::NoStage { .. } | Self::Missing { .. } => Code::NotFound,
            Self::Exists { .. } => Code::Conflict,
            Self::Many { .. } => Code::InvalidParams,
            Self::TooLarge { .. } => Code::BodyTooLarge,
            Self::NoRoom => Code::OutOfMemory,
            Self::Unavailable => Code::ServiceUnavailable,
        }
    }

    pub(super) fn told(&self, problem: Problem) -> Problem {
        match self {
            Self::NoStage { name } => problem.detail("stage", name.as_str()),
            Self::Missing { path } | Self::Exists { path } => problem.detail("path", path.as_str()),
            Self::Many { limit } => problem.detail("limit", *limit),
            Self::TooLarge { limit } => problem.detail("limit", *limit),
            Self::NoRoom => problem.detail("reason", "disk"),
            Self::Unavailable => problem.retry_after_s(1),
        }
    }
}
