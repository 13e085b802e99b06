//! The values of `PIVOT (… IN (ANY))`, read by a governed query of their own before the statement is transpiled.
//!
//! It sees what the caller may see and nothing else, inside the caller's transaction if there is one; else just
//! before the statement's own snapshot.

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use engine::Outcome;

use super::super::Gates;
use super::super::execute::keep;
use super::super::row_filter::Filtered;
use super::super::snapshot::step_agrees;
use super::super::transpile::bound;
use super::Embedded;
use crate::Error;
use crate::pipeline::catalog_snapshot::paths;
use crate::pipeline::runtime::{self, RowSelection};
use crate::pipeline::{Query, Result};

pub(super) async fn values(gates: &Gates<'_>, filtered: Filtered) -> Result<Filtered> {
    let Gates { pipeline, query, rules, .. } = *gates;
    let about = &filtered.about;
    let Some(asked) = filtered.governed.pivot()? else {
        return Ok(filtered);
    };
    if !about.staged.is_empty() {
        // their rows are not there before the statement runs
        return Err(Error::Unsupported { what: "PIVOT … IN (ANY) over a stage or an external table".to_owned() });
    }
    let has_hidden = !matches!(asked.care(), sql::ExecutionMode::Direct | sql::ExecutionMode::Leakproof);
    let sql = sql::transpile(asked)?;
    if !sql.attached().is_empty() {
        return Err(Error::Unsupported { what: "PIVOT … IN (ANY) over a table of an attached database".to_owned() });
    }
    let own = runtime::session(pipeline, query, rules, &sql.tables, RowSelection::All).await?;
    let sql = if has_hidden { sql.over_visible()? } else { sql };
    let values = match (own, query.transaction().await?) {
        (Some(mut session), _) => read(query, &mut session, &sql).await?,
        (None, Some(mut transaction)) => {
            let (session, _) = transaction.open(&query.ask.who, about.judged_by()?).await?;
            read(query, session, &sql).await?
        }
        (None, None) => {
            let (mut session, _) = about.judged_by()?.session(paths(about, &sql)).await?;
            read(query, &mut session, &sql).await?
        }
    };
    let mut filtered = filtered.pivoted(&values)?;
    filtered.about.judged = None; // other values may be there when the text comes again
    Ok(filtered)
}

/// Reads nothing: one made-up value stands for those that are read when the statement runs.
pub(super) fn assumed(filtered: Filtered) -> Result<Embedded> {
    const ASSUMED: &str = "0";
    if filtered.governed.pivot()?.is_none() {
        return Ok(Embedded { filtered, assumed: None });
    }
    let filtered = filtered.pivoted(&[ASSUMED.to_owned()])?;
    let warning = format!("the values of PIVOT … IN (ANY) are read when it runs: {ASSUMED} stands for them");
    Ok(Embedded { filtered, assumed: Some(warning) })
}

async fn read(query: &Query, session: &mut engine::Session, sql: &sql::EngineSql) -> Result<Vec<String>> {
    for step in &sql.before {
        step_agrees(query, session, &step.sql, &step.tables).await?;
        keep(query, session, step).await?;
    }
    let params = bound(&sql.binds, &query.ask.params)?;
    let statement = engine::Statement { sql: sql.sql.clone(), params, writes: false };
    let outcome = session.run(statement, query.deadline, &query.ask.cancel).await;
    let Outcome::Rows(mut rows) = outcome.map_err(|error| query.fault(error))? else {
        return Ok(Vec::new());
    };
    let mut values = Vec::new();
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(|error| query.fault(error))?;
        let Some(column) = batch.columns().first() else { break };
        let texts = cast(column, &DataType::Utf8).map_err(|error| Error::Unverified { why: error.to_string() })?;
        values.extend(texts.as_string::<i32>().iter().flatten().map(str::to_owned));
    }
    Ok(values)
}
