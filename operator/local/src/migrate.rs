//! `sluice migrate`: a database brought to this version's schema, before anything serves from it.

use crate::client::Failure;
use crate::client::waiting::waited;
use crate::progress::say;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// PostgreSQL, as a URL.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database_url: String,
}

pub async fn run(args: Args) -> Result<(), Failure> {
    let is_postgres = ["postgres://", "postgresql://"].iter().any(|scheme| args.database_url.starts_with(scheme));
    if !is_postgres {
        return Err(Failure::Usage(
            "the database's URL is written postgresql://user:password@host/database".to_owned(),
        ));
    }
    let migrated = waited("the schema is brought to this version", controlplane::migrate(&args.database_url)).await;
    migrated.map_err(|error| Failure::Broken(error.to_string()))?;
    say("the schema is this version's");
    Ok(())
}
