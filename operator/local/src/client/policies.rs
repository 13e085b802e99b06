//! `sluice policies`: the row filters and column masks of an environment.
//!
//! `apply` makes an environment hold what a file says, all of it or nothing; policies are found again by their names.
//! What the file does not name stays. The file is YAML or JSON: a policy as the API takes it, or a list of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::explain_sql::{self, Asked};
use super::output::Columns;
use super::waiting::waited;
use super::{Api, Failure, Group, ShownAnswer};

pub type Args = Group<Wanted>;

#[derive(Debug, Subcommand)]
pub enum Wanted {
    /// List them.
    List,
    /// Show one, by its id or name.
    Show { policy: String },
    /// Create what a file names and is not there, change what differs.
    Apply(Apply),
    /// Tell what the policies do to a statement, for whoever is imagined to ask; nothing runs.
    Test(Box<Asked>),
}

#[derive(Debug, clap::Args)]
pub struct Apply {
    /// YAML or JSON: a policy, or a list of them.
    #[arg(long, short)]
    file: PathBuf,
    /// Only tell what would change.
    #[arg(long)]
    dry_run: bool,
    /// Keep rules that name a table or column that is not there: they rule nothing until it is.
    #[arg(long)]
    accept_missing: bool,
}

const LISTED: Columns = "policy_id, name, type, enabled, binding, updated_at";
const SHOWN: Columns = "policy_id, name, type, enabled, binding, unbound, rules, created_at, updated_at";
const APPLIED: Columns = "change, name, type, enabled, binding, policy_id, warnings";

/// A policy of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    name: String,
    r#type: String,
    #[serde(default = "yes")]
    enabled: bool,
    rules: Value,
    /// Keeps rules that name what is not there.
    #[serde(default)]
    accept_missing: bool,
}

const fn yes() -> bool {
    true
}

/// The policies of a file.
fn read(path: &Path) -> Result<Vec<Policy>, Failure> {
    let unusable = |why: String| Failure::Usage(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
    parsed(&text).map_err(unusable)
}

fn parsed(text: &str) -> Result<Vec<Policy>, String> {
    let value: serde_yaml_ng::Value = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
    // By way of JSON text: only there is a number of arbitrary precision a number.
    let json = serde_json::to_string(&value).map_err(|error| error.to_string())?;
    let written: Vec<Value> = match serde_json::from_str(&json).map_err(|error| error.to_string())? {
        Value::Array(policies) => policies,
        one => vec![one],
    };
    let mut names = BTreeSet::new();
    let mut policies = Vec::new();
    for (place, value) in written.into_iter().enumerate() {
        let policy: Policy = serde_json::from_value(value).map_err(|error| format!("policy {}: {error}", place + 1))?;
        if !names.insert(policy.name.clone()) {
            return Err(format!("policy {}: there is one named {:?} before it", place + 1, policy.name));
        }
        policies.push(policy);
    }
    if policies.is_empty() { Err("no policy is in it".to_owned()) } else { Ok(policies) }
}

impl Apply {
    /// All of the file or nothing: the platform finds out what is to be done, in one transaction.
    async fn run(&self, api: &Api) -> Result<ShownAnswer, Failure> {
        let mut policies = read(&self.file)?;
        for policy in &mut policies {
            policy.accept_missing |= self.accept_missing;
        }
        let path = format!("{}/policies/apply", api.environment().await?);
        let mut told = api.post(&path, &json!({"policies": policies, "dry_run": self.dry_run})).await?;
        match told.get_mut("policies").map(Value::take) {
            Some(Value::Array(applied)) => Ok(ShownAnswer::list(applied, APPLIED)),
            _ => Err(Failure::Broken("the answer has no policies".to_owned())),
        }
    }
}

async fn show(api: &Api, wanted: &str) -> Result<ShownAnswer, Failure> {
    let named = |policy: &Value| {
        ["policy_id", "name"].iter().any(|member| policy.get(member).is_some_and(|value| value == wanted))
    };
    let policies = api.list(&format!("{}/policies", api.environment().await?)).await?;
    let mut found: Vec<_> = policies.into_iter().filter(named).collect();
    match (found.pop(), found.is_empty()) {
        (Some(policy), true) => Ok(ShownAnswer::record(policy, SHOWN)),
        (Some(_), false) => Err(Failure::NotSo(format!("several policies are named {wanted:?}: name one by its id"))),
        (None, _) => Err(Failure::NotSo(format!("there is no policy {wanted:?}: sluice policies list shows all"))),
    }
}

pub async fn run(args: Args) -> Result<(), Failure> {
    let api = args.access.api()?;
    let told = match args.wanted {
        Wanted::List => {
            let listed = async { api.list(&format!("{}/policies", api.environment().await?)).await };
            ShownAnswer::list(waited("policies", listed).await?, LISTED)
        }
        Wanted::Show { policy } => waited("policies", show(&api, &policy)).await?,
        Wanted::Apply(apply) => waited("applying", apply.run(&api)).await?,
        Wanted::Test(asked) => return explain_sql::test(&api, *asked, args.output).await,
    };
    told.show(args.output)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
- name: phones
  type: column_masking
  rules:
    - {table: customer, column: c_phone, function: partial, visible_chars: 4}
- {name: region, type: row_level_security, enabled: false, rules: [{table: orders, filter: \"region = 'EU'\"}]}
";

    #[test]
    fn a_file_is_a_policy_or_several_in_yaml_or_json() {
        let policies = parsed(FILE).unwrap();
        assert_eq!(policies.iter().map(|policy| policy.name.as_str()).collect::<Vec<_>>(), ["phones", "region"]);
        assert_eq!((policies[0].enabled, policies[1].enabled), (true, false));
        assert_eq!(policies[0].rules[0]["visible_chars"], 4);
        let one = serde_json::to_string(&policies[1]).unwrap();
        assert_eq!(parsed(&one).unwrap(), [policies[1].clone()]);
    }

    #[test]
    fn a_file_that_is_not_understood_is_refused_by_its_place() {
        for (text, why) in [
            ("- name: [", "did not find"),
            ("[]", "no policy is in it"),
            ("- {name: a, type: t, rules: [], colour: red}", "policy 1: unknown field `colour`"),
            ("- {name: a, rules: []}", "policy 1: missing field `type`"),
            ("- {name: a, type: t, rules: []}\n- {name: a, type: t, rules: []}", "policy 2: there is one named \"a\""),
            ("", "policy 1: "),
        ] {
            let said = parsed(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
