//! Whose a session's token is: the control plane's to say, for each request that carries one.
//!
//! Nothing is remembered, so that who signs out is refused at the next request. Away, nobody can say: then a token is
//! refused, and keys open as before.

use std::sync::Arc;
use std::time::Duration;

use contract::Code;
use contract::wire::{VouchRefusal, Who};
use tokio::sync::Semaphore;

use super::link::Link;
use crate::Error;

const WITHIN: Duration = Duration::from_secs(5);
/// Questions at once; anybody can send what looks like a token.
const AT_ONCE: usize = 32;
/// Ours have some five hundred bytes.
const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// The way there; none where there is no control plane.
#[derive(Debug, Clone)]
pub struct TokenIntrospection {
    link: Option<Link>,
    places: Arc<Semaphore>,
}

impl Default for TokenIntrospection {
    fn default() -> Self {
        Self { link: None, places: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl TokenIntrospection {
    pub fn new(link: Link) -> Self {
        Self { link: Some(link), ..Self::default() }
    }

    /// The session behind a token.
    pub async fn whose(&self, token: &str) -> Result<Who, Error> {
        if token.len() > TOKEN_BYTES_MAX || !is_jwt(token) {
            return Err(Error::Caller(Code::InvalidToken));
        }
        let Some(link) = &self.link else { return Err(Error::ControlPlaneAway) };
        let asked = async {
            let _place = self.places.acquire().await.map_err(|_| Error::ShuttingDown)?;
            link.vouch(token).await.map_err(|status| {
                tracing::warn!(code = ?status.code(), message = status.message(), "nobody says whose a token is");
                Error::ControlPlaneAway
            })
        };
        let answer = tokio::time::timeout(WITHIN, asked).await.map_err(|_| Error::ControlPlaneAway)??;
        answer.map_err(|refusal| match refusal {
            VouchRefusal::Invalid => Error::Caller(Code::InvalidToken),
            VouchRefusal::Expired => Error::Caller(Code::ExpiredToken),
            VouchRefusal::SecondFactor => Error::SecondFactorDue,
        })
    }
}

/// Three parts of base64url: anything else is nobody's, without asking.
fn is_jwt(token: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    token.split('.').count() == 3 && token.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_no_token_is_refused_without_asking_and_nobody_is_let_in_unasked() {
        let vouching = TokenIntrospection::default();
        let long = format!("{}.b.c", "a".repeat(TOKEN_BYTES_MAX));
        for token in ["", "a.b", "a.b.", "a.b.c.d", "a.b=.c", "svc_live_x", long.as_str()] {
            assert_eq!(vouching.whose(token).await.unwrap_err().code(), Code::InvalidToken, "{token}");
        }
        assert_eq!(vouching.whose("a.b.c").await.unwrap_err().code(), Code::ControlPlaneDown);
    }
}
