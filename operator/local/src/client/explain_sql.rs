//! `sluice explain-sql`: what a statement becomes, told by a platform that runs. "Shows original, rewritten and
//! governed SQL"; with `--role` and its like, as somebody imagined.

use std::fmt::Write as _;
use std::io::Read as _;

use contract::explain::{RunAs, TestBody, Tested, TranspileBody, Transpiled, Verdict};
use contract::{Role, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::output::{self, Columns};
use super::waiting::waited;
use super::{Access, Api, Failure, Output, ShownAnswer, pairs};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    asked: Asked,
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    access: Access,
}

/// A statement, and who is imagined to ask.
#[derive(Debug, clap::Args)]
pub struct Asked {
    /// The statement; `-` reads it from standard input.
    sql: String,
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

const TRANSPILED: Columns = "original, rewritten, governed, parameters, tables, warnings";
const TESTED: Columns = "verdict, code, reason, filters, masks, governed";

impl Asked {
    fn body(self) -> Result<TestBody, Failure> {
        let mut sql = self.sql;
        if sql == "-" {
            sql.clear();
            let unread = |error| Failure::Usage(format!("standard input cannot be read: {error}"));
            std::io::stdin().read_to_string(&mut sql).map_err(unread)?;
        }
        let run_as = RunAs {
            role: self.role,
            attributes: pairs(&self.attributes)?,
            agent_id: self.agent_id,
            framework: self.framework,
            query_origin: None,
            at: self.at,
        };
        Ok(TestBody { sql, run_as, standard_conforming_strings: None })
    }
}

/// As oneself it is told to everybody; as somebody imagined to owners and admins.
pub async fn run(args: Args) -> Result<(), Failure> {
    let api = args.access.api()?;
    let body = args.asked.body()?;
    if body.run_as != RunAs::default() {
        return tested(&api, &body, args.output).await;
    }
    let (agent_id, agent_framework, standard_conforming_strings) = (None, None, None);
    let body = TranspileBody { sql: body.sql, agent_id, agent_framework, standard_conforming_strings };
    let path = format!("{}/transpile", api.environment().await?);
    let told = waited("explaining", api.post(&path, &body)).await?;
    shown(told, args.output, TRANSPILED, statement)
}

/// `sluice policies test`: what the policies do to a statement, whoever is imagined to ask.
pub async fn test(api: &Api, asked: Asked, output: Output) -> Result<(), Failure> {
    tested(api, &asked.body()?, output).await
}

async fn tested(api: &Api, body: &TestBody, output: Output) -> Result<(), Failure> {
    let path = format!("{}/policies/test", api.environment().await?);
    let told = waited("testing", api.post(&path, body)).await?;
    shown(told, output, TESTED, verdict)
}

/// For eyes it is SQL with comments.
fn shown<T: DeserializeOwned>(
    told: Value,
    output: Output,
    columns: Columns,
    text: fn(&T) -> String,
) -> Result<(), Failure> {
    if output != Output::Table {
        return ShownAnswer::record(told, columns).show(output);
    }
    let read = serde_json::from_value(told);
    let read = read.map_err(|error| Failure::Broken(format!("the answer cannot be read: {error}")))?;
    output::write(format!("{}\n", text(&read).trim_end()).as_bytes())
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

fn verdict(told: &Tested) -> String {
    let mut text = match told.verdict {
        Verdict::Allow if told.statement.tables_hidden.is_empty() => "-- allowed\n".to_owned(),
        Verdict::Allow => format!("-- no rows for you of {}\n", told.statement.tables_hidden.join(", ")),
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

    #[test]
    fn what_is_told_reads_as_sql_with_comments() {
        let told = Transpiled {
            original: "select nvl(a, 1) from t".to_owned(),
            rewritten: Some("SELECT coalesce(a, 1) FROM t".to_owned()),
            governed: Some("SELECT coalesce(a, 1) FROM (SELECT a FROM t WHERE r = $1)".to_owned()),
            parameters: vec![Some("EU".to_owned()), None],
            tables: vec!["main.t".to_owned()],
            tables_hidden: Vec::new(),
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
}
