//! The control plane as a process: read the settings, run until a signal.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use contract::{Entropy, SystemClock};
use tokio_util::sync::CancellationToken;

use crate::dashboard::Files;
use crate::kubernetes::Cluster;
use crate::provisioner::{Provisioner, Unattended};
use crate::{Config, Parts};

/// `dashboard`: the page that this program was built with.
#[tokio::main]
pub async fn run(dashboard: Option<Files>) -> ExitCode {
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
            dashboard,
            shutdown,
        };
        let running = crate::start(config, parts).await?;
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
