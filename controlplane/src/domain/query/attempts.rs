//! Attempts to ask a data plane, as long as it has certainly heard nothing: one process may be leaving its address to
//! another.

use std::error::Error;
use std::io;
use std::time::Duration;

use hyper_util::client::legacy;
use tokio::time::Instant;

/// How long a data plane is tried that answered the last time: as long as a statement waits for its place there.
/// A connection that leads nowhere takes three seconds, so there is time for another.
const TRIED_FOR: Duration = Duration::from_secs(5);
/// How long one is tried that did not answer the last time: nobody waits long for one that is away.
const TRIED_AGAIN_FOR: Duration = Duration::from_millis(300);
const PAUSE_MIN: Duration = Duration::from_millis(25);
const PAUSE_MAX: Duration = Duration::from_millis(400);

/// For how long a statement may be tried: never longer than it may run.
pub fn patience(answered_last: bool, timeout_ms: Option<u64>) -> Duration {
    let patience = if answered_last { TRIED_FOR } else { TRIED_AGAIN_FOR };
    timeout_ms.map_or(patience, |timeout_ms| patience.min(Duration::from_millis(timeout_ms)))
}

/// The outcome of the first attempt that the data plane may have heard of, or of the last one within `patience`.
pub async fn until_heard<T, F>(patience: Duration, attempt: impl Fn() -> F) -> Result<T, legacy::Error>
where
    F: Future<Output = Result<T, legacy::Error>>,
{
    let end = Instant::now() + patience;
    let mut pause = Duration::ZERO;
    loop {
        match attempt().await {
            Err(error) if is_unheard(&error) && Instant::now() + pause < end => {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
            }
            answer => return answer,
        }
    }
}

/// Has nobody heard the request, and may somebody hear it soon? False where that cannot be told.
fn is_unheard(error: &legacy::Error) -> bool {
    if error.is_connect() || !is_caused(error, &is_of_connection) {
        return !is_caused(error, &is_of_tls);
    }
    is_caused(error, &|cause| is_unsent(cause) || is_unprocessed(cause))
}

fn is_caused(error: &(dyn Error + 'static), is: &dyn Fn(&(dyn Error + 'static)) -> bool) -> bool {
    is(error) || error.source().is_some_and(|cause| is_caused(cause, is))
}

/// There was a connection: else the request waited for one.
fn is_of_connection(cause: &(dyn Error + 'static)) -> bool {
    cause.is::<hyper::Error>()
}

/// Somebody else is there, and stays.
fn is_of_tls(cause: &(dyn Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::InvalidData)
}

/// The connection ended before it took the request.
fn is_unsent(cause: &(dyn Error + 'static)) -> bool {
    cause.downcast_ref::<hyper::Error>().is_some_and(|error| error.is_canceled() || error.is_closed())
}

/// The process that leaves has said which requests it took, and this is none of them (RFC 9113, 6.8 and 8.7).
fn is_unprocessed(cause: &(dyn Error + 'static)) -> bool {
    let is_refused = |error: &h2::Error| error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM);
    cause.downcast_ref::<h2::Error>().is_some_and(|error| error.is_remote() && is_refused(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_tried_for_no_longer_than_it_may_run_or_than_there_is_hope() {
        assert_eq!(patience(true, None), TRIED_FOR);
        assert_eq!(patience(true, Some(30_000)), TRIED_FOR);
        assert_eq!(patience(true, Some(100)), Duration::from_millis(100));
        assert_eq!(patience(false, Some(30_000)), TRIED_AGAIN_FOR);
    }
}
