//! `operator`: looks after Organizations, Environments and `ApiKeys` of a cluster.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use contract::Entropy;
use contract::clock::SystemClock;
use operator::check::Check;
use operator::config::Config;
use operator::runtime::Operator;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().json().with_env_filter(filter).init();
    let done = match Check::asked(std::env::args_os()) {
        Some(check) => ask(check),
        None => run(Config::parse()),
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

#[tokio::main]
async fn run(config: Config) -> Result<(), Box<dyn std::error::Error>> {
    let kube = kube::Config::infer().await?;
    let operator = Operator::start(config, kube, Arc::new(SystemClock), Entropy::system()?).await?;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    operator.stop().await;
    Ok(())
}
