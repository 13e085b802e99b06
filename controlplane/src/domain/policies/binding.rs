//! Names in the rules of a policy, compared with the tables and columns of the environment's data plane.
//!
//! A rule that names a table or a column that is not there is refused, unless its writer accepts that it rules nothing
//! yet. Tables of the runtime and of agents, and what `TableIs` and `StageIs` name, are only marked. While the data plane
//! cannot be asked the rule is kept as not yet bound, and `checking` asks again.

pub mod store;

use std::time::Duration;

use contract::binding::{BYTES_MAX, BindBody, Binding, Bound, Missing, Named, RULES_MAX};
use contract::policy::abac::{AbacRule, Condition, stage_as_table};
use contract::policy::{MaskingRule, RowFilterRule, Rules};
use contract::{EnvId, own_tables, runtime_tables};
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::query;

/// All questions about one change; a data plane that is slower is one that cannot be asked.
const PATIENCE: Duration = Duration::from_secs(5);

/// A rule that rules nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UnboundRule")]
pub struct Unbound {
    /// Its place in `rules`, from 0.
    pub rule: usize,
    /// The member that names what is not there.
    pub field: String,
    pub message: String,
    /// Whether a rule like it is taken.
    #[serde(skip)]
    weight: UnboundKind,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum UnboundKind {
    /// By whoever accepts that it rules nothing yet.
    Missing,
    /// By nobody.
    Fails,
    #[default]
    Marked,
}

/// Whether the rules of a policy rule something. `bound`: what they name is there. `rules_nothing`: `unbound` says what
/// is not. `not_yet_bound`: the data plane could not be asked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyBinding {
    Bound,
    RulesNothing,
    NotYetBound,
}

/// The same as it is answered; none is what could not be asked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownBinding {
    binding: PolicyBinding,
    unbound: Vec<Unbound>,
}

impl From<Option<Vec<Unbound>>> for ShownBinding {
    fn from(unbound: Option<Vec<Unbound>>) -> Self {
        let binding = match unbound.as_deref() {
            None => PolicyBinding::NotYetBound,
            Some([]) => PolicyBinding::Bound,
            Some(_) => PolicyBinding::RulesNothing,
        };
        Self { binding, unbound: unbound.unwrap_or_default() }
    }
}

/// Something that a rule names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleReference {
    rule: usize,
    /// The rule, or the one of its values.
    at: String,
    pub named: Named,
}

/// What the rules name.
pub fn places(rules: &Rules) -> Vec<RuleReference> {
    let named: Vec<Named> = match rules {
        Rules::ColumnMasking(rules) => {
            let named = |MaskingRule { table, column, .. }: &MaskingRule| Named::Mask {
                table: table.clone(),
                column: column.clone(),
            };
            rules.iter().map(named).collect()
        }
        Rules::RowLevelSecurity(rules) => {
            let named = |RowFilterRule { table, filter, .. }: &RowFilterRule| Named::Filter {
                table: table.clone(),
                filter: filter.clone(),
            };
            rules.iter().map(named).collect()
        }
    };
    let place = |(rule, named)| RuleReference { rule, at: format!("rules[{rule}]"), named };
    named.into_iter().enumerate().map(place).collect()
}

/// What the rules of an attribute policy name: the tables of `TableIs`, the stages of `StageIs`.
pub fn places_by_attribute(rules: &[AbacRule]) -> Vec<RuleReference> {
    let named = |rule: &AbacRule| -> Vec<String> {
        match rule.condition {
            Condition::TableIs => rule.values.clone(),
            Condition::StageIs => rule.values.iter().map(|value| stage_as_table(value)).collect(),
            _ => Vec::new(),
        }
    };
    let patterns = rules.iter().map(named).enumerate();
    let values = patterns.flat_map(|(rule, named)| named.into_iter().enumerate().map(move |value| (rule, value)));
    let place = |(rule, (value, pattern)): (usize, (usize, String))| RuleReference {
        rule,
        at: format!("rules[{rule}].values[{value}]"),
        named: Named::Pattern { pattern },
    };
    values.map(place).collect()
}

/// The places whose rules rule nothing; none where that is not known of each.
pub async fn of(app: &App, env_id: &EnvId, places: &[RuleReference]) -> Option<Vec<Unbound>> {
    if places.is_empty() {
        return Some(Vec::new());
    }
    let named: Vec<Named> = places.iter().map(|place| place.named.clone()).collect();
    unbound(places, &ask(app, env_id, &named).await?)
}

/// Asks the data plane of the environment; none where it cannot be asked.
pub async fn ask(app: &App, env_id: &EnvId, named: &[Named]) -> Option<Vec<Binding>> {
    let asking = async {
        let mut told = Vec::with_capacity(named.len());
        for rules in questions(named) {
            let bound: Bound =
                query::told_to_us(app, env_id, "policies/bind", &BindBody { rules: rules.to_vec() }).await?;
            if bound.rules.len() != rules.len() {
                return Err(Error::Unavailable("the data plane answered of other rules"));
            }
            told.extend(bound.rules);
        }
        Ok(told)
    };
    match tokio::time::timeout(PATIENCE, asking).await {
        Ok(Ok(told)) => Some(told),
        Ok(Err(error)) => {
            tracing::debug!(env.id = %env_id, error = %error, "whether rules are bound could not be asked");
            None
        }
        Err(_) => None,
    }
}

/// The rules in pieces that a data plane takes.
fn questions(named: &[Named]) -> Vec<&[Named]> {
    let (mut all, mut rest) = (Vec::new(), named);
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |rule: &&Named| {
            bytes += rule.bytes();
            bytes <= BYTES_MAX
        };
        // one is always shorter than a question may be
        let many = rest.iter().take(RULES_MAX).take_while(fits).count().max(1);
        let (question, others) = rest.split_at(many);
        all.push(question);
        rest = others;
    }
    all
}

/// The same, of what was told.
pub fn unbound(places: &[RuleReference], told: &[Binding]) -> Option<Vec<Unbound>> {
    let mut unbound = Vec::new();
    for (place, binding) in places.iter().zip(told) {
        if let Some(mark) = place.of_agents() {
            unbound.push(mark);
            continue;
        }
        let (field, message, weight) = match binding {
            Binding::Bound => continue,
            Binding::Unknown => return None,
            Binding::Missing { what, name, there } => {
                (place.field(*what, name), missing(*what, name, there), weight(&place.named))
            }
            Binding::Fails { message } => {
                let message = format!("the filter does not evaluate on an empty table: {message}");
                (format!("{}.filter", place.at), message, UnboundKind::Fails)
            }
        };
        unbound.push(Unbound { rule: place.rule, field, message, weight });
    }
    (told.len() == places.len()).then_some(unbound)
}

impl RuleReference {
    /// No statement reads what agents leave: whatever a data plane tells, a mask or a filter rules nothing there.
    fn of_agents(&self) -> Option<Unbound> {
        let (Named::Mask { table, .. } | Named::Filter { table, .. }) = &self.named else {
            return None;
        };
        let own = own_tables::named_by(table)?;
        let message = format!(
            "no statement reads `{own}`, so no mask and no row filter holds there: an attribute policy by `TableIs` does"
        );
        Some(Unbound { rule: self.rule, field: format!("{}.table", self.at), message, weight: UnboundKind::Marked })
    }

    /// The member that names what is missing.
    fn field(&self, what: Missing, name: &str) -> String {
        let at = &self.at;
        match &self.named {
            Named::Mask { .. } if what == Missing::Column => format!("{at}.column"),
            Named::Filter { table, .. } if what == Missing::Column || !path(table).eq_ignore_ascii_case(name) => {
                format!("{at}.filter")
            }
            Named::Mask { .. } | Named::Filter { .. } => format!("{at}.table"),
            Named::Pattern { .. } => at.clone(),
        }
    }
}

fn path(table: &str) -> String {
    if table.contains('.') { table.to_owned() } else { format!("main.{table}") }
}

/// Tables of the runtime come and go with it, and a pattern may be for tables to come.
fn weight(named: &Named) -> UnboundKind {
    let is_the_runtimes = |table: &str| {
        table.split_once('.').is_some_and(|(schema, _)| schema.eq_ignore_ascii_case(runtime_tables::SCHEMA))
    };
    match named {
        Named::Pattern { .. } => UnboundKind::Marked,
        Named::Mask { table, .. } | Named::Filter { table, .. } if is_the_runtimes(table) => UnboundKind::Marked,
        Named::Mask { .. } | Named::Filter { .. } => UnboundKind::Missing,
    }
}

fn missing(what: Missing, name: &str, there: &[String]) -> String {
    let kind = what.as_str();
    match there {
        [] => format!("{kind} `{name}` does not exist, and there is no other"),
        there => format!("{kind} `{name}` does not exist; there is {}", there.join(", ")),
    }
}

/// Refuses what rules nothing, unless its writer accepts that; a filter that does not evaluate in any case.
pub fn admit(unbound: &[Unbound], accept_missing: bool) -> Result<()> {
    let refused = |one: &&Unbound| match one.weight {
        UnboundKind::Fails => true,
        UnboundKind::Missing => !accept_missing,
        UnboundKind::Marked => false,
    };
    let Some(Unbound { field, message, weight, .. }) = unbound.iter().find(refused) else {
        return Ok(());
    };
    let message = match weight {
        UnboundKind::Missing => {
            format!("{message}. With `accept_missing: true` the rule is kept, and rules nothing yet")
        }
        UnboundKind::Fails | UnboundKind::Marked => message.clone(),
    };
    Err(Error::InvalidRule { field: field.clone(), message })
}

#[cfg(test)]
mod tests;
