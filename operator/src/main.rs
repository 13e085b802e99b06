//! `operator`: looks after Organizations, Environments and `ApiKeys` of a cluster.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use contract::Entropy;
use contract::clock::SystemClock;
use operator::check::Check;
use operator::config::Config;
use operator::runtime::Operator;
use telemetry::Log;
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    let done = if let Some(check) = Check::asked(std::env::args_os()) {
        Log::start(std::io::stdout);
        ask(check)
    } else {
        let config = Config::parse();
        run(config, Log::start(std::io::stdout))
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the operator stopped");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn ask(check: Check) -> Result<(), Box<dyn std::error::Error>> {
    Ok(check.run().await?)
}

/// Two threads: more only wait for the API server, and each keeps memory of its own.
#[tokio::main(worker_threads = 2)]
async fn run(config: Config, log: Log) -> Result<(), Box<dyn std::error::Error>> {
    let kube = kube::Config::infer().await?;
    let operator = Operator::start(config, kube, Arc::new(SystemClock), Entropy::system()?, Some(log)).await?;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    operator.stop().await;
    Ok(())
}
