//! Details of an error in a body, beside its code and message.

use contract::Code;
use contract::body::Problem;

use super::class::engine_code;
use super::statement::sql_details;
use super::{Error, file, told};

impl Error {
    /// The error for any body: code, words, particulars.
    pub fn problem(&self) -> Problem {
        let problem = Problem::new(self.code(), self.to_string());
        match self {
            Self::Sql(error) => sql_details(problem, error),
            Self::Engine(error) if engine_code(error) == Code::OutOfMemory => problem.detail("reason", "memory"),
            Self::ColumnMissing { name: column } | Self::Rounded { column, .. } => {
                problem.detail("column", column.as_str())
            }
            Self::Hinted { error, hint } => hint.told(Problem { message: problem.message, ..error.problem() }),
            Self::TableDenied { table }
            | Self::OpenedOnBranch { table }
            | Self::Governed { table }
            | Self::Undroppable { table }
            | Self::Reshaped { table }
            | Self::HiddenOnBranch { table }
            | Self::FilledOnBranch { table }
            | Self::KeyBroken { table, .. }
            | Self::MaskedOnBranch { table } => problem.detail("table", table.as_str()),
            Self::Lacks(lack) => lack.told(problem),
            Self::NotOnBranch { table, has } => {
                problem.detail("reason", "branch").detail("table", table.as_str()).detail("tables", has.clone())
            }
            Self::Suspended { .. } => problem.detail("reason", "suspended"),
            Self::NotYours { .. } => problem.detail("reason", "not_yours"),
            Self::NotThatAgent { .. } => problem.detail("reason", "not_that_agent"),
            Self::SecondFactorDue => problem.detail("reason", "mfa_required"),
            Self::InvalidParams { field, .. } | Self::AgentNotRegistered { field } => problem.detail("field", *field),
            Self::InvalidArgument { field, .. } => problem.detail("field", field.as_str()),
            Self::FileRefused(fault) => file::told(problem, "body", fault),
            Self::StagedFileRefused { path, fault } => file::told(problem, path, fault),
            Self::FileTooLarge { limit } => problem.detail("limit", *limit),
            Self::StageFile(fault) => fault.told(problem),
            Self::Attached(fault) => fault.told(problem),
            Self::DefinedOnBranch { what } => problem.detail("construct", *what).detail("reason", "branch"),
            Self::StaleMemory { current } => problem.detail("version", *current),
            Self::MemoryFull { limit } => problem.detail("reason", "memories").detail("limit", *limit),
            Self::BranchClosed { status } => problem.detail("reason", *status),
            Self::BranchTooLarge { what, limit } => problem.detail("reason", *what).detail("limit", *limit),
            Self::TriggersFull { limit } => problem.detail("reason", "triggers").detail("limit", *limit),
            Self::AgentsFull { limit } => problem.detail("reason", "agents").detail("limit", *limit),
            Self::BranchesFull { limit } => problem.detail("reason", "branches").detail("limit", *limit),
            Self::RuntimeTooLarge { .. } => problem.detail("reason", "runtime_rows"),
            Self::AnswerTooLarge { limit } => problem.detail("reason", "bytes").detail("limit", *limit),
            Self::ConcurrentLimit
            | Self::TooManyOpen { .. }
            | Self::NotReady
            | Self::Unrecorded
            | Self::KeyChecksBusy
            | Self::BranchBusy => problem.retry_after_s(1),
            // sooner where somebody changes the tier
            Self::QuotaExceeded { until } => problem.detail("until", told(until)).retry_after_s(3_600),
            Self::RowLimit { limit } | Self::GrantedRows { limit } => {
                problem.detail("reason", "rows").detail("limit", *limit)
            }
            Self::HourlyLimit { limit, until } => {
                problem.detail("reason", "queries_per_hour").detail("limit", *limit).detail("until", told(until))
            }
            Self::CursorOver { .. } => problem.detail("reason", "cursor"),
            Self::KeyMismatch => problem.detail("reason", "idempotency_mismatch"),
            Self::KeyInProgress => problem.detail("reason", "in_progress").retry_after_s(2),
            Self::TierLimit => problem.detail("reason", "tier_limit").detail("quota", "arrow"),
            Self::StorageLimit { limit } => {
                problem.detail("reason", "tier_limit").detail("quota", "storage").detail("limit", *limit)
            }
            Self::ShuttingDown => problem.retry_after_s(30),
            _ => problem,
        }
    }
}
