//! The control plane as a process: read the settings, run until a signal.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use contract::key::HashCost;
use contract::{Entropy, SqlAnalyzer, SystemClock};
use platform::dashboard::DashboardFiles;
use platform::provisioner::{Provisioner, Unattended};
use platform::{Config, Parts};
use telemetry::{Log, Telemetry, Tracer};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::server::kubernetes::Cluster;

/// The name of its spans.
pub const SERVICE: &str = "sluice-controlplane";

/// `dashboard`: the page that this program was built with; `sql`: the compiler of the data planes.
pub fn run(dashboard: Option<DashboardFiles>, sql: Arc<dyn SqlAnalyzer>) -> ExitCode {
    // `--help` and what is wrong with the settings come before any log.
    let config = Config::parse();
    let log = Log::start(std::io::stdout);
    tracing::info!(?config, "starting");
    // Filters and uploaded queries are parsed here, however deep they nest.
    let runtime = Builder::new_multi_thread().enable_all().thread_stack_size(sql.stack_bytes()).build();
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(serve(config, dashboard, sql, log))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %error, "the control plane cannot run");
            ExitCode::FAILURE
        }
    }
}

async fn serve(
    config: Config,
    dashboard: Option<DashboardFiles>,
    sql: Arc<dyn SqlAnalyzer>,
    log: Log,
) -> Result<(), Box<dyn std::error::Error>> {
    let shutdown = CancellationToken::new();
    let provisioner: Arc<dyn Provisioner> =
        if config.kubernetes { Arc::new(Cluster::connect(&config).await?) } else { Arc::new(Unattended) };
    let identity = match config.identity() {
        Some(files) => Some(files.read().await?),
        None => None,
    };
    let (clock, entropy) = (Arc::new(SystemClock), Entropy::system()?);
    let tracer = Tracer::to(&config.collector, SERVICE, clock.clone(), entropy.clone())?;
    let parts = Parts {
        clock,
        entropy,
        hash_cost: HashCost::OWASP,
        telemetry: Telemetry { tracer: tracer.clone(), log: Some(log) },
        provisioner,
        identity,
        dashboard,
        sql,
        shutdown: shutdown.clone(),
    };
    let running = crate::start(config, parts).await?;
    running.until_signal(shutdown).await?;
    tracer.finish().await;
    Ok(())
}
