//! What to do about each row of the table.

use super::{Code, Retry};

impl Code {
    /// Present tense, to whoever got the error.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::BadSql => "correct the statement at the place that is shown",
            Self::ConversionFailed => "cast with TRY_CAST, which gives NULL, or leave such values out",
            Self::ValueOutOfRange | Self::TextTooLong => "use a wider type, as BIGINT, a larger DECIMAL or VARCHAR",
            Self::DivisionByZero => "divide by NULLIF(x, 0), which gives NULL",
            Self::DataException => {
                "use TRY_CAST, NULLIF(x, 0), wider types; asked one after the other, each expression says which it is"
            }
            Self::InvalidArgument => "look up what the function takes",
            Self::UndefinedColumn => "look at the table's columns; a name in double quotes is taken as written",
            Self::UndefinedFunction => "cast the arguments, or use another function",
            Self::FailedTransaction => "send ROLLBACK, then begin again",
            Self::InvalidIdentifier => "use a name of at most 128 characters, without control characters",
            Self::InvalidParams => "correct the member that details.field names",
            Self::QueryTooLarge => "divide it, and load data with COPY",
            Self::UnsupportedType => "use a type that the dialect's page lists",
            Self::MissingAuth => "send a key or a token in the header Authorization",
            Self::InvalidKey => "look whether the key is whole and not revoked; make a new one if it is",
            Self::ExpiredKey => "make a new key, or rotate before the old one expires",
            Self::ExpiredToken => "refresh the token, or log in again",
            Self::InvalidToken => "log in again",
            Self::Forbidden => "ask an owner or admin of the organization for it",
            Self::AddressDenied => "come from an address that the key allows, or let an admin extend its list",
            Self::ScopeViolation => "use a key that has the scope of details.scope: an owner or admin makes one",
            Self::CrossTenant => "use a credential of that organization",
            Self::EnvMismatch => "use a key of that environment",
            Self::TableDenied | Self::PolicyDenied | Self::PolicyViolation => {
                "ask an admin: a policy, a role or a grant decides it, and `sluice policies test` shows them why"
            }
            Self::ColumnMasked => "nothing: the query has run, and these columns show masks",
            Self::NotFound | Self::AgentNotRegistered | Self::AgentNotFound | Self::TriggerNotFound => {
                "look for it in the list; what belongs to others is not there for you"
            }
            Self::EnvNotFound => "look for the environment in the organization's list",
            Self::TableNotFound => "look at the tables that you may see, and name the schema",
            Self::BranchNotFound => "list the branches; one that has ended is not opened again",
            Self::MethodNotAllowed => "use a method that the API's reference lists for the path",
            Self::QueryTimeout => "ask for less, or give it more time with timeout_ms, up to 300000",
            Self::QueryCancelled => "nothing: somebody who may has cancelled it",
            Self::Conflict => "look how it stands now, and decide again",
            Self::DuplicateTable => "use another name, CREATE OR REPLACE, or IF NOT EXISTS",
            Self::DependentObjects => "drop what depends on it first",
            Self::UniqueViolation => "leave out rows whose key is there, or MERGE them",
            Self::NotNullViolation => "give the column a value",
            Self::ForeignKeyViolation => "write the row that is referred to first",
            Self::CheckViolation => "give values that the table's check allows",
            Self::WriteConflict => "run the transaction again",
            Self::Stale => "read it again, and send its new ETag",
            Self::BodyTooLarge => "send less at once",
            Self::UnsupportedMedia => "send Content-Type: application/json",
            Self::InvalidRule => "ask only about attributes that somebody has, and about columns that exist",
            Self::InvalidDateRange => "give a start before the end, at most 90 days apart",
            Self::DeliveryFailed => "look at what the receiver answered: it is in the delivery",
            Self::InvalidThresholds => "give shares from 0.0 to 1.0, the warning not above the critical one",
            Self::UnsupportedSql => {
                "write it without the construct that is named; the dialect's page lists what there is"
            }
            Self::RateLimited | Self::ConcurrentLimit => "wait as long as Retry-After says, and ask less often",
            Self::QuotaExceeded => "wait until details.until, or raise the quota; of what is limited ask for less",
            Self::OutOfMemory => "aggregate or filter earlier, or run it in parts",
            Self::Internal | Self::EngineCrash => "try once more; then report it with the request id",
            Self::TranspileFail => "write it more simply; report it with the request id",
            Self::ProxyUnreachable | Self::ControlPlaneDown | Self::CircuitOpen => {
                "try again in a moment; /ready says what is missing"
            }
            Self::ServiceUnavailable | Self::ShuttingDown | Self::Maintenance => {
                "try again after as long as Retry-After says"
            }
        }
    }
}

impl Retry {
    /// "Retry guidance", in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Never => "not with the same input",
            Self::Once => "once",
            Self::Backoff => "after 2, 4 and 8 seconds",
            Self::RetryAfter => "after Retry-After",
        }
    }
}
