//! The errors of the operator, and their classes.
//!
//! Three classes: what a user must change, what is only waited for, and what is tried again. A
//! conflict is none of them: somebody else wrote, so everything is looked at anew at once.

use std::time::Duration;

use crds::Reason;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    #[error("a certificate: {0}")]
    Authority(#[from] AuthorityError),
    #[error("an object cannot be written down: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the control plane: {0}")]
    ControlPlane(#[from] tonic::Status),
    #[error("the control plane cannot be reached: {0}")]
    Link(#[from] tonic::transport::Error),
    #[error("another operator leads")]
    NotLeading,
    #[error(
        "Secret {0} is there already and is not the operator's: move what it holds, or name it in spec.tls.secretRef"
    )]
    Taken(String),
    #[error("a reconcile panicked: {0}")]
    Panicked(String),
    #[error("{0}")]
    Waiting(&'static str),
}

/// An error of making or reading a certificate.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error("no certificate could be made: {0}")]
    Make(#[from] rcgen::Error),
    #[error("not a certificate: {0}")]
    Parse(String),
    #[error("the Secret {0} lacks {1}")]
    Incomplete(String, &'static str),
}

/// A request that the limits refuse, without asking the API server.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("this operator does not lead: nothing may be changed")]
    NotLeading,
    #[error("the API server did not answer in time")]
    Timeout,
    #[error("the client is being closed")]
    Closed,
}

/// The class of an error, which decides about the retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A user must change something; nothing is tried before.
    Invalid,
    /// Not an error: something else has to happen first.
    Waiting,
    /// Somebody else wrote. At once again, without a wait.
    Conflict,
    /// This operator does not lead any more.
    Standby,
    /// Tried again, with growing waits.
    Transient,
}

impl Error {
    pub fn class(&self) -> Class {
        match self {
            Self::Api(kube::Error::Api(status)) => of_status(status.code, &status.message),
            Self::Api(kube::Error::Service(inner)) => match inner.downcast_ref() {
                Some(Refused::NotLeading) => Class::Standby,
                _ => Class::Transient,
            },
            Self::ControlPlane(status) => of_rpc(status.code()),
            Self::Waiting(_) => Class::Waiting,
            Self::NotLeading => Class::Standby,
            Self::Taken(_) => Class::Invalid,
            Self::Api(_) | Self::Authority(_) | Self::Json(_) | Self::Link(_) | Self::Panicked(_) => Class::Transient,
        }
    }

    /// For conditions, metrics and the documentation.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Api(_) | Self::Json(_) | Self::Taken(_) | Self::Panicked(_) => Reason::ApplyFailed,
            Self::Authority(_) => Reason::CertificatePending,
            Self::ControlPlane(status) if of_rpc(status.code()) == Class::Invalid => Reason::Invalid,
            Self::ControlPlane(status) if status.code() == tonic::Code::ResourceExhausted => Reason::QuotaExceeded,
            Self::ControlPlane(_) | Self::Link(_) => Reason::ControlPlaneUnreachable,
            Self::Waiting(_) | Self::NotLeading => Reason::Starting,
        }
    }

    /// For a condition and an Event: bounded, and without anything that a request held. One that is away is that and
    /// nothing more: how a connection broke is another thing each time, and a condition would be written each time.
    pub fn message(&self) -> String {
        if self.reason() == Reason::ControlPlaneUnreachable {
            return "the control plane does not answer".to_owned();
        }
        let whole = match self {
            Self::Api(kube::Error::Api(status)) => status.message.clone(),
            Self::ControlPlane(status) => status.message().to_owned(),
            other => other.to_string(),
        };
        whole.chars().take(1_000).collect()
    }
}

/// Whether the API server answers so while it has trouble of its own.
pub fn struggles(code: u16) -> bool {
    code >= 500 || code == 429
}

/// The API server refuses what it will always refuse, or it only struggles.
fn of_status(code: u16, message: &str) -> Class {
    match code {
        409 => Class::Conflict,
        // a namespace that is going away, or a quota that is used up, may change without us
        403 if message.contains("exceeded quota") || message.contains("being terminated") => Class::Transient,
        400 | 405 | 422 => Class::Invalid,
        _ => Class::Transient,
    }
}

fn of_rpc(code: tonic::Code) -> Class {
    match code {
        tonic::Code::InvalidArgument | tonic::Code::FailedPrecondition | tonic::Code::AlreadyExists => Class::Invalid,
        // the follower of resources has not brought the environment to the control plane yet
        tonic::Code::NotFound => Class::Waiting,
        _ => Class::Transient,
    }
}

/// How soon something that is waited for is looked at, should nothing wake it.
pub const WAITING: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn api(code: u16, message: &str) -> Error {
        let status = kube::core::Status { code, message: message.to_owned(), ..kube::core::Status::default() };
        Error::Api(kube::Error::Api(Box::new(status)))
    }

    #[test]
    fn every_error_has_its_class() {
        let closed = kube::Error::Service(Box::new(Refused::NotLeading));
        for (error, class) in [
            (api(409, "the object has been modified"), Class::Conflict),
            (api(422, "spec.x: Invalid value"), Class::Invalid),
            (api(403, "pods is forbidden: exceeded quota"), Class::Transient),
            (api(403, "secrets is forbidden"), Class::Transient),
            (api(429, ""), Class::Transient),
            (api(500, ""), Class::Transient),
            (Error::Api(closed), Class::Standby),
            (Error::Api(kube::Error::Service(Box::new(Refused::Timeout))), Class::Transient),
            (Error::NotLeading, Class::Standby),
            (Error::ControlPlane(tonic::Status::unavailable("")), Class::Transient),
            (Error::ControlPlane(tonic::Status::resource_exhausted("tier")), Class::Transient),
            (Error::ControlPlane(tonic::Status::invalid_argument("scope")), Class::Invalid),
            (Error::ControlPlane(tonic::Status::not_found("environment")), Class::Waiting),
        ] {
            assert_eq!(error.class(), class, "{error}");
        }
    }

    #[test]
    fn a_limit_is_not_told_as_a_control_plane_that_is_away() {
        let reason = |status| Error::ControlPlane(status).reason();
        assert_eq!(reason(tonic::Status::resource_exhausted("tier")), Reason::QuotaExceeded);
        assert_eq!(reason(tonic::Status::unavailable("")), Reason::ControlPlaneUnreachable);
        let message = |status| Error::ControlPlane(status).message();
        assert_eq!(message(tonic::Status::unavailable("refused")), message(tonic::Status::deadline_exceeded("late")));
    }

    #[test]
    fn a_message_is_bounded() {
        assert_eq!(api(422, &"x".repeat(5_000)).message().len(), 1_000);
    }
}
