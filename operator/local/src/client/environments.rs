//! `sluice env`: the environments of an organization.

use clap::Subcommand;

use super::api::segment;
use super::output::Columns;
use super::waiting::waited;
use super::{Failure, Group, Told};

pub type Args = Group<Wanted>;

#[derive(Debug, Subcommand)]
pub enum Wanted {
    /// List those of the credential's organization.
    List,
    /// Show one, the credential's own unless another is named.
    Show { env_id: Option<String> },
}

const LISTED: Columns = &["env_id", "slug", "name", "status", "created_at"];
const SHOWN: Columns = &[
    "env_id",
    "slug",
    "name",
    "status",
    "connection.host",
    "connection.port",
    "connection.database",
    "settings.query_timeout_ms",
    "settings.max_concurrent_queries",
    "settings.cache_enabled",
    "settings.heal",
    "settings.test_mode",
    "created_at",
    "updated_at",
];

pub async fn run(args: Args) -> Result<(), Failure> {
    let api = args.access.api()?;
    let work = async {
        let environments = format!("{}/environments", api.organization().await?);
        Ok::<_, Failure>(match args.wanted {
            Wanted::List => Told::list(api.list(&environments).await?, LISTED),
            Wanted::Show { env_id } => {
                let env_id = match &env_id {
                    Some(env_id) => segment(env_id)?,
                    None => api.env_id().await?,
                };
                Told::record(api.get(&format!("{environments}/{env_id}")).await?, SHOWN)
            }
        })
    };
    waited("environments", work).await?.show(args.output)
}
