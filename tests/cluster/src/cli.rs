//! The command line: what people and stages type, and the parts that the binary plays itself.

mod host;
mod inside;

use std::{ffi::OsString, io::Write, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

use crate::{
    Error, Level, Pieces,
    image::{Extra, Recipe, load},
    namespaces, reaper,
};

/// A real Kubernetes on one machine, without docker or a registry.
#[derive(Debug, Parser)]
#[command(name = "cluster", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a cluster, run a command in it, end with the command's status
    Run {
        #[command(flatten)]
        setup: Setup,
        /// Where the programs' logs are kept when the command fails
        #[arg(long)]
        logs: Option<PathBuf>,
        /// Finds KUBECONFIG and others in its environment
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Start a cluster that this host can reach, print how, keep it until Ctrl-C
    Up {
        #[command(flatten)]
        setup: Setup,
    },
    /// Make an image out of a program: an archive for `--image`, `load`, or any registry
    Image {
        /// With a tag, as pods will name it
        name: String,
        program: PathBuf,
        /// Files and folders: beside the program, or `source:/place`
        #[arg(value_parser = extra)]
        extras: Vec<Extra>,
        #[arg(long, short)]
        output: PathBuf,
    },
    /// Put images onto the node of a cluster that runs
    Load {
        #[arg(required = true)]
        archives: Vec<PathBuf>,
        /// Its folder
        #[arg(long, env = "SLUICE_TEST_CLUSTER")]
        cluster: PathBuf,
    },
    /// Say what this machine lacks, and the fix
    Check {
        #[command(flatten)]
        setup: Setup,
    },
    #[command(hide = true)]
    Init {
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    #[command(hide = true)]
    Inside {
        #[command(flatten)]
        setup: Setup,
        #[arg(long)]
        folder: PathBuf,
        #[arg(last = true)]
        command: Vec<OsString>,
    },
    #[command(hide = true)]
    Reap { folder: PathBuf },
}

#[derive(Debug, Clone, Args)]
struct Setup {
    /// API server and controllers, without nodes: nothing runs, and root is not needed
    #[arg(long)]
    api_only: bool,
    /// Archives of images that the node shall have
    #[arg(long = "image")]
    images: Vec<PathBuf>,
    /// Folder of the programs of Kubernetes
    #[arg(long, env = "SLUICE_TEST_KUBERNETES", default_value = ".sluice/cluster")]
    kubernetes: PathBuf,
    /// Folder of programs that `--api-only` prefers
    #[arg(long, env = "KUBEBUILDER_ASSETS")]
    assets: Option<PathBuf>,
    /// Folder of PostgreSQL; without it there is no database
    #[arg(long, env = "SLUICE_PG")]
    postgres: Option<PathBuf>,
    #[arg(long, env = "PATH", hide = true, default_value = "")]
    path: OsString,
}

impl Setup {
    fn level(&self) -> Level {
        if self.api_only { Level::ApiServer } else { Level::Node }
    }

    fn pieces(&self) -> Pieces {
        let assets = self.assets.iter().filter(|_| self.api_only).cloned();
        let kubernetes = assets.chain([self.kubernetes.clone()]).collect();
        Pieces { kubernetes, postgres: self.postgres.clone(), path: self.path.clone() }
    }

    fn checked(&self) -> Result<(), Error> {
        let missing = self.pieces().missing(self.level());
        if missing.is_empty() { Ok(()) } else { Err(Error::Missing(missing)) }
    }
}

/// Runs the binary.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Init { command } => namespaces::init(&command),
        command => match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(run(command)),
            Err(error) => Err(Error::io("runtime")(error)),
        },
    };
    done.unwrap_or_else(|error| {
        say(&error.to_string());
        ExitCode::FAILURE
    })
}

async fn run(command: Command) -> Result<ExitCode, Error> {
    let done = |()| ExitCode::SUCCESS;
    match command {
        Command::Run { setup, logs, command } => host::run(setup, logs, command).await,
        Command::Up { setup } => host::up(setup).await,
        Command::Image { name, program, extras, output } => {
            Recipe::new(name, program).with(extras).build(&output).await.map(done)
        }
        Command::Load { archives, cluster } => {
            for archive in archives {
                load(&cluster, &archive).await?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Check { setup } => setup.checked().map(done),
        Command::Inside { setup, folder, command } => inside::run(setup, folder, command).await,
        Command::Reap { folder } => reaper::wait_and_remove(&folder).await.map(done),
        Command::Init { command } => namespaces::init(&command),
    }
}

/// To people; what a program may want to read goes to standard output instead.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "cluster: {text}"); // nobody listens: nobody misses it
}

fn extra(text: &str) -> Result<Extra, String> {
    match text.split_once(':') {
        None => Ok(Extra { source: text.into(), place: None }),
        Some((source, place)) if place.starts_with('/') => {
            Ok(Extra { source: source.into(), place: Some(place.into()) })
        }
        Some((_, place)) => Err(format!("{place}: a place in an image begins with /")),
    }
}
