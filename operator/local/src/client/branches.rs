//! `sluice branch`: tables copied to be changed apart, and brought back.

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::api::segment;
use super::output::{Columns, notice};
use super::waiting::waited;
use super::{Api, Failure, Group, Output, ShownAnswer};

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
    /// As `table` or `schema.table`; all that you may see if none is named.
    tables: Vec<String>,
    /// Columns that tell the rows of a table without a primary key apart, as `stock=sku,place`; once for each table.
    #[arg(long = "row-key", value_name = "TABLE=COLUMNS", value_parser = key)]
    keys: Vec<Key>,
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

/// A table and columns of it.
type Key = (String, Vec<String>);

fn key(text: &str) -> Result<Key, String> {
    let (table, columns) = text.split_once('=').ok_or("it is a table and columns, as `stock=sku,place`")?;
    Ok((table.to_owned(), columns.split(',').map(str::to_owned).collect()))
}

#[derive(Debug, clap::Args)]
pub struct Merge {
    branch_id: String,
    /// Who wins where both sides changed the same row: `branch_wins` or `main_wins`; with `fail_on_conflict`
    /// nothing is merged then.
    #[arg(long, default_value = "fail_on_conflict")]
    strategy: String,
    /// cell or row [default: cell].
    #[arg(long)]
    granularity: Option<String>,
    /// Only tell what would happen.
    #[arg(long)]
    dry_run: bool,
}

const SHOWN: Columns = "id, name, status, agent_id, tables, schema_name, expires_at";
const MERGED: Columns = "branch_id, status, strategy, conflicts, rows_affected, tables_merged";
const DISCARDED: Columns = "branch_id, discarded";

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

    async fn list(&self, status: Option<&str>) -> Result<ShownAnswer, Failure> {
        let status = status.map(segment).transpose()?.map(|status| format!("&status={status}")).unwrap_or_default();
        match self.api.get(&format!("{}{status}", self.at(""))).await? {
            Value::Array(branches) => Ok(ShownAnswer::list(branches, SHOWN)),
            _ => Err(Failure::Broken("the answer is no list".to_owned())),
        }
    }

    async fn create(&self, new: New) -> Result<ShownAnswer, Failure> {
        let New { tables, keys, agent_id, name, description, ttl_seconds } = new;
        let mut by_table = Map::new();
        for (table, columns) in keys {
            if by_table.insert(table.clone(), json!(columns)).is_some() {
                return Err(Failure::Usage(format!("--row-key: the key of {table} is given twice")));
            }
        }
        let body = present(json!({
            "tables": (!tables.is_empty()).then_some(tables),
            "keys": (!by_table.is_empty()).then_some(by_table),
            "agent_id": agent_id,
            "name": name,
            "description": description,
            "ttl_seconds": ttl_seconds,
        }));
        let made = self.api.post(&self.at(""), &body).await?;
        let warnings = made.get("warnings").and_then(Value::as_array).into_iter().flatten();
        warnings.filter_map(Value::as_str).for_each(|warning| notice(&format!("warning: {warning}")));
        Ok(ShownAnswer::record(made, SHOWN))
    }

    /// What was refused for its conflicts is shown, and is a failure.
    async fn merge(&self, merge: Merge, output: Output) -> Result<(), Failure> {
        let Merge { branch_id, strategy, granularity, dry_run } = merge;
        let body = present(json!({"strategy": strategy, "granularity": granularity, "dry_run": dry_run}));
        let path = self.at(&format!("/{}/merge", segment(&branch_id)?));
        let merged = waited("merging", self.api.post(&path, &body)).await?;
        let is_refused = merged.get("status").is_some_and(|status| status == "conflicts");
        let conflicts = merged.get("conflicts").and_then(Value::as_u64).unwrap_or_default();
        ShownAnswer::record(merged, MERGED).show(output)?;
        if is_refused {
            let message = format!(
                "nothing is merged: there are {conflicts} conflicts; `--strategy` decides those of rows, the page of the \
                 branch in the dashboard each one"
            );
            return Err(Failure::NotSo(message));
        }
        Ok(())
    }

    async fn discard(&self, branch_id: &str) -> Result<ShownAnswer, Failure> {
        let path = self.at(&format!("/{}", segment(branch_id)?));
        Ok(ShownAnswer::record(self.api.delete(&path).await?, DISCARDED))
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
