//! `sluice branch`: tables copied to be changed apart, and brought back.

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::api::segment;
use super::output::Columns;
use super::waiting::waited;
use super::{Api, Failure, Group, Output, Told};

pub type Args = Group<Wanted>;

#[derive(Debug, Subcommand)]
pub enum Wanted {
    /// List branches, the newest first.
    List {
        /// active, merged, discarded, expired or all [default: active].
        #[arg(long)]
        status: Option<String>,
    },
    /// Copy tables to a new one; its schema is a search path.
    Create(New),
    /// Bring what was changed on it to the mainline.
    Merge(Merge),
    /// Give it up, and all that was changed on it.
    Discard { branch_id: String },
}

#[derive(Debug, clap::Args)]
pub struct New {
    #[arg(required = true)]
    tables: Vec<String>,
    /// Whose it is.
    #[arg(long)]
    agent_id: String,
    #[arg(long)]
    name: Option<String>,
    #[arg(long)]
    description: Option<String>,
    #[arg(long)]
    ttl_seconds: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub struct Merge {
    branch_id: String,
    /// Who wins where both sides changed the same: `branch_wins`, `main_wins`, or `fail_on_conflict`
    /// [default: `branch_wins`].
    #[arg(long)]
    strategy: Option<String>,
    /// cell or row [default: cell].
    #[arg(long)]
    granularity: Option<String>,
    /// Only tell what would happen.
    #[arg(long)]
    dry_run: bool,
}

const SHOWN: Columns = &["id", "name", "status", "agent_id", "tables", "schema_name", "expires_at"];
const MERGED: Columns = &["branch_id", "status", "strategy", "conflicts", "rows_affected", "tables_merged"];
const DISCARDED: Columns = &["branch_id", "discarded"];

/// Branches as this credential sees them.
struct Branches<'a> {
    api: &'a Api,
    path: String,
    env_id: &'a str,
}

impl Branches<'_> {
    fn at(&self, more: &str) -> String {
        format!("{}{more}?env_id={}", self.path, self.env_id)
    }

    async fn list(&self, status: Option<&str>) -> Result<Told, Failure> {
        let status = status.map(segment).transpose()?.map(|status| format!("&status={status}")).unwrap_or_default();
        match self.api.get(&format!("{}{status}", self.at(""))).await? {
            Value::Array(branches) => Ok(Told::list(branches, SHOWN)),
            _ => Err(Failure::Broken("the answer is no list".to_owned())),
        }
    }

    async fn create(&self, new: New) -> Result<Told, Failure> {
        let New { tables, agent_id, name, description, ttl_seconds } = new;
        let body = present(json!({
            "tables": tables,
            "agent_id": agent_id,
            "name": name,
            "description": description,
            "ttl_seconds": ttl_seconds,
        }));
        Ok(Told::record(self.api.post(&self.at(""), &body).await?, SHOWN))
    }

    /// What was refused for its conflicts is shown, and is a failure.
    async fn merge(&self, merge: Merge, output: Output) -> Result<(), Failure> {
        let Merge { branch_id, strategy, granularity, dry_run } = merge;
        let body = present(json!({"strategy": strategy, "granularity": granularity, "dry_run": dry_run}));
        let path = self.at(&format!("/{}/merge", segment(&branch_id)?));
        let merged = waited("merging", self.api.post(&path, &body)).await?;
        let is_refused = merged.get("status").is_some_and(|status| status == "conflicts");
        let conflicts = merged.get("conflicts").and_then(Value::as_u64).unwrap_or_default();
        Told::record(merged, MERGED).show(output)?;
        if is_refused {
            return Err(Failure::NotSo(format!("nothing is merged: there are {conflicts} conflicts")));
        }
        Ok(())
    }

    async fn discard(&self, branch_id: &str) -> Result<Told, Failure> {
        let path = self.at(&format!("/{}", segment(branch_id)?));
        Ok(Told::record(self.api.delete(&path).await?, DISCARDED))
    }
}

/// Without what was not given.
fn present(body: Value) -> Map<String, Value> {
    let Value::Object(mut members) = body else { return Map::new() };
    members.retain(|_, value| !value.is_null());
    members
}

pub async fn run(args: Args) -> Result<(), Failure> {
    let api = args.access.api()?;
    let path = format!("{}/branches", api.organization().await?);
    let branches = Branches { api: &api, path, env_id: api.env_id().await? };
    let told = match args.wanted {
        Wanted::List { status } => waited("branches", branches.list(status.as_deref())).await?,
        Wanted::Create(new) => waited("copying tables", branches.create(new)).await?,
        Wanted::Discard { branch_id } => waited("discarding", branches.discard(&branch_id)).await?,
        Wanted::Merge(merge) => return branches.merge(merge, args.output).await,
    };
    told.show(args.output)
}
