//! `operator check <url>…`: waits until every URL answers that all is well. `helm test` runs it in the
//! operator's own image, which holds neither a shell nor another program that could ask.

use std::ffi::OsString;
use std::time::Duration;

use bytes::Bytes;
use clap::Parser;
use http::Uri;
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::{Instant, interval, timeout, timeout_at};

/// Between two tries, and for one.
const PAUSE: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(5);

/// Ask until every URL answers with success.
#[derive(Debug, Clone, Parser)]
#[command(name = "operator check")]
pub struct Check {
    /// Plain HTTP.
    #[arg(required = true, num_args = 1..=16)]
    pub urls: Vec<Uri>,
    /// How long they may take, all together.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
}

/// A URL did not answer with success in its time.
#[derive(Debug, thiserror::Error)]
#[error("{url}: {last}")]
pub struct Unhealthy {
    pub url: Uri,
    /// What the last try met.
    pub last: String,
}

impl Check {
    /// Of a command line whose first argument is `check`.
    pub fn asked(arguments: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut arguments = arguments.into_iter().skip(1).peekable();
        arguments.peek().is_some_and(|first| first == "check").then(|| Self::parse_from(arguments))
    }

    pub async fn run(self) -> Result<(), Unhealthy> {
        let deadline = Instant::now() + Duration::from_secs(self.seconds);
        let client = Client::builder(TokioExecutor::new()).build_http();
        for url in self.urls {
            well(&client, &url, deadline).await.map_err(|last| Unhealthy { url: url.clone(), last })?;
            tracing::info!(%url, "well");
        }
        Ok(())
    }
}

type HttpClient = Client<HttpConnector, Empty<Bytes>>;

/// Tries until the deadline; what the last try met.
async fn well(client: &HttpClient, url: &Uri, deadline: Instant) -> Result<(), String> {
    let mut last = "no answer".to_owned();
    let mut tries = interval(PAUSE);
    let outcome = timeout_at(deadline, async {
        loop {
            tries.tick().await;
            match timeout(PATIENCE, client.get(url.clone())).await {
                Ok(Ok(answer)) if answer.status().is_success() => return,
                Ok(Ok(answer)) => last = answer.status().to_string(),
                Ok(Err(error)) => last = because(&error),
                Err(_) => "no answer".clone_into(&mut last),
            }
        }
    });
    let outcome = outcome.await;
    outcome.map_err(|_| last)
}

/// An error with its causes, of which the last says the most.
fn because(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::get;
    use tokio::net::TcpListener;
    use tokio_util::task::TaskTracker;

    use super::*;

    /// A server whose `/ready` fails this many times first, and which never answers `/sick` well.
    async fn server(failures: usize, tasks: &TaskTracker) -> String {
        let asked = Arc::new(AtomicUsize::new(0));
        let ready = move || async move {
            let ready = asked.fetch_add(1, Ordering::Relaxed) >= failures;
            if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
        };
        let router =
            Router::new().route("/ready", get(ready)).route("/sick", get(|| async { StatusCode::SERVICE_UNAVAILABLE }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tasks.spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}")
    }

    fn check(urls: &[String]) -> Check {
        Check { urls: urls.iter().map(|url| url.parse().unwrap()).collect(), seconds: 1 }
    }

    #[test]
    fn it_is_asked_for_by_the_first_argument_alone() {
        let asked = |line: &str| Check::asked(line.split(' ').map(OsString::from));
        assert!(asked("operator --release-namespace check").is_none() && asked("operator").is_none());
        let check = asked("operator check --seconds 5 http://a/ready http://b/ready").unwrap();
        assert_eq!((check.seconds, check.urls.len()), (5, 2));
    }

    #[tokio::test]
    async fn all_is_well_as_soon_as_each_has_answered_with_success() {
        let tasks = TaskTracker::new();
        let (late, early) = (server(1, &tasks).await, server(0, &tasks).await);
        check(&[format!("{late}/ready"), format!("{early}/ready")]).run().await.unwrap();
    }

    #[tokio::test]
    async fn one_that_stays_sick_or_away_is_named_with_what_it_said() {
        let tasks = TaskTracker::new();
        let there = server(0, &tasks).await;
        let sick = format!("{there}/sick");
        let error = check(&[format!("{there}/ready"), sick.clone()]).run().await.unwrap_err();
        assert_eq!(error.to_string(), format!("{sick}: 503 Service Unavailable"));
        let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let error = check(&[format!("http://{nobody}/ready")]).run().await.unwrap_err();
        assert!(error.to_string().contains("refused"), "{error}");
    }
}
