//! `sluice keys`: the API keys of an environment.

use clap::Subcommand;
use serde_json::{Value, json};

use super::api::segment;
use super::output::Columns;
use super::waiting::waited;
use super::{Failure, Group, ShownAnswer, pairs};

pub type Args = Group<Wanted>;

#[derive(Debug, Subcommand)]
pub enum Wanted {
    /// List them, never their text.
    List,
    /// Make one; its text is shown once, now.
    Create(New),
    /// Revoke one: it is refused over every protocol from then on.
    Revoke { key_id: String },
}

#[derive(Debug, clap::Args)]
pub struct New {
    name: String,
    /// What it may do, as `query:read` or `policy:*`; may be given several times.
    #[arg(long = "scope", required = true)]
    scopes: Vec<String>,
    /// The user it acts for; nobody unless given.
    #[arg(long)]
    user_id: Option<String>,
    /// An attribute that policies ask about; may be given several times.
    #[arg(long = "attribute", value_name = "NAME=VALUE")]
    attributes: Vec<String>,
    /// The agent it is for.
    #[arg(long)]
    agent_id: Option<String>,
    /// Its framework.
    #[arg(long, requires = "agent_id")]
    agent_framework: Option<String>,
    /// Where it may be used from, as `10.0.0.0/8`; may be given several times.
    #[arg(long = "ip", value_name = "CIDR")]
    ip_allowlist: Vec<String>,
    #[arg(long)]
    expires_in_days: Option<u32>,
}

const LISTED: Columns = "key_id, name, prefix, status, scopes, user_id, expires_at, last_used_at";
const MADE: Columns = "key, key_id, name, scopes, user_id, agent_id, expires_at";
const REVOKED: Columns = "key_id, name, revoked_at, revoked_by";

impl New {
    fn body(self) -> Result<Value, Failure> {
        let Self { name, scopes, user_id, attributes, agent_id, agent_framework, ip_allowlist, expires_in_days } = self;
        Ok(json!({
            "name": name,
            "scopes": scopes,
            "user_id": user_id,
            "attributes": pairs(&attributes)?,
            "agent_id": agent_id,
            "agent_framework": agent_framework,
            "ip_allowlist": ip_allowlist,
            "expires_in_days": expires_in_days,
        }))
    }
}

pub async fn run(args: Args) -> Result<(), Failure> {
    let api = args.access.api()?;
    let work = async {
        let keys = format!("{}/api-keys", api.environment().await?);
        Ok::<_, Failure>(match args.wanted {
            Wanted::List => ShownAnswer::list(api.list(&keys).await?, LISTED),
            Wanted::Create(new) => ShownAnswer::record(api.post(&keys, &new.body()?).await?, MADE),
            Wanted::Revoke { key_id } => {
                ShownAnswer::record(api.delete(&format!("{keys}/{}", segment(&key_id)?)).await?, REVOKED)
            }
        })
    };
    waited("keys", work).await?.show(args.output)
}
