//! `enforce_abac_policy`: what the policies decide, without running anything.
//!
//! It decides for the caller, as of now, where the context says nothing else. To ask for another role
//! is an administrator's right: then the one imagined has no user, no attributes and no address.

use std::collections::BTreeMap;
use std::time::Instant;

use chrono::Weekday;
use contract::policy::abac::{self, Context, Operation, Origin, When, hour_and_minute};
use contract::policy::{TableRef, filters_on, masks_on};
use contract::{Access, Code, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Telling};
use crate::Error;
use crate::limits::invalid;
use crate::pipeline::{Deed, Standing};
use crate::trail::millis;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Who asks, from where and when; what is left out is you, here and now.
    #[serde(default)]
    context: Given,
    /// A statement; its tables and what it does to them are judged. It is not run.
    query: Option<String>,
    /// A table, `table` or `schema.table`, as if it were read.
    table: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Given {
    /// Another role than yours: for owners and admins.
    user_role: Option<String>,
    /// `rest`, `arrow`, `pgwire`, `flight`, `mcp`, `dashboard` or `shadow`.
    query_origin: Option<String>,
    agent_framework: Option<String>,
    /// `HH:MM`.
    time_of_day: Option<String>,
    /// `monday` to `sunday`.
    day_of_week: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Judgement {
    /// `allow`, `deny` or `read_only`.
    decision: String,
    reason: String,
    matching_policies: Vec<Matching>,
    /// Policies that hide rows of these tables.
    row_filters: Vec<Filter>,
    /// `schema.table.column`, as you would see them masked.
    masked_columns: Vec<String>,
    evaluation_time_ms: f64,
}

impl Telling for Judgement {}

#[derive(Debug, Serialize, JsonSchema)]
struct Matching {
    policy_id: String,
    name: String,
    action: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Filter {
    table: String,
    policy_id: String,
    name: String,
}

pub async fn enforce(call: Call, question: Question) -> Result<Judgement, Error> {
    let ask = call.ask("CALL enforce_abac_policy", None)?;
    let (origin, peer, clock) = (ask.origin, ask.peer, call.pipeline.clock.clone());
    let deed = Deed { ask, tables: Vec::new(), operation: Operation::Select };
    let judged = |standing: Standing| async move {
        let matter = Matter::of(&question)?;
        Ok((judge(&question.context, &matter, &standing, (origin, peer), clock.now())?, 1))
    };
    call.pipeline.act(deed, judged).await
}

/// What is judged.
struct Matter {
    /// Schema and name.
    tables: Vec<(String, String)>,
    operations: Vec<Operation>,
    writes: bool,
}

impl Matter {
    fn of(question: &Question) -> Result<Self, Error> {
        let main = |schema: Option<&str>| schema.unwrap_or("main").to_owned();
        let mut matter = Self { tables: Vec::new(), operations: Vec::new(), writes: false };
        if let Some(query) = &question.query {
            let statement = sql::parse(query)?;
            let named = statement.tables().iter().map(|table| (main(table.schema.as_deref()), table.name.clone()));
            matter.tables.extend(named);
            let operation = |found: &sql::Operation| found.as_str().parse::<Operation>().ok();
            matter.operations = statement.operations().iter().filter_map(operation).collect();
            matter.writes = statement.is_write();
        }
        if let Some(table) = &question.table {
            let (schema, name) = table.rsplit_once('.').map_or((None, table.as_str()), |(s, n)| (Some(s), n));
            matter.tables.push((main(schema), name.to_owned()));
        }
        if matter.operations.is_empty() {
            matter.operations.push(Operation::Select);
        }
        Ok(matter)
    }

    fn tables(&self) -> Vec<TableRef<'_>> {
        self.tables.iter().map(|(schema, name)| TableRef { schema, name }).collect()
    }
}

fn judge(
    given: &Given,
    matter: &Matter,
    standing: &Standing,
    (origin, peer): (Origin, Option<std::net::IpAddr>),
    now: contract::Timestamp,
) -> Result<Judgement, Error> {
    let Standing { caller, agent, rules, .. } = standing;
    let role = read("user_role", given.user_role.as_deref(), |text| text.parse::<Role>().ok())?;
    if role.is_some_and(|role| role != caller.role) && !Access::Admin.admits(caller.role) {
        return Err(Error::Caller(Code::Forbidden));
    }
    let another = role.filter(|role| *role != caller.role);
    let nothing = BTreeMap::new();
    let own = another.is_none();
    let context = Context {
        role: another.unwrap_or(caller.role),
        user_id: caller.user_id.as_ref().filter(|_| own).map(contract::UserId::as_str),
        attributes: if own { &caller.attributes } else { &nothing },
        agent_id: agent.id.as_deref().filter(|_| own),
        agent_framework: given.agent_framework.as_deref().or(agent.framework.as_deref().filter(|_| own)),
        origin: read("query_origin", given.query_origin.as_deref(), |text| text.parse::<Origin>().ok())?
            .unwrap_or(origin),
        source_ip: peer.filter(|_| own),
        tables: matter.tables(),
        operations: matter.operations.clone(),
        when: When {
            now,
            time_of_day: read("time_of_day", given.time_of_day.as_deref(), hour_and_minute)?,
            day_of_week: read("day_of_week", given.day_of_week.as_deref(), |text| text.parse::<Weekday>().ok())?,
        },
    };
    let began = Instant::now();
    let found = abac::evaluate(&rules.abac_policies, &context);
    let evaluation_time_ms = millis(began.elapsed());
    let (decision, otherwise) = found.in_words(matter.writes);
    let matching = found.matched.into_iter().map(|(policy_id, name, action)| Matching {
        policy_id: policy_id.into(),
        name,
        action: action.as_str().to_owned(),
    });
    // how a table is governed is told to whoever may read it
    let tables = if decision == "deny" { Vec::new() } else { matter.tables() };
    Ok(Judgement {
        decision: decision.to_owned(),
        reason: found.message.unwrap_or_else(|| otherwise.to_owned()),
        matching_policies: matching.collect(),
        row_filters: filters(rules, &tables, context.role),
        masked_columns: masked(rules, &tables, context.role),
        evaluation_time_ms,
    })
}

fn filters(rules: &contract::Governance, tables: &[TableRef<'_>], role: Role) -> Vec<Filter> {
    let on = |table: TableRef<'_>| {
        let path = format!("{}.{}", table.schema, table.name);
        filters_on(&rules.policies, table, role).into_iter().map(move |filter| Filter {
            table: path.clone(),
            policy_id: filter.policy_id.into(),
            name: filter.policy_name,
        })
    };
    tables.iter().copied().flat_map(on).collect()
}

fn masked(rules: &contract::Governance, tables: &[TableRef<'_>], role: Role) -> Vec<String> {
    let on = |table: TableRef<'_>| {
        let path = format!("{}.{}", table.schema, table.name);
        masks_on(&rules.policies, table, role).into_keys().map(move |column| format!("{path}.{column}"))
    };
    tables.iter().copied().flat_map(on).collect()
}

fn read<T>(name: &str, given: Option<&str>, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Error> {
    let field = format!("context.{name}");
    let wrong = || invalid(&field, format!("{field} is not understood"));
    given.map(|text| parse(text).ok_or_else(wrong)).transpose()
}
