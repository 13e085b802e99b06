//! Why a file of a stage cannot be read or written.

use contract::body::Problem;
use contract::storage_integration::StorageDenied;

contract::coded! {
    /// Why a file of a stage cannot be read or written.
    #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
    pub enum StageFileFault {
        #[error("there is no stage {name}: SHOW STAGES lists those that there are")]
        NoStage { name: String } => NotFound,
        #[error("the stage has no file {path}: LIST it to see the files that it has")]
        Missing { path: String } => NotFound,
        #[error("the stage has a file {path} already: say OVERWRITE = TRUE, or write another")]
        Exists { path: String } => Conflict,
        #[error("more than {limit} files of the stage have paths that begin so: name more of the path")]
        Many { limit: usize } => InvalidParams,
        #[error("a file of a stage has at most {} MiB: put it there in parts", .limit >> 20)]
        TooLarge { limit: u64 } => BodyTooLarge,
        #[error("the environment's disk has no room for the file: remove files that are not needed")]
        NoRoom => OutOfMemory,
        #[error("the files of stages cannot be read or written now: try again")]
        Unavailable => ServiceUnavailable,
        #[error("there is no storage integration {name}: name another, or ask an owner or admin to create it")]
        NoIntegration { name: String } => NotFound,
        #[error("{0}")]
        Denied(StorageDenied),
        #[error("a file of the stage has a name that cannot be used, {path:?}: name more of the path, or rename the file")]
        Unnameable { path: String } => InvalidParams,
        #[error("{path}: it was replaced meanwhile: try again")]
        Replaced { path: String } => WriteConflict,
        #[error("{path}: its store broke off while it was read: try again")]
        BrokenOff { path: String } => ServiceUnavailable,
        #[error("storage integration {integration} does not fit its store: ask an owner or admin to correct it")]
        Unusable { integration: String } => Conflict,
        #[error("the store refuses the credentials of storage integration {integration}: ask an owner or admin for others")]
        Unauthorized { integration: String } => Forbidden,
        #[error(
            "this data plane has no credentials of its own for storage integration {integration}: ask an owner or admin to \
             give it some, or the operator to allow them"
        )]
        NoAmbient { integration: String } => Forbidden,
        #[error("storage integration {integration} leads to no public address: have the operator name its host")]
        Unreachable { integration: String } => Forbidden,
        #[error(
            "storage integration {integration} has no credentials here until the control plane answers: try again then"
        )]
        Sealed { integration: String } => ServiceUnavailable,
        #[error("the store of storage integration {integration} did not answer as it should: try again")]
        Away { integration: String } => ServiceUnavailable,
    }

    Self::Denied(denied) => denied.code(),
}

impl StageFileFault {
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
