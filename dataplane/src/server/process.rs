//! A data plane as a process: settings from the command line and the environment, logs as JSON,
//! signals.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use contract::{Entropy, SystemClock};
use telemetry::{Log, Telemetry, Tracer};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::DataPlane;
use crate::agents::memory::comparing;
use crate::pipeline;
use crate::server::config::Arguments;

type BoxError = Box<dyn std::error::Error>;

/// The name of its spans.
pub const SERVICE: &str = "sluice-dataplane";

/// The whole of the engine's process.
pub fn engine() -> ExitCode {
    engine::child::run(Some(comparing()), Some(pipeline::agrees))
}

/// The whole of `main`.
pub fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == "engine") {
        return engine();
    }
    let arguments = Arguments::parse();
    let log = Log::start(std::io::stdout);
    match runtime().map_err(BoxError::from).and_then(|runtime| runtime.block_on(run(arguments, log))) {
        Ok(code) => code,
        Err(error) => {
            tracing::error!(%error, "the data plane cannot run");
            ExitCode::FAILURE
        }
    }
}

/// Threads on which the deepest statement can be walked; for whatever program runs a data plane.
pub fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().thread_stack_size(sql::STACK_BYTES).build()
}

async fn run(arguments: Arguments, log: Log) -> Result<ExitCode, BoxError> {
    // Before anything else: from here on a stop is orderly.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (clock, entropy) = (Arc::new(SystemClock), Entropy::system()?);
    let tracer = Tracer::to(&arguments.collector, SERVICE, clock.clone(), entropy.clone())?;
    let telemetry = Telemetry { tracer: tracer.clone(), log: Some(log) };
    let settings = arguments.settings(clock, entropy, telemetry)?;
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
    tracer.finish().await;
    tracing::info!("stopped");
    Ok(if running.has_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
