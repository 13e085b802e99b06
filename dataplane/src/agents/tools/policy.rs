//! `enforce_abac_policy`: what the policies decide, without running anything, and all else that stands between the
//! caller and a statement: scopes, the grants of their agent, where the rows of a table are from.
//!
//! It decides for the caller, as of now, where the context says nothing else. To ask for another role
//! is an administrator's right: then the one imagined has no user, no attributes and no address.

use chrono::Weekday;
use contract::policy::abac::{Action, Operation, Origin, hour_and_minute};
use contract::policy::{TableRef, filters_on, masks_on};
use contract::{Access, MissingPermission, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Telling, ToolCall};
use crate::limits::invalid;
use crate::pipeline::{AssumedRequest, CallerContext, PolicyDryRun, ToolAction};
use crate::{Ask, Error};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyQuestion {
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
    /// The code that it would be refused with; null where it would run.
    code: Option<String>,
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

pub async fn enforce(call: ToolCall, question: PolicyQuestion) -> Result<Judgement, Error> {
    let ask = call.ask("CALL enforce_abac_policy", None)?;
    let asked = statements(&question).iter().map(|sql| call.ask(sql.as_str(), None)).collect::<Result<Vec<_>, _>>()?;
    let tool_action = ToolAction { ask, tables: Vec::new(), operation: Operation::Select, reads: Vec::new() };
    let pipeline = call.pipeline.clone();
    let judged =
        |standing: CallerContext| async move { Ok((judge(&pipeline, &standing, &question.context, asked).await?, 1)) };
    call.pipeline.act(tool_action, judged).await
}

/// What is judged: the statement, and one that reads of the table no column.
fn statements(question: &PolicyQuestion) -> Vec<String> {
    let table = question.table.as_ref().map(|table| {
        let (schema, name) = table.rsplit_once('.').unwrap_or(("main", table));
        format!("select 1 as one from {}.{}", sql::ast::quote::name(schema), sql::ast::quote::name(name))
    });
    let named: Vec<_> = question.query.iter().cloned().chain(table).collect();
    if named.is_empty() { vec!["select 1 as one".to_owned()] } else { named }
}

async fn judge(
    pipeline: &crate::Pipeline,
    standing: &CallerContext,
    given: &Given,
    asked: Vec<Ask>,
) -> Result<Judgement, Error> {
    let supposed = supposed(given, standing)?;
    let role = supposed.role.unwrap_or(standing.caller.role);
    let (matched, tables, lacks) = (Vec::new(), Vec::new(), Vec::new());
    let mut all = PolicyDryRun { denied: None, matched, tables, lacks, evaluation_time_ms: 0.0 };
    for ask in asked {
        let one = pipeline.verdict(standing, ask, &supposed).await?;
        all.denied = all.denied.or(one.denied);
        all.matched
            .extend(one.matched.into_iter().filter(|verdict| !all.matched.contains(verdict)).collect::<Vec<_>>());
        all.tables.extend(one.tables.into_iter().filter(|table| !all.tables.contains(table)).collect::<Vec<_>>());
        all.lacks.extend(one.lacks.into_iter().filter(|lack| !all.lacks.contains(lack)).collect::<Vec<_>>());
        all.evaluation_time_ms += one.evaluation_time_ms;
    }
    let (decision, reason) = in_words(&all);
    // how a table is governed is told to whoever may read it
    let tables: Vec<_> =
        if all.denied.is_some() { Vec::new() } else { all.tables.iter().map(|path| at(path)).collect() };
    let code = all.denied.as_ref().map(|error| error.code().stable().to_owned());
    let matching = all.matched.into_iter().map(|verdict| Matching {
        policy_id: verdict.policy_id.into(),
        name: verdict.policy_name,
        action: verdict.action,
    });
    Ok(Judgement {
        decision: decision.to_owned(),
        reason,
        code,
        matching_policies: matching.collect(),
        row_filters: filters(&standing.rules, &tables, role),
        masked_columns: masked(&standing.rules, &tables, role),
        evaluation_time_ms: all.evaluation_time_ms,
    })
}

fn in_words(judged: &PolicyDryRun) -> (&'static str, String) {
    let only_reads = judged.matched.iter().any(|verdict| verdict.action == Action::ReadOnly.as_str());
    match &judged.denied {
        Some(error) => ("deny", error.to_string()),
        None if !judged.lacks.is_empty() => (if only_reads { "read_only" } else { "allow" }, judged.lacks.join("; ")),
        None if only_reads => ("read_only", "policy lets you only read here".to_owned()),
        None if judged.matched.is_empty() => ("allow", "no policy matches".to_owned()),
        None => ("allow", "allowed by policy".to_owned()),
    }
}

fn supposed(given: &Given, standing: &CallerContext) -> Result<AssumedRequest, Error> {
    let role = read("user_role", given.user_role.as_deref(), |text| text.parse::<Role>().ok())?;
    let own = standing.caller.role;
    if role.is_some_and(|role| role != own) && !Access::Admin.admits(own) {
        return Err(Error::Lacks(MissingPermission::Role { own, access: Access::Admin }));
    }
    Ok(AssumedRequest {
        role,
        framework: given.agent_framework.clone(),
        origin: read("query_origin", given.query_origin.as_deref(), |text| text.parse::<Origin>().ok())?,
        time_of_day: read("time_of_day", given.time_of_day.as_deref(), hour_and_minute)?,
        day_of_week: read("day_of_week", given.day_of_week.as_deref(), |text| text.parse::<Weekday>().ok())?,
    })
}

fn at(path: &str) -> TableRef<'_> {
    let (schema, name) = path.split_once('.').unwrap_or(("main", path));
    TableRef { schema, name }
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
