//! Why a file of a stage cannot be read or written.

use contract::Code;
use contract::body::Problem;
use contract::storage_integration::StorageDenied;

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
    #[error("there is no storage integration {name}: name another, or ask an owner or admin to create it")]
    NoIntegration { name: String },
    #[error("{0}")]
    Denied(StorageDenied),
    #[error("a file of the stage has a name that cannot be used, {path:?}: name more of the path, or rename the file")]
    Unnameable { path: String },
    #[error("{path}: it was replaced meanwhile: try again")]
    Replaced { path: String },
    #[error("{path}: its store broke off while it was read: try again")]
    BrokenOff { path: String },
    #[error("storage integration {integration} does not fit its store: ask an owner or admin to correct it")]
    Unusable { integration: String },
    #[error("the store refuses the credentials of storage integration {integration}: ask an owner or admin for others")]
    Unauthorized { integration: String },
    #[error(
        "this data plane has no credentials of its own for storage integration {integration}: ask an owner or admin to \
         give it some, or the operator to allow them"
    )]
    NoAmbient { integration: String },
    #[error("storage integration {integration} leads to no public address: have the operator name its host")]
    Unreachable { integration: String },
    #[error(
        "storage integration {integration} has no credentials here until the control plane answers: try again then"
    )]
    Sealed { integration: String },
    #[error("the store of storage integration {integration} did not answer as it should: try again")]
    Away { integration: String },
}

impl From<StageFileFault> for Error {
    fn from(fault: StageFileFault) -> Self {
        Self::StageFile(fault)
    }
}

impl StageFileFault {
    pub(super) const fn code(&self) -> Code {
        match self {
            Self::NoStage { .. } | Self::Missing { .. } | Self::NoIntegration { .. } => Code::NotFound,
            Self::Exists { .. } | Self::Unusable { .. } => Code::Conflict,
            Self::Replaced { .. } => Code::WriteConflict,
            Self::Many { .. } | Self::Unnameable { .. } => Code::InvalidParams,
            Self::Denied(denied) => denied.code(),
            Self::Unauthorized { .. } | Self::NoAmbient { .. } | Self::Unreachable { .. } => Code::Forbidden,
            Self::TooLarge { .. } => Code::BodyTooLarge,
            Self::NoRoom => Code::OutOfMemory,
            Self::Unavailable | Self::BrokenOff { .. } | Self::Sealed { .. } | Self::Away { .. } => {
                Code::ServiceUnavailable
            }
        }
    }

    pub(super) fn told(&self, problem: Problem) -> Problem {
        match self {
            Self::NoStage { name } => problem.detail("stage", name.as_str()),
            Self::Missing { path } | Self::Exists { path } | Self::Unnameable { path } | Self::Replaced { path } => {
                problem.detail("path", path.as_str())
            }
            Self::BrokenOff { path } => problem.detail("path", path.as_str()).retry_after_s(1),
            Self::NoIntegration { name: integration }
            | Self::Unusable { integration }
            | Self::Unauthorized { integration }
            | Self::NoAmbient { integration }
            | Self::Unreachable { integration } => problem.detail("storage_integration", integration.as_str()),
            Self::Sealed { integration } | Self::Away { integration } => {
                problem.detail("storage_integration", integration.as_str()).retry_after_s(1)
            }
            Self::Denied(_) => problem,
            Self::Many { limit } => problem.detail("limit", *limit),
            Self::TooLarge { limit } => problem.detail("limit", *limit),
            Self::NoRoom => problem.detail("reason", "disk"),
            Self::Unavailable => problem.retry_after_s(1),
        }
    }
}
