//! Between the stages 7 and 8: the values of `PIVOT (… IN (ANY))`, read by a governed query of their own.
//!
//! It sees what the caller may see and nothing else, inside the caller's transaction if there is one; else just
//! before the statement's own snapshot.

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use contract::Governance;
use engine::Outcome;

use super::catalog_snapshot::paths;
use super::runtime::{self, Rows};
use super::stages::embed::Embedded;
use super::stages::execute::keep;
use super::stages::row_filter::Filtered;
use super::stages::snapshot::step_agrees;
use super::stages::transpile::bound;
use super::{Pipeline, Query, Result};
use crate::Error;

pub(super) async fn values(
    pipeline: &Pipeline,
    query: &Query,
    rules: &Governance,
    embedded: Embedded,
) -> Result<Embedded> {
    let Embedded(Filtered { governed, ungoverned, about, reservation, role }) = embedded;
    let Some(asked) = governed.pivot()? else {
        return Ok(Embedded(Filtered { governed, ungoverned, about, reservation, role }));
    };
    let has_hidden = !matches!(asked.care(), sql::Care::None | sql::Care::Certain);
    let sql = sql::transpile(asked)?;
    let own = runtime::session(pipeline, query, rules, &sql.tables, Rows::All).await?;
    let sql = if has_hidden { sql.over_visible()? } else { sql };
    let values = match (own, query.transaction().await?) {
        (Some(mut session), _) => read(query, &mut session, &sql).await?,
        (None, Some(mut transaction)) => {
            let (session, _) = transaction.open(&query.ask.who, about.judged_by()?).await?;
            read(query, session, &sql).await?
        }
        (None, None) => {
            let (mut session, _) = about.judged_by()?.session(paths(&about, &sql)).await?;
            read(query, &mut session, &sql).await?
        }
    };
    let governed = governed.pivoted(&values)?;
    let ungoverned = ungoverned.map(|resolved| resolved.pivoted(&values)).transpose()?;
    Ok(Embedded(Filtered { governed, ungoverned, about, reservation, role }))
}

/// The same without reading: one made-up value stands for those that are read when it runs.
pub(super) fn assumed(embedded: Embedded) -> Result<(Embedded, Option<String>)> {
    const ASSUMED: &str = "0";
    let Embedded(Filtered { governed, ungoverned, about, reservation, role }) = embedded;
    if governed.pivot()?.is_none() {
        return Ok((Embedded(Filtered { governed, ungoverned, about, reservation, role }), None));
    }
    let values = [ASSUMED.to_owned()];
    let governed = governed.pivoted(&values)?;
    let ungoverned = ungoverned.map(|resolved| resolved.pivoted(&values)).transpose()?;
    let warning = format!("the values of PIVOT … IN (ANY) are read when it runs: {ASSUMED} stands for them");
    Ok((Embedded(Filtered { governed, ungoverned, about, reservation, role }), Some(warning)))
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
