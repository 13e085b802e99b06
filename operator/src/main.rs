//! `operator`: looks after Organizations, Environments and ApiKeys. `operator check`: asks whether it is well.

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

#[derive(Parser)]
#[command(name = "operator check", version)]
struct Probe {
    #[command(flatten)]
    check: Check,
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().json().with_env_filter(filter).init();
    let probes = std::env::args_os().nth(1).is_some_and(|first| first == "check");
    let ended = if probes { probe().await } else { operate(Config::parse()).await };
    ended.map_or_else(
        |error| {
            tracing::error!(%error, "the operator stopped");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

async fn probe() -> Result<(), Box<dyn std::error::Error>> {
    Ok(Probe::parse_from(std::env::args_os().skip(1)).check.run().await?)
}

async fn operate(config: Config) -> Result<(), Box<dyn std::error::Error>> {
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
