//! Why a table of an attached database cannot be read.

use contract::body::Problem;
use contract::storage_integration::StorageDenied;

contract::coded! {
    /// Why a table of an attached database cannot be read. Of the database nothing is told but its name here.
    #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
    pub enum AttachedFault {
        #[error("database {database} is at no host that may be reached: have the operator name its host")]
        Unreachable { database: String } => Forbidden,
        #[error("database {database} refuses the user of its storage integration: ask an owner or admin for another")]
        Unauthorized { database: String } => Forbidden,
        #[error("storage integration {database} does not fit its database: ask an owner or admin to correct it")]
        Unusable { database: String } => Conflict,
        #[error("database {database} did not answer as it should: try again")]
        Away { database: String } => ServiceUnavailable,
        #[error(
            "database {database} has more than {limit} columns to read: ask an owner or admin to allow fewer of its tables"
        )]
        TooLarge { database: String, limit: usize } => Conflict,
        #[error("{0}")]
        Denied(StorageDenied),
        #[error("the storage integration of database {database} has changed meanwhile: run the statement again")]
        Reattached { database: String } => WriteConflict,
        /// Since its catalogue was read.
        #[error("table {table} has other columns in its database than it had: run the statement again")]
        Changed { table: String } => WriteConflict,
        #[error("the database refuses to read table {table} (SQLSTATE {state}): ask who manages it")]
        Refused { table: String, state: String } => Conflict,
        #[error("a value of table {table} is none that its column can have here: ask for other columns")]
        Value { table: String } => ConversionFailed,
        #[error("a row of table {table} cannot be read: {reason}")]
        Row { table: String, reason: String } => ConversionFailed,
    }

    Self::Denied(denied) => denied.code(),
}

impl AttachedFault {
    pub(super) fn told(&self, problem: Problem) -> Problem {
        match self {
            Self::Unreachable { database }
            | Self::Unauthorized { database }
            | Self::Unusable { database }
            | Self::Reattached { database } => problem.detail("storage_integration", database.as_str()),
            Self::Away { database } => problem.detail("storage_integration", database.as_str()).retry_after_s(1),
            Self::TooLarge { database, limit } => {
                problem.detail("storage_integration", database.as_str()).detail("limit", *limit)
            }
            Self::Denied(_) => problem,
            Self::Changed { table } | Self::Value { table } | Self::Row { table, .. } | Self::Refused { table, .. } => {
                problem.detail("table", table.as_str())
            }
        }
    }
}
