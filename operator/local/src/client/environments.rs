//! `sluice env`: the environments of an organization.

use clap::Subcommand;
use reqwest::{Method, Url};

use super::api::segment;
use super::output::Columns;
use super::waiting::waited;
use super::{Api, Failure, Group, ShownAnswer};

pub type Args = Group<Wanted>;

#[derive(Debug, Subcommand)]
pub enum Wanted {
    /// List those of the credential's organization.
    List,
    /// Show one, the credential's own unless another is named.
    Show { env_id: Option<String> },
    /// Suspend one, the credential's own unless another is named: nothing runs there, and everything is kept.
    Suspend { env_id: Option<String> },
    /// Resume one; it is active when its data plane serves.
    Resume { env_id: Option<String> },
    /// Remove one: its keys are revoked, this credential too where it is one of them. Its data stays where it lies.
    Delete {
        env_id: String,
        /// Its name, so that no other is meant.
        #[arg(long, value_name = "NAME")]
        confirm: String,
    },
}

const LISTED: Columns = "env_id, slug, name, status, created_at";
const SHOWN: Columns = "env_id, slug, name, status, connection.host, connection.port, connection.database, \
    settings.query_timeout_ms, settings.max_concurrent_queries, settings.cache_enabled, settings.heal, \
    settings.test_mode, created_at, updated_at";

pub async fn run(args: Args) -> Result<(), Failure> {
    let api = args.access.api()?;
    let work = async {
        let environments = format!("{}/environments", api.organization().await?);
        let one = async |env_id: Option<String>| match &env_id {
            Some(env_id) => Ok(format!("{environments}/{}", segment(env_id)?)),
            None => Ok::<_, Failure>(format!("{environments}/{}", api.env_id().await?)),
        };
        Ok::<_, Failure>(match args.wanted {
            Wanted::List => ShownAnswer::list(api.list(&environments).await?, LISTED),
            Wanted::Show { env_id } => ShownAnswer::record(api.get(&one(env_id).await?).await?, SHOWN),
            Wanted::Suspend { env_id } => turned(&api, &format!("{}/suspend", one(env_id).await?)).await?,
            Wanted::Resume { env_id } => turned(&api, &format!("{}/resume", one(env_id).await?)).await?,
            Wanted::Delete { env_id, confirm } => {
                let address = format!("{}{}", api.url(), one(Some(env_id)).await?);
                let address = Url::parse_with_params(&address, [("confirm", confirm)])
                    .map_err(|_| Failure::Usage("the environment's name cannot be sent".to_owned()))?;
                ShownAnswer::record(api.record(api.request_to(Method::DELETE, address.as_str())).await?, SHOWN)
            }
        })
    };
    waited("environments", work).await?.show(args.output)
}

/// One that is suspended or resumed.
async fn turned(api: &Api, path: &str) -> Result<ShownAnswer, Failure> {
    Ok(ShownAnswer::record(api.record(api.request(Method::POST, path)).await?, SHOWN))
}

#[cfg(test)]
mod tests {
    use contract::EnvironmentSettings;

    use super::SHOWN;

    #[test]
    fn each_setting_is_shown() {
        for name in EnvironmentSettings::NAMES {
            assert!(SHOWN.split(", ").any(|column| column == format!("settings.{name}")), "{name}");
        }
    }
}
