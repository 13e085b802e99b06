//! The command line of `sluice`. `sluice` alone is `sluice up`; under the name `kubectl-sluice` it is a
//! plugin of kubectl.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::explain_sql;
use crate::kubectl::{self, KubectlSluice};
use crate::org;
use crate::platform::Config;
use crate::progress::say;

/// Governed SQL for people and agents.
#[derive(Debug, Parser)]
#[command(name = "sluice", version)]
struct Sluice {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    up: Config,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the whole platform here: PostgreSQL, control plane, one data plane per environment.
    Up(Config),
    /// Bring the database of `DATABASE_URL` to this version's schema.
    Migrate(Migrate),
    /// Change an organization as only whoever runs the installation may.
    Org(org::Args),
    /// Tell what a statement becomes in the engine's dialect, with the policies in it, without running it.
    ExplainSql(explain_sql::Args),
    /// Print the table of error codes.
    Codes,
    /// Print every route with its role and scope.
    Routes,
    /// Print the OpenAPI document of the control plane.
    Openapi,
    /// What `kubectl sluice` does: environments on a cluster.
    Kubectl(kubectl::Plugin),
    /// The engine's child process; the data plane starts it and speaks to it.
    #[command(hide = true)]
    Engine,
    /// Fill an environment's folder with the TPC-H tables, in a process of its own.
    #[command(hide = true)]
    SeedTpch { data: PathBuf, extension: PathBuf, scale: f64 },
}

#[derive(Debug, clap::Args)]
struct Migrate {
    /// PostgreSQL, as a URL.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database_url: String,
}

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    if kubectl::is_plugin(std::env::args().next().as_deref()) {
        return kubectl::run(KubectlSluice::parse().plugin);
    }
    let Sluice { command, up } = Sluice::parse();
    match command.unwrap_or(Command::Up(up)) {
        Command::Engine => dataplane::process::engine(),
        Command::Kubectl(plugin) => kubectl::run(plugin),
        Command::SeedTpch { data, extension, scale } => {
            ended(engine::seed::tpch(&data, &extension, scale).map_err(|error| error.to_string()))
        }
        Command::Codes => {
            say(contract::codes::markdown().trim_end());
            ExitCode::SUCCESS
        }
        Command::Routes => {
            say(controlplane::http::routes::screen(controlplane::rooms::rows()).trim_end());
            ExitCode::SUCCESS
        }
        Command::Openapi => {
            say(controlplane::reference::printed().trim_end());
            ExitCode::SUCCESS
        }
        Command::Up(config) => {
            on_runtime(async move { crate::platform::up(config).await.map_err(|error| error.to_string()) })
        }
        Command::ExplainSql(args) => {
            on_runtime(async move { explain_sql::run(args).await.map_err(|error| error.to_string()) })
        }
        Command::Org(args) => on_runtime(async move { org::run(args).await.map_err(|error| error.to_string()) }),
        Command::Migrate(Migrate { database_url }) => {
            on_runtime(async move { controlplane::migrate(&database_url).await.map_err(|error| error.to_string()) })
        }
    }
}

fn on_runtime(work: impl Future<Output = Result<(), String>>) -> ExitCode {
    log_to_stderr();
    // One crypto provider, named before the first handshake; a second call is no harm.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime {
        Ok(runtime) => ended(runtime.block_on(work)),
        Err(error) => ended(Err(error.to_string())),
    }
}

/// One JSON line an event; `RUST_LOG` chooses, `info` unless it does.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(dataplane::process::LOGGED));
    tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(std::io::stderr).init();
}

#[expect(clippy::print_stderr, reason = "a command says why it failed")]
fn ended(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("sluice: {message}");
            ExitCode::FAILURE
        }
    }
}
