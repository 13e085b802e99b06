//! `sluice audit`: is the chain of administrative events whole, and exports of the trails.

use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::api::segment;
use super::output::Columns;
use super::waiting::waited;
use super::{Api, Failure, Group, ShownAnswer};

const PAUSE: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_hours(1);

pub type Args = Group<Wanted>;

#[derive(Debug, Subcommand)]
pub enum Wanted {
    /// Walk the organization's chain; a broken one is a failure.
    Verify,
    /// Write a trail over a range of time into the archive, and wait for it.
    Export(Export),
}

#[derive(Debug, clap::Args)]
pub struct Export {
    trail: Trail,
    /// The first day or moment, as `2026-01-31` or `2026-01-31T09:00:00Z`.
    #[arg(long)]
    from: String,
    /// The last; at most 90 days after.
    #[arg(long)]
    to: String,
    #[arg(long, value_enum, default_value_t)]
    format: Lines,
    /// Do not wait until it is written.
    #[arg(long)]
    no_wait: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum Trail {
    /// Every query.
    Query,
    /// Every change.
    Admin,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum Lines {
    #[default]
    Jsonl,
    Csv,
}

const VERIFIED: Columns = "chain_valid, events_verified, break_detected_at, verified_at";
const EXPORTED: Columns = "export_id, type, format, status, object_storage_path, manifest.sha256";

impl Export {
    fn body(&self) -> Value {
        json!({"type": self.trail, "start_date": self.from, "end_date": self.to, "format": self.format})
    }

    async fn run(&self, api: &Api) -> Result<Value, Failure> {
        let exports = format!("{}/audit/export", api.environment().await?);
        let mut export = api.post(&exports, &self.body()).await?;
        if self.no_wait {
            return Ok(export);
        }
        let id = text(&export, "export_id");
        let path = format!("{exports}/{}", segment(&id)?);
        let ended = async {
            while text(&export, "status") == "processing" {
                sleep(PAUSE).await;
                export = api.get(&path).await?;
            }
            Ok(export)
        };
        let late = |_| Failure::TimedOut(format!("the export {id} is still being written: it goes on without us"));
        timeout(PATIENCE, ended).await.map_err(late)?
    }
}

pub async fn run(args: Args) -> Result<(), Failure> {
    let api = args.access.api()?;
    let (record, columns) = match &args.wanted {
        Wanted::Verify => {
            let path = format!("{}/audit/admin/verify-chain", api.environment().await?);
            (waited("verifying", api.get(&path)).await?, VERIFIED)
        }
        Wanted::Export(export) => (waited("exporting", export.run(&api)).await?, EXPORTED),
    };
    let verdict = match args.wanted {
        Wanted::Verify => verified(&record),
        Wanted::Export(_) => written(&record),
    };
    ShownAnswer::record(record, columns).show(args.output)?;
    verdict
}

fn verified(record: &Value) -> Result<(), Failure> {
    if record.get("chain_valid") == Some(&Value::Bool(true)) {
        return Ok(());
    }
    Err(Failure::NotSo("the chain is broken: an event was changed, removed or put in".to_owned()))
}

fn written(record: &Value) -> Result<(), Failure> {
    match text(record, "status").as_str() {
        "failed" => Err(Failure::NotSo("the export could not be written".to_owned())),
        _ => Ok(()),
    }
}

fn text(record: &Value, name: &str) -> String {
    record.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Class;

    #[test]
    fn only_a_chain_that_is_said_to_be_whole_is() {
        assert!(verified(&json!({"chain_valid": true})).is_ok());
        for record in [json!({"chain_valid": false}), json!({}), json!({"chain_valid": "true"})] {
            assert_eq!(verified(&record).unwrap_err().class(), Class::Other, "{record}");
        }
    }

    #[test]
    fn an_export_that_failed_is_a_failure() {
        for (status, is_well) in [("completed", true), ("processing", true), ("failed", false)] {
            assert_eq!(written(&json!({"status": status})).is_ok(), is_well, "{status}");
        }
    }
}
