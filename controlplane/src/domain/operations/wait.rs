//! `Prefer: wait=10`: a read that is answered when the operation ends, or after so many seconds.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use platform::http::signature::{Signature, Takes};
use platform::{App, Error, Result};

/// The longest wait; who asks for more is answered after this.
const WAIT_SECS_MAX: u64 = 10;

/// How long a read waits for the end; a preference that cannot be read is none.
#[derive(Debug, Clone, Copy)]
pub struct OperationWait(pub Duration);

impl FromRequestParts<App> for OperationWait {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        let values = parts.headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        let mut words = values.flat_map(|value| value.split([',', ';'])).map(str::trim);
        let seconds: Option<u64> = words.find_map(|word| word.strip_prefix("wait=")?.parse().ok());
        Ok(Self(Duration::from_secs(seconds.unwrap_or_default().min(WAIT_SECS_MAX))))
    }
}

impl Takes for OperationWait {
    fn takes(said: &mut Signature<'_>) {
        said.header("Prefer", "`wait=10`: answered when the operation ends, or after that many seconds, at most 10.");
    }
}
