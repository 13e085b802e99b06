//! `sluice org`: tier and suspension of an organization. "A tier or a suspension is set by
//! `Organization.spec.tier` / `spec.suspended`, or `sluice org set-tier` / `sluice org suspend`."
//!
//! It works on the database, whether or not a platform runs; one that runs learns of it as of any
//! other change. Secrets are never made here: what is written under others than the installation's
//! own could not be verified.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use contract::key::HashCost;
use contract::{Entropy, Keyring, SystemClock, Tier};
use controlplane::domain::tenancy::organizations::{self, AdministrativeChange};
use controlplane::platform::provisioner::Unattended;
use controlplane::{Config, Parts};
use tokio_util::sync::CancellationToken;

use crate::postgres::Places;
use crate::progress::say;
use crate::state::State;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    change: Wanted,
    /// PostgreSQL, as a URL; the one that runs in the state folder if absent.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, global = true)]
    database_url: Option<String>,
    /// 64 hex digits; the state folder's if absent.
    #[arg(long, env = "SLUICE_SECRET_KEY", hide_env_values = true, global = true)]
    secret_key: Option<String>,
    /// Folder of the platform on this machine.
    #[arg(long, env = "SLUICE_STATE", default_value = ".sluice", global = true)]
    state: PathBuf,
    /// Where PostgreSQL was unpacked.
    #[arg(long, env = "SLUICE_PG", default_value = ".sluice/pg", global = true)]
    postgres: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Wanted {
    /// Set the tier: free, cloud, growth or enterprise.
    SetTier { organization: String, tier: Tier },
    /// Suspend: the organization is managed as before, and nobody queries.
    Suspend { organization: String },
    /// End a suspension.
    Resume { organization: String },
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} holds no platform's secret: name its folder with --state, or set SLUICE_SECRET_KEY", .0.display())]
    NoSecret(PathBuf),
    #[error("SLUICE_SECRET_KEY is not 64 hex digits")]
    BadSecret,
    #[error(transparent)]
    State(#[from] crate::state::Error),
    #[error(transparent)]
    Entropy(#[from] contract::entropy::NoEntropy),
    #[error(transparent)]
    Open(#[from] controlplane::StartError),
    #[error(transparent)]
    Refused(#[from] controlplane::Error),
}

/// Makes the change and prints how the organization stands.
pub async fn run(args: Args) -> Result<(), Error> {
    let entropy = Entropy::system()?;
    let keyring = match &args.secret_key {
        Some(text) => Keyring::from_hex(text).ok_or(Error::BadSecret)?,
        None => found(&args.state)?.keyring(&entropy)?,
    };
    let database_url = match args.database_url {
        Some(url) => url,
        None => Places::within(&args.postgres, &found(&args.state)?.root().join("postgres")).url("postgres"),
    };
    let parts = Parts {
        clock: Arc::new(SystemClock),
        entropy,
        hash_cost: HashCost::OWASP,
        provisioner: Arc::new(Unattended),
        identity: None,
        dashboard: None,
        telemetry: telemetry::Telemetry::default(),
        sql: Arc::new(sql::Analyzer),
        shutdown: CancellationToken::new(),
    };
    let app = controlplane::open(Config::new(database_url, keyring), parts).await?;
    let (organization, change) = match args.change {
        Wanted::SetTier { organization, tier } => (organization, AdministrativeChange::Tier(tier)),
        Wanted::Suspend { organization } => (organization, AdministrativeChange::Suspend),
        Wanted::Resume { organization } => (organization, AdministrativeChange::Resume),
    };
    let standing = organizations::change(&app, &organization, change).await?;
    say(&standing.to_string());
    Ok(())
}

/// The state folder of a platform that has run.
fn found(folder: &Path) -> Result<State, Error> {
    if !folder.join("secrets/master_key").is_file() {
        return Err(Error::NoSecret(folder.to_owned()));
    }
    Ok(State::open(folder)?)
}
