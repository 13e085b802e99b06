//! The one table of error codes: the specification's three code tables joined, with the SQLSTATE
//! that the PostgreSQL wire shows for each row.
//!
//! A row that has no partner in one of the tables carries its one code in both columns. The door
//! chooses the body (`body`); a room or a stage only ever names the row.

mod advice;

use std::fmt;

/// When a caller may try again (specification, "Retry guidance").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Not with the same input.
    Never,
    /// Once.
    Once,
    /// With backoff of 2, 4 and 8 seconds, at most 3 attempts.
    Backoff,
    /// After `Retry-After`.
    RetryAfter,
}

macro_rules! codes {
    ($($name:ident, $http:literal, $control:literal, $stable:literal, $sqlstate:literal, $retry:ident, $meaning:literal;)+) => {
        /// A row of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($name),+ }

        impl Code {
            /// Every row, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// HTTP status.
            pub const fn http(self) -> u16 { match self { $(Self::$name => $http),+ } }
            /// Code of bodies 1 (control plane).
            pub const fn control_plane(self) -> &'static str { match self { $(Self::$name => $control),+ } }
            /// Code of bodies 2 and 3, and of `details.stable_code`.
            pub const fn stable(self) -> &'static str { match self { $(Self::$name => $stable),+ } }
            /// SQLSTATE on the PostgreSQL wire.
            pub const fn sqlstate(self) -> &'static str { match self { $(Self::$name => $sqlstate),+ } }
            pub const fn retry(self) -> Retry { match self { $(Self::$name => Retry::$retry),+ } }
            pub const fn meaning(self) -> &'static str { match self { $(Self::$name => $meaning),+ } }
            /// The row's name in this table.
            pub const fn name(self) -> &'static str { match self { $(Self::$name => stringify!($name)),+ } }
        }
    };
}

codes! {
//  row               http  control plane          stable                            sqlstate  retry       meaning
    BadSql             , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "42601", Never     , "SQL syntax error";
    ConversionFailed   , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22P02", Never     , "a value cannot be converted to the type asked for";
    ValueOutOfRange    , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22003", Never     , "a number is out of range for its type";
    TextTooLong        , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22001", Never     , "a text is longer than its column holds";
    DivisionByZero     , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22012", Never     , "division by zero";
    DataException      , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22000", Never     , "an expression cannot be computed: a conversion, a division by zero, a number out of range, or an argument that a function refuses";
    InvalidArgument    , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22023", Never     , "a function refuses its argument";
    UndefinedColumn    , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "42703", Never     , "no such column";
    UndefinedFunction  , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "42883", Never     , "no such function for these arguments";
    FailedTransaction  , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "25P02", Never     , "the transaction has failed: only ROLLBACK is accepted";
    InvalidIdentifier  , 400, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_IDENTIFIER"  , "42602", Never     , "identifier with disallowed characters or over 128 characters";
    InvalidParams      , 400, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_PARAMS"      , "22023", Never     , "missing or invalid parameter";
    QueryTooLarge      , 400, "VALIDATION_ERROR"    , "SVC_ERR_400_QUERY_TOO_LARGE"     , "54001", Never     , "statement over 1 MB";
    UnsupportedType    , 400, "SVC_ERR_400_UNSUPPORTED_TYPE", "SVC_ERR_400_UNSUPPORTED_TYPE", "0A000", Never , "type cannot be transpiled";
    MissingAuth        , 401, "UNAUTHORIZED"        , "SVC_ERR_401_MISSING_AUTH"        , "28P01", Never     , "no credential";
    InvalidKey         , 401, "UNAUTHORIZED"        , "SVC_ERR_401_INVALID_KEY"         , "28P01", Never     , "key matches no active key";
    ExpiredKey         , 401, "UNAUTHORIZED"        , "SVC_ERR_401_EXPIRED_KEY"         , "28P01", Never     , "key past expiry";
    ExpiredToken       , 401, "UNAUTHORIZED"        , "SVC_ERR_401_EXPIRED_TOKEN"       , "28P01", Never     , "JWT expired";
    InvalidToken       , 401, "UNAUTHORIZED"        , "SVC_ERR_401_INVALID_TOKEN"       , "28P01", Never     , "JWT signature or format invalid";
    Forbidden          , 403, "FORBIDDEN"           , "FORBIDDEN"                       , "42501", Never     , "insufficient permission";
    AddressDenied      , 403, "FORBIDDEN"           , "FORBIDDEN"                       , "28000", Never     , "the key may not be used from this address";
    ScopeViolation     , 403, "FORBIDDEN"           , "SVC_ERR_403_SCOPE_VIOLATION"     , "42501", Never     , "key scope does not permit the operation";
    CrossTenant        , 403, "FORBIDDEN"           , "SVC_ERR_403_CROSS_TENANT"        , "42501", Never     , "access to another organization's data";
    EnvMismatch        , 403, "FORBIDDEN"           , "SVC_ERR_403_ENV_MISMATCH"        , "28000", Never     , "credential bound to another environment";
    TableDenied        , 403, "POLICY_DENIED"       , "SVC_ERR_403_TABLE_DENIED"        , "42501", Never     , "table denied by policy";
    PolicyDenied       , 403, "POLICY_DENIED"       , "POLICY_DENIED"                   , "42501", Never     , "blocked by ABAC policy or agent capability";
    ColumnMasked       , 403, "SVC_ERR_403_COLUMN_MASKED", "SVC_ERR_403_COLUMN_MASKED"  , "01000", Never     , "informational: columns masked, query still runs";
    NotFound           , 404, "NOT_FOUND"           , "NOT_FOUND"                       , "42704", Never     , "resource missing";
    EnvNotFound        , 404, "NOT_FOUND"           , "SVC_ERR_404_ENV_NOT_FOUND"       , "3D000", Never     , "environment missing";
    TableNotFound      , 404, "NOT_FOUND"           , "SVC_ERR_404_TABLE_NOT_FOUND"     , "42P01", Never     , "table missing";
    AgentNotRegistered , 404, "NOT_FOUND"           , "SVC_ERR_404_AGENT_NOT_FOUND"     , "42704", Never     , "agent not registered";
    TriggerNotFound    , 404, "NOT_FOUND"           , "SVC_ERR_404_TRIGGER_NOT_FOUND"   , "42704", Never     , "trigger missing";
    BranchNotFound     , 404, "NOT_FOUND"           , "SVC_ERR_404_BRANCH_NOT_FOUND"    , "42704", Never     , "branch missing or discarded";
    MethodNotAllowed   , 405, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_PARAMS"      , "22023", Never     , "the path has no such method";
    QueryTimeout       , 408, "QUERY_TIMEOUT"       , "QUERY_TIMEOUT"                   , "57014", Never     , "exceeded the timeout";
    QueryCancelled     , 408, "QUERY_TIMEOUT"       , "QUERY_TIMEOUT"                   , "57014", Never     , "cancelled by its caller";
    Conflict           , 409, "CONFLICT"            , "CONFLICT"                        , "55000", Never     , "already exists or state conflict";
    DuplicateTable     , 409, "CONFLICT"            , "CONFLICT"                        , "42P07", Never     , "the table already exists";
    DependentObjects   , 409, "CONFLICT"            , "CONFLICT"                        , "2BP01", Never     , "something else depends on it";
    UniqueViolation    , 409, "CONFLICT"            , "CONFLICT"                        , "23505", Never     , "a unique constraint is violated";
    NotNullViolation   , 409, "CONFLICT"            , "CONFLICT"                        , "23502", Never     , "a not-null constraint is violated";
    ForeignKeyViolation, 409, "CONFLICT"            , "CONFLICT"                        , "23503", Never     , "a foreign key is violated";
    CheckViolation     , 409, "CONFLICT"            , "CONFLICT"                        , "23514", Never     , "a check constraint is violated";
    WriteConflict      , 409, "CONFLICT"            , "CONFLICT"                        , "40001", Once      , "another transaction changed the same row";
    Stale              , 412, "CONFLICT"            , "CONFLICT"                        , "55000", Never     , "the record changed since it was read";
    BodyTooLarge       , 413, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_PARAMS"      , "54000", Never     , "the body is larger than this endpoint takes";
    UnsupportedMedia   , 415, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_PARAMS"      , "22023", Never     , "the body is not of a type this endpoint takes";
    PolicyViolation    , 422, "POLICY_VIOLATION"    , "POLICY_VIOLATION"                , "42501", Never     , "blocked by ABAC policy";
    InvalidRule        , 422, "INVALID_RULE"        , "INVALID_RULE"                    , "22023", Never     , "policy rule references unknown attributes";
    InvalidDateRange   , 422, "INVALID_DATE_RANGE"  , "INVALID_DATE_RANGE"              , "22023", Never     , "start after end, or range over 90 days";
    AgentNotFound      , 422, "AGENT_NOT_FOUND"     , "AGENT_NOT_FOUND"                 , "42704", Never     , "referenced agent_id does not exist";
    DeliveryFailed     , 422, "DELIVERY_FAILED"     , "DELIVERY_FAILED"                 , "08006", Never     , "webhook test got a non-2xx reply";
    InvalidThresholds  , 422, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_PARAMS"      , "22023", Never     , "invalid billing thresholds";
    UnsupportedSql     , 422, "TRANSPILATION_ERROR" , "TRANSPILATION_ERROR"             , "0A000", Never     , "unsupported SQL construct";
    RateLimited        , 429, "RATE_LIMITED"        , "SVC_ERR_429_RATE_LIMIT"          , "53300", RetryAfter, "too many requests";
    ConcurrentLimit    , 429, "RATE_LIMITED"        , "SVC_ERR_429_CONCURRENT_LIMIT"    , "53300", RetryAfter, "concurrent query limit reached";
    QuotaExceeded      , 429, "QUOTA_EXCEEDED"      , "SVC_ERR_429_QUOTA_EXCEEDED"      , "53400", RetryAfter, "monthly quota used up";
    OutOfMemory        , 429, "QUOTA_EXCEEDED"      , "SVC_ERR_429_QUOTA_EXCEEDED"      , "53200", RetryAfter, "the query needs more memory than it may have";
    Internal           , 500, "INTERNAL_ERROR"      , "SVC_ERR_500_INTERNAL"            , "XX000", Once      , "unexpected failure";
    EngineCrash        , 500, "EXECUTION_ERROR"     , "SVC_ERR_500_ENGINE_CRASH"        , "XX000", Once      , "engine failure";
    TranspileFail      , 500, "SVC_ERR_500_TRANSPILE_FAIL", "SVC_ERR_500_TRANSPILE_FAIL", "0A000", Once      , "parsed but not transpilable";
    ProxyUnreachable   , 502, "SVC_ERR_502_PROXY_UNREACHABLE", "SVC_ERR_502_PROXY_UNREACHABLE", "08006", Backoff, "data plane proxy unreachable";
    ControlPlaneDown   , 502, "SVC_ERR_502_CONTROL_PLANE_DOWN", "SVC_ERR_502_CONTROL_PLANE_DOWN", "08006", Backoff, "proxy cannot reach the control plane, and knows no policy to enforce";
    ServiceUnavailable , 503, "SERVICE_UNAVAILABLE" , "SERVICE_UNAVAILABLE"             , "57P03", RetryAfter, "temporarily unavailable";
    CircuitOpen        , 503, "SERVICE_UNAVAILABLE" , "SVC_ERR_503_CIRCUIT_OPEN"        , "57P03", RetryAfter, "circuit breaker open";
    ShuttingDown       , 503, "SERVICE_UNAVAILABLE" , "SVC_ERR_503_SHUTTING_DOWN"       , "57P01", RetryAfter, "graceful shutdown: in-flight queries complete, new ones are rejected";
    Maintenance        , 503, "SERVICE_UNAVAILABLE" , "SVC_ERR_503_MAINTENANCE"         , "57P03", RetryAfter, "planned maintenance";
}

impl Code {
    /// Whether the values that a statement met are at fault, and not its text: class 22 under the code of a bad statement.
    pub fn is_of_data(self) -> bool {
        self.stable() == Self::BadSql.stable() && self.sqlstate().starts_with("22")
    }

    /// The row that an error body names. Where several rows have its code and status, its SQLSTATE tells them apart.
    pub fn told(stable: &str, http: u16, sqlstate: Option<&str>) -> Option<Self> {
        let fits = |code: &&Self| code.stable() == stable && code.http() == http;
        let said = Self::ALL.iter().filter(fits).find(|code| Some(code.sqlstate()) == sqlstate);
        said.or_else(|| Self::ALL.iter().find(fits)).copied()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.stable())
    }
}

/// The table as Markdown: the error catalogue.
pub fn markdown() -> String {
    let mut out = String::from(
        "| HTTP | control plane | stable | SQLSTATE | retry | meaning | what to do |\n|---|---|---|---|---|---|---|\n",
    );
    for code in Code::ALL {
        let cells = [code.control_plane(), code.stable(), code.sqlstate()].map(|cell| format!("`{cell}`")).join(" | ");
        let (retry, meaning, advice) = (code.retry(), code.meaning(), code.advice());
        let row = format!("| {} | {cells} | {retry:?} | {meaning} | {advice} |\n", code.http());
        out.push_str(&row);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stable_code_says_its_status() {
        for code in Code::ALL {
            let Some(digits) = code.stable().strip_prefix("SVC_ERR_").and_then(|rest| rest.get(..3)) else {
                continue;
            };
            let shares_a_neighbour = matches!(
                code,
                Code::MethodNotAllowed | Code::BodyTooLarge | Code::UnsupportedMedia | Code::InvalidThresholds
            );
            assert!(shares_a_neighbour || digits == code.http().to_string(), "{code:?}");
        }
    }

    #[test]
    fn the_advice_for_a_timeout_names_the_longest_there_is() {
        let advice = Code::QueryTimeout.advice();
        assert!(advice.ends_with(&format!("timeout_ms, up to {}", crate::wire::TIMEOUT_MS_MAX)), "{advice}");
    }

    #[test]
    fn every_sqlstate_has_five_characters() {
        for code in Code::ALL {
            assert_eq!(code.sqlstate().len(), 5, "{code:?}");
        }
    }
}
