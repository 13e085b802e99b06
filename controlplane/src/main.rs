//! The control plane as a process: read the settings, run until a signal.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use contract::{Entropy, SystemClock};
use controlplane::dashboard::Files;
use controlplane::kubernetes::Cluster;
use controlplane::provisioner::{Provisioner, Unattended};
use controlplane::{Config, Parts};
use tokio_util::sync::CancellationToken;

/// The dashboard that this program was built with.
#[cfg(feature = "dashboard")]
const DASHBOARD: Option<Files> = Some(dashboard::FILES);
#[cfg(not(feature = "dashboard"))]
const DASHBOARD: Option<Files> = None;

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().json().with_env_filter(tracing_subscriber::EnvFilter::from_default_env()).init();
    let config = Config::parse();
    tracing::info!(?config, "starting");
    let shutdown = CancellationToken::new();
    let on_signal = shutdown.clone();
    let outcome = async {
        let provisioner: Arc<dyn Provisioner> =
            if config.kubernetes { Arc::new(Cluster::connect(&config).await?) } else { Arc::new(Unattended) };
        let identity = match config.identity() {
            Some(files) => Some(files.read().await?),
            None => None,
        };
        let parts = Parts {
            clock: Arc::new(SystemClock),
            entropy: Entropy::system()?,
            provisioner,
            identity,
            dashboard: DASHBOARD,
            shutdown,
        };
        let running = controlplane::start(config, parts).await?;
        running.until_signal(on_signal).await?;
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    match outcome.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %error, "the control plane cannot run");
            ExitCode::FAILURE
        }
    }
}
