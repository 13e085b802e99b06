//! The command line of `sluice`. `sluice` alone is `sluice up`; under the name `kubectl-sluice` it is a
//! plugin of kubectl.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use telemetry::Log;

use crate::client::{
    self, Failure, audit, branches, doctor, environments, explain, explain_sql, integrations, keys, load, mcp, output,
    policies, sql, stage, unload,
};
use crate::kubectl::{self, KubectlSluice};
use crate::platform::Config;
use crate::{migrate, org, reference};

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
    Up(Box<Config>),
    /// Bring the database of `DATABASE_URL` to this version's schema.
    Migrate(migrate::Args),
    /// Change an organization as only whoever runs the installation may.
    Org(org::Args),
    /// Tell whether a platform is well, and if not, what to do.
    Doctor(doctor::Args),
    /// Run statements: typed, piped, or at a prompt.
    Sql(sql::Args),
    /// Load a file into a table: CSV, JSON lines, Parquet or Arrow.
    Load(load::Args),
    /// Unload a table or a query into a file, or into files of a stage: CSV, JSON or Parquet.
    Unload(unload::Args),
    /// Files of stages: list, put, get, remove.
    Stage(stage::Args),
    /// Storage integrations of an environment: where files elsewhere are reached, and by which credentials.
    Integration(integrations::Args),
    /// Tell what a statement becomes in the engine's dialect, with the policies in it, without running it.
    ExplainSql(explain_sql::Args),
    /// Tell what an error code means, and what to do.
    Explain(explain::Args),
    /// API keys of an environment.
    Keys(keys::Args),
    /// Environments of an organization.
    Env(environments::Args),
    /// Row filters and column masks of an environment.
    Policies(policies::Args),
    /// Branches: tables copied to be changed apart, and merged.
    Branch(branches::Args),
    /// The audit trails: is the chain whole, exports.
    Audit(audit::Args),
    /// Bridge the agent tools to standard input and output, for clients that only speak that.
    Mcp(mcp::Args),
    /// Print the table of error codes.
    Codes,
    /// Print every route with its role and scope.
    Routes,
    /// Print the OpenAPI document of the control plane.
    Openapi,
    /// Print the custom resource definitions, for `kubectl apply`.
    Crds,
    /// Print what completes these commands in a shell.
    Completions { shell: Shell },
    /// What `kubectl sluice` does: environments on a cluster.
    Kubectl(kubectl::Plugin),
    /// The engine's child process; the data plane starts it and speaks to it.
    #[command(hide = true)]
    Engine,
    /// Fill an environment's folder with the TPC-H tables, in a process of its own.
    #[command(hide = true)]
    SeedTpch { data: PathBuf, extension: PathBuf, scale: f64 },
}

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    if kubectl::is_plugin(std::env::args().next().as_deref()) {
        return kubectl::run(KubectlSluice::parse().plugin);
    }
    let Sluice { command, up } = Sluice::parse();
    match command.unwrap_or_else(|| Command::Up(Box::new(up))) {
        Command::Engine => dataplane::server::process::engine(),
        Command::Kubectl(plugin) => kubectl::run(plugin),
        Command::SeedTpch { data, extension, scale } => {
            ended(engine::seed::tpch(&data, &extension, scale).map_err(|error| error.to_string()))
        }
        Command::Up(config) => {
            on_runtime(|log| async move { crate::platform::up(*config, log).await.map_err(|error| error.to_string()) })
        }
        Command::Org(args) => on_runtime(|_| async move { org::run(args).await.map_err(|error| error.to_string()) }),
        Command::Migrate(args) => client::run(migrate::run(args)),
        Command::Doctor(args) => client::run(doctor::run(args)),
        Command::Sql(args) => client::run(sql::run(args)),
        Command::Load(args) => client::run(load::run(args)),
        Command::Unload(args) => client::run(unload::run(args)),
        Command::Stage(args) => client::run(stage::run(args)),
        Command::Integration(args) => client::run(integrations::run(args)),
        Command::ExplainSql(args) => client::run(explain_sql::run(args)),
        Command::Keys(args) => client::run(keys::run(args)),
        Command::Env(args) => client::run(environments::run(args)),
        Command::Policies(args) => client::run(policies::run(args)),
        Command::Branch(args) => client::run(branches::run(args)),
        Command::Audit(args) => client::run(audit::run(args)),
        Command::Mcp(args) => client::run(mcp::run(args)),
        Command::Explain(args) => client::ended(explain::run(&args)),
        Command::Codes => printed(Ok(contract::codes::markdown())),
        Command::Routes => {
            printed(Ok(controlplane::platform::http::routes::screen(controlplane::server::endpoints::rows())))
        }
        Command::Openapi => printed(Ok(controlplane::server::reference::printed())),
        Command::Crds => printed(crds::yaml().map_err(|error| Failure::Broken(error.to_string()))),
        Command::Completions { shell } => printed(Ok(completions(shell))),
    }
}

/// The page of all commands.
pub fn page() -> String {
    reference::markdown(Sluice::command())
}

fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Sluice::command(), "sluice", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

fn printed(text: Result<String, Failure>) -> ExitCode {
    client::ended(text.and_then(|text| output::write(format!("{}\n", text.trim_end()).as_bytes())))
}

fn on_runtime<F: Future<Output = Result<(), String>>>(work: impl FnOnce(Log) -> F + Send + 'static) -> ExitCode {
    let log = Log::start(std::io::stderr);
    // One crypto provider, named before the first handshake; a second call is no harm.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match dataplane::server::process::block_on(move || work(log)) {
        Ok(result) => ended(result),
        Err(error) => ended(Err(error.to_string())),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_line_is_well_formed() {
        Sluice::command().debug_assert();
    }

    #[test]
    fn a_shell_completes_every_command_that_is_shown() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = completions(shell);
            for command in Sluice::command().get_subcommands().filter(|command| !command.is_hide_set()) {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
