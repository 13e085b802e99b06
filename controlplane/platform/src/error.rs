//! The one error of the control plane. A variant carries what a reader needs; [`Error::code`]
//! names its row of the code table.
//!
//! Messages are for the caller: lower case, the thing named, no internals. The source of an
//! internal error is logged once, where the response is made, and never shown.

use axum::response::{IntoResponse, Response};
use contract::Code;
use contract::body::Problem;

pub type Result<T, E = Error> = std::result::Result<T, E>;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

contract::coded! {
    #[derive(Debug, thiserror::Error)]
    pub enum Error {
        // what the caller sent
        #[error("{message}")]
        Invalid { field: String, constraint: String, message: String } => InvalidParams,
        #[error("{message}")]
        InvalidRule { field: String, message: String } => InvalidRule,
        #[error("the agent `{agent_id}` does not exist: it has neither queried nor a key of its own")]
        AgentNotFound { agent_id: String } => AgentNotFound,
        #[error("{message}")]
        PolicyViolation { field: &'static str, message: String } => PolicyViolation,
        #[error("the date range {0}")]
        InvalidDateRange(&'static str) => InvalidDateRange,
        #[error("{message}")]
        InvalidThreshold { field: &'static str, message: String } => InvalidThresholds,
        #[error("the body has to be {expected}")]
        UnsupportedMedia { expected: &'static str } => UnsupportedMedia,
        #[error("the body is encoded as `{encoding}`, which is not taken: send it as it is, without `Content-Encoding`")]
        Encoded { encoding: String } => UnsupportedMedia,
        #[error("the body is larger than this endpoint takes")]
        BodyTooLarge => BodyTooLarge,
        #[error("the statement is longer than 1 MB")]
        QueryTooLarge => QueryTooLarge,
        #[error("this path has no such method")]
        MethodNotAllowed => MethodNotAllowed,

        // who the caller is
        #[error("no credential: send `Authorization: Bearer`, `Authorization: ApiKey` or `X-API-Key`")]
        MissingCredential => MissingAuth,
        #[error("{}", .0.meaning())]
        BadCredential(Code),
        /// A link, a refresh token or a session that was good once; whoever has it may know why it is not.
        #[error("{message}")]
        Over { code: Code, message: &'static str },
        #[error("e-mail or password is wrong")]
        WrongPassword => InvalidKey,
        #[error("password login is disabled: the organization enforces single sign-on")]
        SsoEnforced => Forbidden,
        #[error("signing up is closed on this installation")]
        SignupClosed => Forbidden,
        /// The password, or the link, was right.
        #[error("a second factor is needed: send `totp` or `recovery_code`")]
        MfaRequired => InvalidKey,
        #[error("the code is wrong or was used before")]
        WrongCode => InvalidKey,
        #[error("a code of the last 15 minutes is needed: send one to /v1/auth/mfa/verify")]
        StepUpRequired => InvalidKey,
        #[error("the organization requires a second factor: enrol one at /v1/auth/mfa/totp")]
        MfaEnrollmentRequired => Forbidden,
        #[error("this installation sends no mail")]
        NoMail => ServiceUnavailable,

        // what the caller may
        #[error("{}", .0.meaning())]
        Refused(Code),
        /// Their key or their role does not suffice.
        #[error("{0}")]
        Lacks(contract::MissingPermission),
        #[error("{0}")]
        Forbidden(&'static str) => Forbidden,
        /// Not this caller, whatever their role; another could.
        #[error("{message}")]
        Barred { reason: &'static str, message: &'static str } => Forbidden,
        #[error("the key is bound to another agent: leave `agent_id` out, or name the key's own")]
        AnotherAgent => PolicyDenied,
        #[error("the tier `{tier}` allows {limit} {quota}")]
        TierLimit { tier: contract::Tier, quota: &'static str, limit: u64 } => Forbidden,
        #[error("the tier `{tier}` has no Arrow: cloud and enterprise have it")]
        ArrowNotInTier { tier: contract::Tier } => Forbidden,
        #[error("the key is bound to another environment")]
        EnvironmentMismatch => EnvMismatch,
        #[error("the organization, or this address, was sent as many invitations as there may be in a day: try tomorrow")]
        MailsExhausted => RateLimited,
        #[error("too many requests: wait {retry_after_s} s")]
        RateLimited { retry_after_s: u64 } => RateLimited,

        // what there is
        #[error("{kind} does not exist")]
        NotFound { kind: &'static str } => NotFound,
        #[error("environment does not exist")]
        EnvironmentNotFound => EnvNotFound,
        /// `If-Match` named another version.
        #[error("the record has changed since it was read: its version is now {version}")]
        Stale { version: String } => Stale,
        #[error("{message}")]
        Conflict { reason: &'static str, message: String } => Conflict,
        #[error("the first request with this `Idempotency-Key` has not been answered yet: send it again in a moment")]
        InProgress => Conflict,
        /// A state that forbids it, with what there is to know of that state.
        #[error("{message}")]
        StateConflict { reason: &'static str, message: String, known: serde_json::Map<String, serde_json::Value> } => Conflict,

        #[error("log `{log}` is stored up to {have}: entry {got} leaves a gap")]
        ReportGap { log: String, have: u64, got: u64 } => Conflict,

        // what a webhook's receiver did
        #[error("the test was not delivered: {reason}")]
        DeliveryFailed { reason: &'static str, status_code: Option<u16> } => DeliveryFailed,

        // what a data plane answered, or did not
        #[error("{}", .0.message)]
        FromDataPlane(Box<Problem>),
        #[error("the environment's data plane cannot be reached")]
        ProxyUnreachable => ProxyUnreachable,
        #[error("the environment's data plane could not be reached lately: wait {retry_after_s} s")]
        CircuitOpen { retry_after_s: u64 } => CircuitOpen,

        // what failed
        #[error("temporarily unavailable: {0}")]
        Unavailable(&'static str) => ServiceUnavailable,
        #[error("shutting down: new requests are rejected")]
        ShuttingDown => ShuttingDown,
        #[error("unexpected failure")]
        Internal(#[source] BoxError) => Internal,
        #[error("unexpected failure")]
        Panicked => Internal,
        /// A handler stands on a route that no guard surrounds.
        #[error("unexpected failure")]
        Unguarded => Internal,
    }

    Self::BadCredential(code) | Self::Over { code, .. } | Self::Refused(code) => *code,
    Self::Lacks(lack) => lack.code(),
    Self::FromDataPlane(problem) => problem.code,
}

impl Error {
    pub fn invalid(field: impl Into<String>, constraint: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), constraint: constraint.into(), message: message.into() }
    }

    /// Somebody who has an account and belongs nowhere.
    pub const NO_MEMBERSHIP: Self = Self::Forbidden("no active membership: ask an admin of the organization");

    pub fn conflict(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Conflict { reason, message: message.into() }
    }

    /// A state that forbids it; `known` is an object of what there is to know of that state.
    pub fn state_conflict(reason: &'static str, message: impl Into<String>, known: &serde_json::Value) -> Self {
        let known = known.as_object().cloned().unwrap_or_default();
        Self::StateConflict { reason, message: message.into(), known }
    }

    pub fn internal(source: impl Into<BoxError>) -> Self {
        Self::Internal(source.into())
    }

    /// The error with all its sources: for logs and for what only operators see.
    pub fn with_sources(&self) -> String {
        chain(self)
    }

    pub fn problem(&self) -> Problem {
        let problem = Problem::new(self.code(), self.to_string());
        match self {
            Self::Invalid { field, constraint, .. } => {
                problem.detail("field", field.as_str()).detail("constraint", constraint.as_str())
            }
            Self::InvalidRule { field, .. } => problem.detail("field", field.as_str()),
            Self::Lacks(lack) => lack.told(problem),
            Self::Encoded { .. } => problem.detail("field", "Content-Encoding").detail("constraint", "identity"),
            Self::AgentNotFound { agent_id } => {
                problem.detail("field", "agent_id").detail("agent_id", agent_id.as_str())
            }
            Self::PolicyViolation { field, .. } => problem.detail("field", *field),
            Self::InvalidThreshold { field, .. } => problem.detail("field", *field).detail("constraint", "0.0..1.0"),
            Self::SsoEnforced => problem.detail("reason", "sso_enforced"),
            Self::SignupClosed => problem.detail("reason", "signup_closed"),
            Self::MfaRequired => problem.detail("reason", "mfa_required"),
            Self::WrongCode => problem.detail("reason", "wrong_code"),
            Self::StepUpRequired => problem.detail("reason", "step_up_required"),
            Self::MfaEnrollmentRequired => problem.detail("reason", "mfa_enrollment_required"),
            Self::NoMail => problem.detail("reason", "no_mail").retry_after_s(3_600),
            Self::TierLimit { quota, limit, .. } => {
                problem.detail("reason", "tier_limit").detail("quota", *quota).detail("limit", *limit)
            }
            Self::Conflict { reason, .. } | Self::Barred { reason, .. } => problem.detail("reason", *reason),
            Self::InProgress => problem.detail("reason", "in_progress").retry_after_s(2),
            Self::Stale { version } => problem.detail("reason", "stale").detail("version", version.as_str()),
            Self::StateConflict { reason, known, .. } => {
                let problem = problem.detail("reason", *reason);
                known.iter().fold(problem, |problem, (name, value)| problem.detail(name, value.clone()))
            }
            Self::ArrowNotInTier { .. } => problem.detail("reason", "tier_limit").detail("quota", "arrow"),
            Self::DeliveryFailed { reason, status_code } => {
                problem.detail("reason", *reason).detail("status_code", *status_code)
            }
            Self::FromDataPlane(problem) => problem.as_ref().clone(),
            Self::RateLimited { retry_after_s } | Self::CircuitOpen { retry_after_s } => {
                problem.retry_after_s(*retry_after_s)
            }
            Self::MailsExhausted => problem.detail("reason", "mail_limit").retry_after_s(3_600),
            Self::Unavailable(_) => problem.retry_after_s(5),
            Self::ShuttingDown => problem.retry_after_s(30),
            _ => problem,
        }
    }
}

/// The pool that cannot supply a connection in time, and a database that is away, are 503; text
/// that PostgreSQL cannot hold is the caller's; the rest is ours.
impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => {
                tracing::warn!(error = %error, "the database is away");
                Self::Unavailable("the database cannot be reached")
            }
            sqlx::Error::Database(database) => match database.code().as_deref() {
                Some("22021" | "22P05") => Self::invalid("body", "text", "text may not hold the character U+0000"),
                Some("57P01" | "57P02" | "57P03" | "53300") => Self::Unavailable("the database cannot be reached"),
                _ => Self::internal(error),
            },
            _ => Self::internal(error),
        }
    }
}

/// Constraint names make 409s: the schema holds the invariants.
pub trait OnConstraint<T> {
    /// `error` when the named constraint was violated.
    fn on_constraint(self, name: &str, error: impl FnOnce() -> Error) -> Result<T>;
}

impl<T> OnConstraint<T> for Result<T, sqlx::Error> {
    fn on_constraint(self, name: &str, error: impl FnOnce() -> Error) -> Result<T> {
        self.map_err(|failure| match &failure {
            sqlx::Error::Database(database) if database.constraint() == Some(name) => error(),
            _ => failure.into(),
        })
    }
}

/// The problem rides in the response's extensions; the middleware writes the body.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        match &self {
            Self::Internal(source) => tracing::error!(error = %chain(source.as_ref()), "request failed"),
            Self::Panicked => tracing::error!("a handler panicked"),
            Self::Unguarded => tracing::error!("a handler stands outside the guard"),
            other => tracing::debug!(error = %other, code = %other.code(), "request refused"),
        }
        let problem = self.problem();
        let mut response = Response::new(axum::body::Body::empty());
        if let Ok(status) = axum::http::StatusCode::from_u16(problem.code.http()) {
            *response.status_mut() = status;
        }
        response.extensions_mut().insert(problem);
        response
    }
}

/// The error with all its sources.
pub fn chain(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {}", chain(source)))
}
