//! The one table of error codes: the specification's three code tables joined, with the SQLSTATE
//! that the PostgreSQL wire shows for each row.
//!
//! A row that has no partner in one of the tables carries its one code in both columns. The protocol
//! chooses the body (`body`); a handler or a stage only ever names the row.

mod coded;
mod exit_class;

use std::fmt;

pub use exit_class::ExitClass;

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

// Advice that several rows share.
const WIDEN: &str = "use a wider type, as BIGINT, a larger DECIMAL or VARCHAR";
const ASK_AN_ADMIN: &str =
    "ask an admin: a policy, a role or a grant decides it, and `sluice policies test` shows them why";
const LOOK_IN_THE_LIST: &str = "look for it in the list; what belongs to others is not there for you";
const WAIT: &str = "wait as long as Retry-After says, and ask less often";
const REPORT: &str = "try once more; then report it with the request id";
const TRY_IN_A_MOMENT: &str = "try again in a moment; /ready says what is missing";
const TRY_LATER: &str = "try again after as long as Retry-After says";

macro_rules! codes {
    ($($name:ident, $http:literal, $control:literal, $stable:literal, $sqlstate:literal, $retry:ident, $exit:ident, $meaning:literal,
        $advice:expr;)+) => {
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
            /// What to do about it: present tense, to whoever got the error.
            pub const fn advice(self) -> &'static str { match self { $(Self::$name => $advice),+ } }
            /// The class of a command that failed of it.
            pub const fn exit_class(self) -> ExitClass { match self { $(Self::$name => ExitClass::$exit),+ } }
            /// The row's name in this table.
            pub const fn name(self) -> &'static str { match self { $(Self::$name => stringify!($name)),+ } }
        }
    };
}

codes! {
//  row               http  control plane          stable                            sqlstate  retry       exit     meaning, advice
    BadSql             , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "42601", Never     , Other  , "SQL syntax error", "correct the statement at the place that is shown";
    ConversionFailed   , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22P02", Never     , Other  , "a value cannot be converted to the type asked for", "cast with TRY_CAST, which gives NULL, or leave such values out";
    ValueOutOfRange    , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22003", Never     , Other  , "a number is out of range for its type", WIDEN;
    TextTooLong        , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22001", Never     , Other  , "a text is longer than its column holds", WIDEN;
    DivisionByZero     , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22012", Never     , Other  , "division by zero", "divide by NULLIF(x, 0), which gives NULL";
    DataException      , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22000", Never     , Other  , "an expression cannot be computed: a conversion, a division by zero, a number out of range, or an argument that a function refuses", "use TRY_CAST, NULLIF(x, 0), wider types; asked one after the other, each expression says which it is";
    InvalidArgument    , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "22023", Never     , Other  , "a function refuses its argument", "look up what the function takes";
    UndefinedColumn    , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "42703", Never     , Other  , "no such column", "look at the table's columns; a name in double quotes is taken as written";
    UndefinedFunction  , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "42883", Never     , Other  , "no such function for these arguments", "cast the arguments, or use another function";
    FailedTransaction  , 400, "QUERY_PARSE_ERROR"   , "SVC_ERR_400_BAD_SQL"             , "25P02", Never     , Other  , "the transaction has failed: only ROLLBACK is accepted", "send ROLLBACK, then begin again";
    InvalidIdentifier  , 400, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_IDENTIFIER"  , "42602", Never     , Other  , "identifier with disallowed characters or over 128 characters", "use a name of at most 128 characters, without control characters";
    InvalidParams      , 400, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_PARAMS"      , "22023", Never     , Usage  , "missing or invalid parameter", "correct the member that details.field names";
    QueryTooLarge      , 400, "VALIDATION_ERROR"    , "SVC_ERR_400_QUERY_TOO_LARGE"     , "54001", Never     , Other  , "statement over 1 MB", "divide it, and load data with COPY";
    UnsupportedType    , 400, "SVC_ERR_400_UNSUPPORTED_TYPE", "SVC_ERR_400_UNSUPPORTED_TYPE", "0A000", Never     , Other  , "type cannot be transpiled", "use a type that the dialect's page lists";
    MissingAuth        , 401, "UNAUTHORIZED"        , "SVC_ERR_401_MISSING_AUTH"        , "28P01", Never     , Auth   , "no credential", "send a key or a token in the header Authorization";
    InvalidKey         , 401, "UNAUTHORIZED"        , "SVC_ERR_401_INVALID_KEY"         , "28P01", Never     , Auth   , "key matches no active key", "look whether the key is whole and not revoked; make a new one if it is";
    ExpiredKey         , 401, "UNAUTHORIZED"        , "SVC_ERR_401_EXPIRED_KEY"         , "28P01", Never     , Auth   , "key past expiry", "make a new key, or rotate before the old one expires";
    ExpiredToken       , 401, "UNAUTHORIZED"        , "SVC_ERR_401_EXPIRED_TOKEN"       , "28P01", Never     , Auth   , "JWT expired", "refresh the token, or log in again";
    InvalidToken       , 401, "UNAUTHORIZED"        , "SVC_ERR_401_INVALID_TOKEN"       , "28P01", Never     , Auth   , "JWT signature or format invalid", "log in again";
    Forbidden          , 403, "FORBIDDEN"           , "FORBIDDEN"                       , "42501", Never     , Auth   , "insufficient permission", "ask an owner or admin of the organization for it";
    AddressDenied      , 403, "FORBIDDEN"           , "FORBIDDEN"                       , "28000", Never     , Auth   , "the key may not be used from this address", "come from an address that the key allows, or let an admin extend its list";
    ScopeViolation     , 403, "FORBIDDEN"           , "SVC_ERR_403_SCOPE_VIOLATION"     , "42501", Never     , Auth   , "key scope does not permit the operation", "use a key that has the scope of details.scope: an owner or admin makes one";
    CrossTenant        , 403, "FORBIDDEN"           , "SVC_ERR_403_CROSS_TENANT"        , "42501", Never     , Auth   , "access to another organization's data", "use a credential of that organization";
    EnvMismatch        , 403, "FORBIDDEN"           , "SVC_ERR_403_ENV_MISMATCH"        , "28000", Never     , Auth   , "credential bound to another environment", "use a key of that environment";
    TableDenied        , 403, "POLICY_DENIED"       , "SVC_ERR_403_TABLE_DENIED"        , "42501", Never     , Policy , "table denied by policy", ASK_AN_ADMIN;
    PolicyDenied       , 403, "POLICY_DENIED"       , "POLICY_DENIED"                   , "42501", Never     , Policy , "blocked by ABAC policy or agent capability", ASK_AN_ADMIN;
    ColumnMasked       , 403, "SVC_ERR_403_COLUMN_MASKED", "SVC_ERR_403_COLUMN_MASKED"  , "01000", Never     , Policy , "informational: columns masked, query still runs", "nothing: the query has run, and these columns show masks";
    NotFound           , 404, "NOT_FOUND"           , "NOT_FOUND"                       , "42704", Never     , Other  , "resource missing", LOOK_IN_THE_LIST;
    EnvNotFound        , 404, "NOT_FOUND"           , "SVC_ERR_404_ENV_NOT_FOUND"       , "3D000", Never     , Other  , "environment missing", "look for the environment in the organization's list";
    TableNotFound      , 404, "NOT_FOUND"           , "SVC_ERR_404_TABLE_NOT_FOUND"     , "42P01", Never     , Other  , "table missing", "look at the tables that you may see, and name the schema";
    AgentNotRegistered , 404, "NOT_FOUND"           , "SVC_ERR_404_AGENT_NOT_FOUND"     , "42704", Never     , Other  , "agent not registered", LOOK_IN_THE_LIST;
    TriggerNotFound    , 404, "NOT_FOUND"           , "SVC_ERR_404_TRIGGER_NOT_FOUND"   , "42704", Never     , Other  , "trigger missing", LOOK_IN_THE_LIST;
    BranchNotFound     , 404, "NOT_FOUND"           , "SVC_ERR_404_BRANCH_NOT_FOUND"    , "42704", Never     , Other  , "branch missing or discarded", "list the branches; one that has ended is not opened again";
    MethodNotAllowed   , 405, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_PARAMS"      , "22023", Never     , Usage  , "the path has no such method", "use a method that the API's reference lists for the path";
    QueryTimeout       , 408, "QUERY_TIMEOUT"       , "QUERY_TIMEOUT"                   , "57014", Never     , Timeout, "exceeded the timeout", "ask for less, or give it more time with timeout_ms, up to 300000";
    QueryCancelled     , 408, "QUERY_TIMEOUT"       , "QUERY_TIMEOUT"                   , "57014", Never     , Timeout, "cancelled by its caller", "nothing: somebody who may has cancelled it";
    Conflict           , 409, "CONFLICT"            , "CONFLICT"                        , "55000", Never     , Other  , "already exists or state conflict", "look how it stands now, and decide again";
    DuplicateTable     , 409, "CONFLICT"            , "CONFLICT"                        , "42P07", Never     , Other  , "the table already exists", "use another name, CREATE OR REPLACE, or IF NOT EXISTS";
    DependentObjects   , 409, "CONFLICT"            , "CONFLICT"                        , "2BP01", Never     , Other  , "something else depends on it", "drop what depends on it first";
    UniqueViolation    , 409, "CONFLICT"            , "CONFLICT"                        , "23505", Never     , Other  , "a unique constraint is violated", "leave out rows whose key is there, or MERGE them";
    NotNullViolation   , 409, "CONFLICT"            , "CONFLICT"                        , "23502", Never     , Other  , "a not-null constraint is violated", "give the column a value";
    ForeignKeyViolation, 409, "CONFLICT"            , "CONFLICT"                        , "23503", Never     , Other  , "a foreign key is violated", "write the row that is referred to first";
    CheckViolation     , 409, "CONFLICT"            , "CONFLICT"                        , "23514", Never     , Other  , "a check constraint is violated", "give values that the table's check allows";
    WriteConflict      , 409, "CONFLICT"            , "CONFLICT"                        , "40001", Once      , Other  , "another transaction changed the same row", "run the transaction again";
    Stale              , 412, "CONFLICT"            , "CONFLICT"                        , "55000", Never     , Other  , "the record changed since it was read", "read it again, and send its new ETag";
    BodyTooLarge       , 413, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_PARAMS"      , "54000", Never     , Usage  , "the body is larger than this endpoint takes", "send less at once";
    UnsupportedMedia   , 415, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_PARAMS"      , "22023", Never     , Usage  , "the body is not of a type this endpoint takes", "send Content-Type: application/json";
    PolicyViolation    , 422, "POLICY_VIOLATION"    , "POLICY_VIOLATION"                , "42501", Never     , Policy , "blocked by ABAC policy", ASK_AN_ADMIN;
    InvalidRule        , 422, "INVALID_RULE"        , "INVALID_RULE"                    , "22023", Never     , Usage  , "policy rule references unknown attributes", "ask only about attributes that somebody has, and about columns that exist";
    InvalidDateRange   , 422, "INVALID_DATE_RANGE"  , "INVALID_DATE_RANGE"              , "22023", Never     , Usage  , "start after end, or range over 90 days", "give a start before the end, at most 90 days apart";
    AgentNotFound      , 422, "AGENT_NOT_FOUND"     , "AGENT_NOT_FOUND"                 , "42704", Never     , Other  , "referenced agent_id does not exist", LOOK_IN_THE_LIST;
    DeliveryFailed     , 422, "DELIVERY_FAILED"     , "DELIVERY_FAILED"                 , "08006", Never     , Other  , "webhook test got a non-2xx reply", "look at what the receiver answered: it is in the delivery";
    InvalidThresholds  , 422, "VALIDATION_ERROR"    , "SVC_ERR_400_INVALID_PARAMS"      , "22023", Never     , Usage  , "invalid billing thresholds", "give shares from 0.0 to 1.0, the warning not above the critical one";
    UnsupportedSql     , 422, "TRANSPILATION_ERROR" , "TRANSPILATION_ERROR"             , "0A000", Never     , Other  , "unsupported SQL construct", "write it without the construct that is named; the dialect's page lists what there is";
    RateLimited        , 429, "RATE_LIMITED"        , "SVC_ERR_429_RATE_LIMIT"          , "53300", RetryAfter, Quota  , "too many requests", WAIT;
    ConcurrentLimit    , 429, "RATE_LIMITED"        , "SVC_ERR_429_CONCURRENT_LIMIT"    , "53300", RetryAfter, Quota  , "concurrent query limit reached", WAIT;
    QuotaExceeded      , 429, "QUOTA_EXCEEDED"      , "SVC_ERR_429_QUOTA_EXCEEDED"      , "53400", RetryAfter, Quota  , "monthly quota used up", "wait until details.until, or raise the quota; of what is limited ask for less";
    OutOfMemory        , 429, "QUOTA_EXCEEDED"      , "SVC_ERR_429_QUOTA_EXCEEDED"      , "53200", RetryAfter, Quota  , "the query needs more memory than it may have", "aggregate or filter earlier, or run it in parts";
    Internal           , 500, "INTERNAL_ERROR"      , "SVC_ERR_500_INTERNAL"            , "XX000", Once      , Other  , "unexpected failure", REPORT;
    EngineCrash        , 500, "EXECUTION_ERROR"     , "SVC_ERR_500_ENGINE_CRASH"        , "XX000", Once      , Other  , "engine failure", REPORT;
    TranspileFail      , 500, "SVC_ERR_500_TRANSPILE_FAIL", "SVC_ERR_500_TRANSPILE_FAIL", "0A000", Once      , Other  , "parsed but not transpilable", "write it more simply; report it with the request id";
    ProxyUnreachable   , 502, "SVC_ERR_502_PROXY_UNREACHABLE", "SVC_ERR_502_PROXY_UNREACHABLE", "08006", Backoff   , Other  , "data plane proxy unreachable", TRY_IN_A_MOMENT;
    ControlPlaneDown   , 502, "SVC_ERR_502_CONTROL_PLANE_DOWN", "SVC_ERR_502_CONTROL_PLANE_DOWN", "08006", Backoff   , Other  , "proxy cannot reach the control plane, and knows no policy to enforce", TRY_IN_A_MOMENT;
    ServiceUnavailable , 503, "SERVICE_UNAVAILABLE" , "SERVICE_UNAVAILABLE"             , "57P03", RetryAfter, Other  , "temporarily unavailable", TRY_LATER;
    CircuitOpen        , 503, "SERVICE_UNAVAILABLE" , "SVC_ERR_503_CIRCUIT_OPEN"        , "57P03", RetryAfter, Other  , "circuit breaker open", TRY_IN_A_MOMENT;
    ShuttingDown       , 503, "SERVICE_UNAVAILABLE" , "SVC_ERR_503_SHUTTING_DOWN"       , "57P01", RetryAfter, Other  , "graceful shutdown: in-flight queries complete, new ones are rejected", TRY_LATER;
    Maintenance        , 503, "SERVICE_UNAVAILABLE" , "SVC_ERR_503_MAINTENANCE"         , "57P03", RetryAfter, Other  , "planned maintenance", TRY_LATER;
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
