//! Why a command did not do what it was asked, by class: the class is the exit status.

use kube::core::Status;

use crate::cause::root;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Unusable(String),
    #[error("{0} not found")]
    NotFound(String),
    #[error("refused: {0}")]
    Refused(String),
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    TimedOut(String),
}

impl Error {
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Unusable(_) => 2,
            Self::NotFound(_) => 3,
            Self::Refused(_) => 4,
            Self::Unreachable(_) => 5,
            Self::TimedOut(_) => 6,
        }
    }

    /// What the API server, or the way there, said about `what`.
    pub fn of(error: kube::Error, what: &str) -> Self {
        match error {
            kube::Error::Api(status) => Self::answered(&status, what),
            kube::Error::SerdeError(error) => Self::Unusable(format!("{what}: an answer that cannot be read: {error}")),
            other => Self::Unreachable(format!("the API server could not be asked for {what}: {}", root(&other))),
        }
    }

    fn answered(status: &Status, what: &str) -> Self {
        match status.code {
            404 => Self::NotFound(what.to_owned()),
            // overloaded, going away, or its own fault: not a judgement of the request
            408 | 429 | 500.. => Self::Unreachable(format!("{what}: {}", status.message)),
            _ => Self::Refused(status.message.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: u16) -> Error {
        let status = Status { code, message: "said so".to_owned(), ..Status::default() };
        Error::of(kube::Error::Api(status.boxed()), "environment acme-prod")
    }

    #[test]
    fn an_answer_is_of_one_class() {
        for (code, exit) in [(404, 3), (400, 4), (401, 4), (403, 4), (409, 4), (422, 4), (429, 5), (500, 5), (503, 5)] {
            assert_eq!(of(code).exit_code(), exit, "{code}");
        }
        assert_eq!(of(404).to_string(), "environment acme-prod not found");
        assert_eq!(of(422).to_string(), "refused: said so");
    }
}
