//! `sluice explain-sql`: what a statement becomes, told by a platform that runs. "Shows original, rewritten and
//! governed SQL"; with `--role` and its like, as somebody imagined.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::time::Duration;

use contract::explain::{RunAs, TestBody, Tested, TranspileBody, Transpiled, Verdict};
use contract::{Redacted, Role, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::progress::say;

const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The statement; `-` reads it from standard input.
    sql: String,
    /// Of the control plane.
    #[arg(long, env = "SLUICE_URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// The environment's id.
    #[arg(long, env = "SLUICE_ENV_ID")]
    environment: String,
    #[arg(long, env = "SLUICE_KEY", hide_env_values = true)]
    key: String,
    /// As somebody of this role. This and what follows is for owners and admins.
    #[arg(long)]
    role: Option<Role>,
    /// An attribute they have; may be given several times.
    #[arg(long = "attribute", value_name = "NAME=VALUE")]
    attributes: Vec<String>,
    /// The agent they are.
    #[arg(long)]
    agent_id: Option<String>,
    /// Its framework.
    #[arg(long)]
    framework: Option<String>,
    /// When they ask, as `2026-01-31T09:00:00Z`.
    #[arg(long)]
    at: Option<Timestamp>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("standard input cannot be read: {0}")]
    Input(#[from] std::io::Error),
    #[error("an attribute is written NAME=VALUE, not {0}")]
    Attribute(String),
    #[error("{0}")]
    Unreachable(#[from] reqwest::Error),
    #[error("{0}")]
    Refused(String),
}

/// Asks, and prints what is told.
pub async fn run(args: Args) -> Result<(), Error> {
    let mut sql = args.sql;
    if sql == "-" {
        sql.clear();
        std::io::stdin().read_to_string(&mut sql)?;
    }
    let attribute = |written: String| match written.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(Error::Attribute(written)),
    };
    let attributes = args.attributes.into_iter().map(attribute).collect::<Result<BTreeMap<_, _>, _>>()?;
    let run_as = RunAs {
        role: args.role,
        attributes,
        agent_id: args.agent_id,
        framework: args.framework,
        query_origin: None,
        at: args.at,
    };
    let platform = Platform { url: args.url, environment: args.environment, key: Redacted::new(args.key) };
    let told = if run_as == RunAs::default() {
        let body = TranspileBody { sql, agent_id: None, agent_framework: None };
        statement(&platform.ask::<Transpiled>("transpile", &body).await?)
    } else {
        tested(&platform.ask::<Tested>("policies/test", &TestBody { sql, run_as }).await?)
    };
    say(told.trim_end());
    Ok(())
}

struct Platform {
    url: String,
    environment: String,
    key: Redacted<String>,
}

impl Platform {
    async fn ask<T: DeserializeOwned>(&self, what: &str, body: &impl Serialize) -> Result<T, Error> {
        let url = format!("{}/v1/environments/{}/{what}", self.url.trim_end_matches('/'), self.environment);
        let client = reqwest::Client::builder().timeout(PATIENCE).build()?;
        let answer = client.post(url).header("x-api-key", self.key.expose()).json(body).send().await?;
        let (status, bytes) = (answer.status(), answer.bytes().await?);
        let unreadable = || Error::Refused(format!("{} answered {status}, which cannot be read", self.url));
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|_| unreadable());
        }
        let problem: Value = serde_json::from_slice(&bytes).map_err(|_| unreadable())?;
        Err(Error::Refused(refusal(&problem).ok_or_else(unreadable)?))
    }
}

/// The message, the place, the code.
fn refusal(problem: &Value) -> Option<String> {
    let error = problem.get("error")?;
    let mut told = error.get("message")?.as_str()?.to_owned();
    let details = error.get("details");
    let detail = |name| details.and_then(|details| details.get(name));
    if let Some(snippet) = detail("snippet").and_then(Value::as_str) {
        let _ = write!(told, "\n{snippet}");
    }
    if let Some(code) = detail("stable_code").and_then(Value::as_str) {
        let _ = write!(told, "\n{code}");
    }
    Some(told)
}

fn statement(told: &Transpiled) -> String {
    let mut text = format!("-- original\n{}\n", told.original.trim());
    for (name, sql) in [("rewritten", &told.rewritten), ("governed", &told.governed)] {
        match sql {
            Some(sql) => _ = write!(text, "\n-- {name}\n{sql}\n"),
            None => _ = write!(text, "\n-- {name}: not shown to you\n"),
        }
    }
    for (place, value) in told.parameters.iter().enumerate() {
        let value = value.as_ref().map_or("given with the query".to_owned(), |value| format!("'{value}'"));
        let _ = writeln!(text, "-- ${} is {value}", place + 1);
    }
    for warning in &told.warnings {
        let _ = writeln!(text, "-- warning: {warning}");
    }
    text
}

fn tested(told: &Tested) -> String {
    let mut text = match told.verdict {
        Verdict::Allow => "-- allowed\n".to_owned(),
        Verdict::Deny => format!(
            "-- denied: {} ({})\n",
            told.reason.as_deref().unwrap_or_default(),
            told.code.as_deref().unwrap_or_default()
        ),
    };
    for filter in &told.filters {
        let _ = writeln!(text, "-- filter on {}: {} ({})", filter.table, filter.filter, filter.name);
    }
    for mask in &told.masks {
        let function = serde_json::to_value(mask.function).unwrap_or_default();
        let function = function.as_str().unwrap_or_default();
        let _ = writeln!(text, "-- mask on {}.{}: {function} ({})", mask.table, mask.column, mask.name);
    }
    if told.verdict == Verdict::Allow {
        text.push_str(&statement(&told.statement));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_told_reads_as_sql_with_comments() {
        let told = Transpiled {
            original: "select nvl(a, 1) from t".to_owned(),
            rewritten: Some("SELECT coalesce(a, 1) FROM t".to_owned()),
            governed: Some("SELECT coalesce(a, 1) FROM (SELECT a FROM t WHERE r = $1)".to_owned()),
            parameters: vec![Some("EU".to_owned()), None],
            tables: vec!["main.t".to_owned()],
            warnings: vec!["it differs".to_owned()],
        };
        expect_test::expect![[r"
            -- original
            select nvl(a, 1) from t

            -- rewritten
            SELECT coalesce(a, 1) FROM t

            -- governed
            SELECT coalesce(a, 1) FROM (SELECT a FROM t WHERE r = $1)
            -- $1 is 'EU'
            -- $2 is given with the query
            -- warning: it differs
        "]]
        .assert_eq(&statement(&told));
    }

    #[test]
    fn a_refusal_shows_the_place() {
        let details = json!({"snippet": "LINE 1: selec\n        ^", "stable_code": "SVC_ERR_400_BAD_SQL"});
        let told = refusal(&json!({"error": {"message": "a statement is expected", "details": details}}));
        assert_eq!(told.as_deref(), Some("a statement is expected\nLINE 1: selec\n        ^\nSVC_ERR_400_BAD_SQL"));
        assert_eq!(refusal(&json!({})), None);
    }
}
