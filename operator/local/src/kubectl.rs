//! `kubectl sluice`: what people ask of an environment, in the words they ask it.
//!
//! The binary `sluice` under the name `kubectl-sluice` on the PATH is a plugin of kubectl; `sluice
//! kubectl …` is the same. It speaks to the API server as whoever the kubeconfig says, holds no
//! rights of its own, and writes under the field manager [`MANAGER`].
//!
//! | Exit | Means |
//! |---|---|
//! | 0 | done; for `status`: ready; for `plan`: no difference |
//! | 1 | looked, and it is not ready, or differs |
//! | 2 | the command line, or a file or program here, is not usable |
//! | 3 | no such object |
//! | 4 | the API server refused |
//! | 5 | the API server, or a pod, could not be reached |
//! | 6 | it did not happen in time |
//!
//! `psql` ends with psql's own status.

mod change;
mod cluster;
mod describe;
mod error;
mod forward;
mod gather;
mod plan;
mod psql;
mod redact;
mod report;
mod status;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use contract::clock::{Clock, SystemClock};
use jiff::Timestamp;

use crate::progress::say;
use cluster::Cluster;
use error::Error;

/// Of every write.
pub const MANAGER: &str = "kubectl-sluice";

/// Environments of Sluice: why one is not ready, psql into it, switching it off and on.
#[derive(Debug, Parser)]
#[command(name = "kubectl-sluice", bin_name = "kubectl sluice", version, about)]
pub struct KubectlSluice {
    #[command(flatten)]
    pub plugin: Plugin,
}

#[derive(Debug, Args)]
pub struct Plugin {
    #[command(flatten)]
    at: Place,
    #[command(subcommand)]
    command: Command,
}

/// Where to look, and how to say it.
#[derive(Debug, Args)]
pub struct Place {
    /// Namespace; the context's own unless given.
    #[arg(long, short, global = true)]
    namespace: Option<String>,
    /// Context of the kubeconfig; the current one unless given.
    #[arg(long, global = true)]
    context: Option<String>,
    #[arg(long, short, global = true, value_enum, default_value_t)]
    output: Output,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    #[default]
    Table,
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Whether an environment is ready, and if not, why; without a name: all of them.
    Status { environment: Option<String> },
    /// psql on an environment, through the API server; everything after `--` is psql's.
    Psql(psql::Psql),
    /// Drain an environment and switch it off; data, secrets and addresses stay.
    Suspend(change::Switch),
    /// Switch an environment on again.
    Resume(change::Switch),
    /// Replace an environment's pods one by one; running queries finish.
    Restart { environment: String },
    /// Give a key a new value, in the Secret it has; the old one stays valid for its grace.
    RotateKey(change::Rotate),
    /// What applying a manifest would change, checked by the API server; writes nothing.
    Plan(plan::Ask),
    /// Everything that helps to find a fault, as one tar.gz; never the value of a Secret.
    Report(report::Ask),
}

/// Is this how kubectl starts its plugins?
pub fn is_plugin(program: Option<&str>) -> bool {
    program.and_then(|path| Path::new(path).file_stem()).is_some_and(|name| name == "kubectl-sluice")
}

/// Runs the command; what it says goes to standard output, why it failed to standard error.
pub fn run(plugin: Plugin) -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(plugin.carry_out(&SystemClock)),
        Err(error) => Err(Error::Unusable(error.to_string())),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            complain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

#[expect(clippy::print_stderr, reason = "a command says why it failed")]
fn complain(error: &Error) {
    eprintln!("kubectl sluice: {error}");
}

impl Plugin {
    async fn carry_out(self, clock: &dyn Clock) -> Result<ExitCode, Error> {
        let Place { namespace, context, output } = self.at;
        let cluster = Cluster::connect(context, namespace).await?;
        let now = moment(clock)?;
        match self.command {
            Command::Status { environment: Some(name) } => {
                let seen = gather::environment(&cluster, &name).await?;
                say(&output.pick(|| status::page(&seen, now), || status::json(&seen, now))?);
                Ok(answer(describe::is_ready(&seen.environment)))
            }
            Command::Status { environment: None } => {
                let all = cluster.list::<crds::Environment>().await?;
                say(&output.pick(|| status::overview(&all, now), || status::overview_json(&all))?);
                Ok(answer(all.iter().all(describe::is_ready)))
            }
            Command::Psql(psql) => psql.run(&cluster).await,
            Command::Suspend(switch) => switch.turn(&cluster, true, output).await,
            Command::Resume(switch) => switch.turn(&cluster, false, output).await,
            Command::Restart { environment } => change::restart(&cluster, &environment, now, output).await,
            Command::RotateKey(rotate) => rotate.run(&cluster, now, output).await,
            Command::Plan(ask) => ask.run(&cluster, output).await,
            Command::Report(ask) => ask.run(&cluster, now, output).await,
        }
    }
}

impl Output {
    fn pick(self, table: impl FnOnce() -> String, json: impl FnOnce() -> serde_json::Value) -> Result<String, Error> {
        match self {
            Self::Table => Ok(table().trim_end().to_owned()),
            Self::Json => serde_json::to_string_pretty(&json()).map_err(|error| Error::Unusable(error.to_string())),
        }
    }
}

fn answer(yes: bool) -> ExitCode {
    if yes { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// The clock's time as Kubernetes' types have it.
fn moment(clock: &dyn Clock) -> Result<Timestamp, Error> {
    let micros = clock.now().timestamp_micros();
    Timestamp::from_microsecond(micros).map_err(|error| Error::Unusable(format!("the clock: {error}")))
}

/// A file that the person named.
fn read_file(path: &PathBuf) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| Error::Unusable(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn kubectl_starts_it_under_its_own_name() {
        assert!(is_plugin(Some("/usr/local/bin/kubectl-sluice")));
        assert!(is_plugin(Some("kubectl-sluice")));
        assert!(!is_plugin(Some("/usr/local/bin/sluice")));
        assert!(!is_plugin(None));
    }

    #[test]
    fn every_command_line_is_well_formed() {
        KubectlSluice::command().debug_assert();
    }

    #[test]
    fn everything_after_two_dashes_is_psqls() {
        let line = ["kubectl-sluice", "psql", "acme-prod", "-n", "data", "--", "-At", "-c", "select 1"];
        let parsed = KubectlSluice::parse_from(line).plugin;
        assert_eq!(parsed.at.namespace.as_deref(), Some("data"));
        let Command::Psql(psql) = parsed.command else { panic!("{:?}", parsed.command) };
        assert_eq!(psql.arguments, ["-At", "-c", "select 1"]);
    }
}
