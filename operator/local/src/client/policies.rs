//! `sluice policies`: the row filters and column masks of an environment.
//!
//! `apply` makes an environment hold what a file says, policy by policy, found again by their names. What the
//! file does not name stays. The file is YAML or JSON: a policy as the API takes it, or a list of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::api::segment;
use super::explain_sql::{self, Asked};
use super::output::Columns;
use super::waiting::waited;
use super::{Api, Failure, Group, Told};

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
}

const LISTED: Columns = &["policy_id", "name", "type", "enabled", "updated_at"];
const SHOWN: Columns = &["policy_id", "name", "type", "enabled", "rules", "created_at", "updated_at"];
const APPLIED: Columns = &["change", "name", "type", "enabled", "policy_id"];

/// A policy of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    name: String,
    r#type: String,
    #[serde(default = "yes")]
    enabled: bool,
    rules: Value,
}

const fn yes() -> bool {
    true
}

/// What it takes to make a policy of the file hold.
#[derive(Debug, PartialEq)]
enum Step {
    Create,
    Change { policy_id: String },
    Nothing { policy_id: String },
}

impl Step {
    const fn name(&self) -> &'static str {
        match self {
            Self::Create => "created",
            Self::Change { .. } => "changed",
            Self::Nothing { .. } => "unchanged",
        }
    }

    /// Two of one name: which is meant, nobody can tell.
    fn of(policy: &Policy, present: &[Value]) -> Result<Self, Failure> {
        let same_name = |other: &&Value| other.get("name").is_some_and(|name| *name == policy.name);
        let found: Vec<_> = present.iter().filter(same_name).collect();
        let found = match found.as_slice() {
            [] => return Ok(Self::Create),
            [one] => *one,
            several => {
                let many = several.len();
                return Err(Failure::NotSo(format!("{many} policies are named {:?}: nothing is applied", policy.name)));
            }
        };
        let id = found.get("policy_id").and_then(Value::as_str);
        let policy_id = id.ok_or_else(|| Failure::Broken("the answer has a policy without id".to_owned()))?.to_owned();
        let holds = [("enabled", &json!(policy.enabled)), ("type", &json!(policy.r#type)), ("rules", &policy.rules)];
        let is_held = holds.iter().all(|(name, wanted)| found.get(name).is_some_and(|held| says(held, wanted)));
        Ok(if is_held { Self::Nothing { policy_id } } else { Self::Change { policy_id } })
    }
}

/// Does what is held say all that is wanted? The platform adds the members that it has defaults for.
fn says(held: &Value, wanted: &Value) -> bool {
    match (held, wanted) {
        (Value::Object(held), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| held.get(name).is_some_and(|held| says(held, wanted)))
        }
        (Value::Array(held), Value::Array(wanted)) => {
            held.len() == wanted.len() && held.iter().zip(wanted).all(|(held, wanted)| says(held, wanted))
        }
        (held, wanted) => held == wanted,
    }
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
    /// Everything is looked at before anything is changed.
    async fn run(&self, api: &Api) -> Result<Told, Failure> {
        let wanted = read(&self.file)?;
        let path = format!("{}/policies", api.environment().await?);
        let present = api.list(&path).await?;
        let steps = wanted.iter().map(|policy| Ok((policy, Step::of(policy, &present)?)));
        let mut told = Vec::new();
        for (policy, step) in steps.collect::<Result<Vec<_>, Failure>>()? {
            let mut held = match &step {
                Step::Nothing { policy_id } => json!({"policy_id": policy_id}),
                Step::Change { policy_id } if self.dry_run => json!({"policy_id": policy_id}),
                Step::Create if self.dry_run => json!({}),
                Step::Create => api.post(&path, policy).await?,
                Step::Change { policy_id } => api.put(&format!("{path}/{}", segment(policy_id)?), policy).await?,
            };
            if let Some(members) = held.as_object_mut() {
                members.insert("change".to_owned(), step.name().into());
                members.insert("name".to_owned(), policy.name.as_str().into());
                members.insert("type".to_owned(), policy.r#type.as_str().into());
                members.insert("enabled".to_owned(), policy.enabled.into());
            }
            told.push(held);
        }
        Ok(Told::list(told, APPLIED))
    }
}

async fn show(api: &Api, wanted: &str) -> Result<Told, Failure> {
    let named = |policy: &Value| {
        ["policy_id", "name"].iter().any(|member| policy.get(member).is_some_and(|value| value == wanted))
    };
    let policies = api.list(&format!("{}/policies", api.environment().await?)).await?;
    let mut found: Vec<_> = policies.into_iter().filter(named).collect();
    match (found.pop(), found.is_empty()) {
        (Some(policy), true) => Ok(Told::record(policy, SHOWN)),
        (Some(_), false) => Err(Failure::NotSo(format!("several policies are named {wanted:?}: name one by its id"))),
        (None, _) => Err(Failure::NotSo(format!("there is no policy {wanted:?}: sluice policies list shows all"))),
    }
}

pub async fn run(args: Args) -> Result<(), Failure> {
    let api = args.access.api()?;
    let told = match args.wanted {
        Wanted::List => {
            let listed = async { api.list(&format!("{}/policies", api.environment().await?)).await };
            Told::list(waited("policies", listed).await?, LISTED)
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

    #[test]
    fn only_what_differs_is_changed() {
        let policies = parsed(FILE).unwrap();
        let mut held = json!({"policy_id": "p1", "name": "phones", "type": "column_masking", "enabled": true,
            "rules": [{"table": "customer", "column": "c_phone", "function": "partial", "visible_chars": 4, "exempt_roles": []}]});
        let step = |held: &Value, policy: usize| Step::of(&policies[policy], std::slice::from_ref(held)).unwrap();
        assert_eq!(step(&held, 0), Step::Nothing { policy_id: "p1".to_owned() });
        assert_eq!(step(&held, 1), Step::Create);
        held["enabled"] = false.into();
        assert_eq!(step(&held, 0), Step::Change { policy_id: "p1".to_owned() });
        let twice = [held.clone(), held];
        assert!(matches!(Step::of(&policies[0], &twice), Err(Failure::NotSo(_))));
    }
}
