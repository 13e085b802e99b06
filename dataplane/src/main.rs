//! `dataplane`: the query proxy of one environment. `dataplane engine`: its engine, started by it.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use contract::{Entropy, SystemClock};
use dataplane::DataPlane;
use dataplane::config::Arguments;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == "engine") {
        return engine::child::run();
    }
    tracing_subscriber::fmt().json().with_env_filter(tracing_subscriber::EnvFilter::from_default_env()).init();
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the data plane stopped");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let settings = arguments.settings(Arc::new(SystemClock), Entropy::system()?)?;
    let shutdown = CancellationToken::new();
    let running = DataPlane::start(settings, shutdown.clone()).await?;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    shutdown.cancel();
    running.stopped().await;
    Ok(())
}
