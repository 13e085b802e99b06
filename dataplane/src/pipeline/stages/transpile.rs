//! Stage 8. "Transpilation: warehouse dialect to engine dialect."
//!
//! What the engine runs is generated here, from the governed tree; the caller's text is never passed
//! on. Values of policies and of the caller stay values: they are bound, not printed.

use std::time::{Duration, Instant};

use arrow::datatypes::{Schema, SchemaRef};
use tokio_util::sync::CancellationToken;

use super::embed::Embedded;
use super::quota::Reservation;
use super::row_filter::Filtered;
use super::tables::StatementInfo;
use super::{Gates, Mode, semaphore};
use crate::pipeline::authorization::capability::Confinement;
use crate::pipeline::runtime::{self, RowSelection};
use crate::pipeline::{Pipeline, Query, Result};
use crate::request::answer::Description;
use crate::{Column, Error};

/// SQL of the engine's own dialect, all rules in it. Nothing else is ever executed.
#[derive(Debug)]
pub(in crate::pipeline) struct Native {
    pub sql: sql::EngineSql,
    pub about: StatementInfo,
    pub(super) reservation: Reservation,
    pub care: sql::ExecutionMode,
    /// Whether its errors must not say by which expression it failed: rows are hidden, and chance decides it.
    pub fails_anyhow: bool,
    pub masked_columns: Vec<String>,
    /// Of who asks.
    pub role: contract::Role,
}

/// A statement that all gates have let through, with what is told of it where it is not run.
pub(in crate::pipeline) struct Passed {
    pub native: Native,
    /// The same without policies, as text: of a statement that is explained.
    pub plain: Option<String>,
    /// A policy changes the statement.
    pub changed: bool,
    /// That a value stands for those that a PIVOT reads when the statement runs.
    pub assumed: Option<String>,
    /// Set if the agent may do no more than it was granted.
    pub confinement: Option<Confinement>,
}

pub(super) fn to_engine(gates: &Gates<'_>, embedded: Embedded, mode: &Mode) -> Result<Passed> {
    let Embedded { filtered, assumed } = embedded;
    let Filtered { governed, ungoverned, about, reservation, role, confinement } = filtered;
    let care = governed.care();
    let fails_anyhow = care != sql::ExecutionMode::Direct && governed.fails_in_several_ways();
    let masked_columns = governed.masked_columns().to_vec();
    let changed = ungoverned.is_some();
    let sql = sql::transpile(governed)?;
    let plain = match mode {
        Mode::Run => {
            let plain = without_policies(&sql, ungoverned)?;
            let mut facts = gates.t.facts();
            facts.transpiled = Some(plain);
            facts.with_rls = Some(text(&sql));
            drop(facts);
            bound(&sql.binds, &gates.query.ask.params)?; // a missing value is told before anything is opened
            None
        }
        Mode::Explain(_) => Some(without_policies(&sql, ungoverned)?),
        Mode::Describe | Mode::Recheck => None,
    };
    let native = Native { sql, about, reservation, care, fails_anyhow, masked_columns, role };
    Ok(Passed { native, plain, changed, assumed, confinement })
}

/// What the engine would run if there were no policies, as text.
fn without_policies(sql: &sql::EngineSql, ungoverned: Option<sql::Resolved>) -> Result<String> {
    match ungoverned {
        Some(resolved) => Ok(text(&sql::transpile(sql::govern(resolved, &sql::Rules::default())?.embedded()?)?)),
        None => Ok(text(sql)),
    }
}

/// All that is run, step by step.
pub(in crate::pipeline) fn text(sql: &sql::EngineSql) -> String {
    let steps = sql.before.iter().map(|step| step.sql.as_str()).chain([sql.sql.as_str()]);
    steps.collect::<Vec<_>>().join(";\n")
}

/// Values that policies put into the last step; none where the caller's go.
pub(in crate::pipeline) fn own_values(sql: &sql::EngineSql) -> Vec<Option<String>> {
    let value = |bind: &sql::Bind| match bind {
        sql::Bind::Text(text) => Some(text.clone()),
        sql::Bind::Caller(_) => None,
    };
    sql.binds.iter().map(value).collect()
}

/// The values of the generated statement's parameters: the caller's, and those of policies.
pub(in crate::pipeline) fn bound(binds: &[sql::Bind], params: &[engine::Value]) -> Result<Vec<engine::Value>> {
    let value = |bind: &sql::Bind| match bind {
        sql::Bind::Text(text) => Ok(engine::Value::Text(text.clone())),
        sql::Bind::Caller(number) => {
            number.checked_sub(1).and_then(|at| params.get(at)).cloned().ok_or_else(|| Error::InvalidParams {
                field: "params",
                message: format!("the statement has a parameter ${number} that was given no value"),
            })
        }
    };
    binds.iter().map(value).collect()
}

/// What the engine says of the generated statement, without running it. The engine works for that: it has one of the
/// slots of stage 1 meanwhile, and ends by the query's deadline.
pub(in crate::pipeline) async fn describe(gates: &Gates<'_>, native: Native) -> Result<Description> {
    let Gates { pipeline, query, rules, .. } = *gates;
    let Native { sql, about, .. } = native;
    if sql.before.iter().any(|step| !step.checks) {
        // what it names is made by its own first steps; it answers with a count
        let parameters = parameters(&sql.binds, &[]);
        return Ok(Description { parameters, columns: Vec::new(), schema: Some(nothing()), command: about.command });
    }
    let _slot = semaphore::enter(pipeline, query).await?;
    let engine = pipeline.engine()?;
    let mut own = runtime::session(pipeline, query, rules, &sql.tables, RowSelection::None).await?;
    let mut transaction = query.transaction().await?;
    let of_client = transaction.as_mut().and_then(|transaction| transaction.own_view());
    let (deadline, cancel) = (query.deadline, &query.ask.cancel);
    let said = match own.as_mut().or(of_client) {
        Some(session) => match session.parameters(&sql.sql, deadline, cancel).await {
            Ok(types) => session.describe(&sql.sql, deadline, cancel).await.map(|described| (types, described)),
            Err(error) => Err(error),
        },
        None => match engine.parameters(&sql.sql, deadline, cancel).await {
            Ok(types) => engine.describe(&sql.sql, deadline, cancel).await.map(|described| (types, described)),
            Err(error) => Err(error),
        },
    };
    let (mut types, described) = said.map_err(|error| query.fault(error))?;
    lists(&engine, query, &sql.sql, &mut types).await;
    let column = |(place, column): (usize, engine::Column)| {
        let masked = sql.masked_outputs.contains(&place);
        let type_name = if masked { "VARCHAR".to_owned() } else { column.type_name };
        Column { name: column.name, type_name, masked }
    };
    let parameters = parameters(&sql.binds, &types);
    let engine::Described { columns: described, schema } = described;
    let answers = !about.writes || returns(&described, &sql.sql);
    let schema = if answers { schema } else { Some(nothing()) };
    let columns = described.into_iter().enumerate().filter(|_| answers).map(column).collect();
    Ok(Description { parameters, columns, schema, command: about.command })
}

/// The columns of an answer that has none.
fn nothing() -> SchemaRef {
    SchemaRef::new(Schema::empty())
}

/// Nothing in it is a caller's.
const TAKEN: Duration = Duration::from_secs(30);

/// The parameters of a statement, in Arrow.
pub(in crate::pipeline) async fn taken(pipeline: &Pipeline, description: &Description) -> Result<SchemaRef> {
    if description.parameters.is_empty() {
        return Ok(nothing());
    }
    // The engine's own names of types. A plain cast of NULL would be folded, and its type forgotten.
    let typed = |(place, kind): (usize, &String)| format!("(select cast(null as {kind})) as \"${}\"", place + 1);
    let typed: Vec<_> = description.parameters.iter().enumerate().map(typed).collect();
    let sql = format!("select {}", typed.join(", "));
    let described = pipeline.engine()?.describe(&sql, Instant::now() + TAKEN, &CancellationToken::new()).await?;
    described.schema.ok_or_else(|| Error::Unverified { why: "a parameter has no type of Arrow's".to_owned() })
}

/// The engine leaves the list of `x = ANY($1)` open; of `x = ($1)` it tells the item.
async fn lists(engine: &engine::Engine, query: &Query, sql: &str, types: &mut [Option<String>]) {
    let is_list = |place: usize| {
        let number = place + 1;
        sql.contains(&format!("ANY(${number})")) || sql.contains(&format!("ALL(${number})"))
    };
    let open: Vec<_> = types.iter().enumerate().filter(|(place, kind)| kind.is_none() && is_list(*place)).collect();
    let open: Vec<usize> = open.into_iter().map(|(place, _)| place).collect();
    if open.is_empty() {
        return;
    }
    let mut items = sql.to_owned();
    for number in open.iter().map(|place| place + 1) {
        for word in ["ANY", "ALL"] {
            items = items.replace(&format!("{word}(${number})"), &format!("(${number})"));
        }
    }
    // It only asks for types: where the engine cannot tell, the parameter is text as before.
    let Ok(told) = engine.parameters(&items, query.deadline, &query.ask.cancel).await else { return };
    for place in open {
        if let (Some(kind), Some(Some(item))) = (types.get_mut(place), told.get(place)) {
            *kind = Some(format!("{item}[]"));
        }
    }
}

/// Does a write answer with rows? One without RETURNING is described by the count it would give, or by its success.
fn returns(described: &[engine::Column], sql: &str) -> bool {
    match described {
        [one] => !matches!(one.name.as_str(), "Count" | "Success") || sql.contains(" RETURNING "),
        columns => !columns.is_empty(),
    }
}

/// The type of each of the caller's parameters; text where the engine cannot tell, as PostgreSQL says.
fn parameters(binds: &[sql::Bind], types: &[Option<String>]) -> Vec<String> {
    let mut parameters = Vec::new();
    for (place, bind) in binds.iter().enumerate() {
        let sql::Bind::Caller(number) = bind else { continue };
        let Some(at) = number.checked_sub(1) else { continue };
        if parameters.len() <= at {
            parameters.resize(at + 1, None);
        }
        if let Some(slot @ None) = parameters.get_mut(at) {
            *slot = types.get(place).cloned().flatten();
        }
    }
    parameters.into_iter().map(|found| found.unwrap_or_else(|| "VARCHAR".to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Value;

    #[test]
    fn values_go_where_the_generated_statement_wants_them() {
        let binds = [sql::Bind::Caller(2), sql::Bind::Text("EU".to_owned()), sql::Bind::Caller(1)];
        let params = [Value::BigInt(1), Value::BigInt(2)];
        let expected = vec![Value::BigInt(2), Value::Text("EU".to_owned()), Value::BigInt(1)];
        assert_eq!(bound(&binds, &params).unwrap(), expected);
        assert_eq!(bound(&binds, &[]).unwrap_err().code(), contract::Code::InvalidParams);
    }

    #[test]
    fn a_parameter_has_the_type_of_its_first_known_place_or_is_text() {
        let binds = [sql::Bind::Caller(2), sql::Bind::Text("x".to_owned()), sql::Bind::Caller(1), sql::Bind::Caller(2)];
        let types = [None, Some("VARCHAR".to_owned()), Some("BIGINT".to_owned()), Some("DATE".to_owned())];
        assert_eq!(parameters(&binds, &types), ["BIGINT", "DATE"]);
        assert_eq!(parameters(&binds, &[]), ["VARCHAR", "VARCHAR"]);
    }
}
