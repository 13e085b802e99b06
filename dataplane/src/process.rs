//! A data plane as a process: settings from the command line and the environment, logs as JSON,
//! signals.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use contract::{Entropy, SystemClock};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::DataPlane;
use crate::config::Arguments;
use crate::memory::comparing;

/// What is logged unless `RUST_LOG` says otherwise: the protocol of tools tells of every request.
pub const LOGGED: &str = "info,rmcp=warn";

/// The whole of the engine's process.
pub fn engine() -> ExitCode {
    engine::child::run(Some(comparing()))
}

/// The whole of `main`.
pub fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == "engine") {
        return engine();
    }
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOGGED));
    tracing_subscriber::fmt().json().with_env_filter(filter).init();
    match run(arguments) {
        Ok(code) => code,
        Err(error) => {
            tracing::error!(%error, "the data plane cannot run");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(arguments: Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    // Before anything else: from here on a stop is orderly.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let settings = arguments.settings(Arc::new(SystemClock), Entropy::system()?)?;
    let shutdown = CancellationToken::new();
    let running = DataPlane::start(settings, shutdown.clone()).await?;
    tracing::info!(pgwire = %running.pgwire, tools = %running.tools, rest = %running.rest, probes = %running.probes, "listening");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = running.leaving() => {}
    }
    tracing::info!("stopping");
    shutdown.cancel();
    running.stopped().await;
    tracing::info!("stopped");
    Ok(if running.has_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
