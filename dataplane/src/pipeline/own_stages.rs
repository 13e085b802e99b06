//! The own stages of tables, `@%table`: each gets an id, kept with its table, once something is put into it.

use contract::ids::unguessable;
use contract::policy::abac::Operation;
use engine::{Change, Kind, Statement};
use sql::{StagePlace, UNUSED_STAGE, table_of_stage};
use tokio::sync::Mutex;

use super::catalog_snapshot::CatalogSnapshot;
use super::{Pipeline, Query, Result};
use crate::Error;
use crate::error::StageFileFault;
use crate::governance::table_path::table_ref;

/// Held while a table gets an id: of two first files of a table the second takes the id that the first has brought.
static GIVING: Mutex<()> = Mutex::const_new(());

/// The stage with an id, which is kept with its table from now on if it had none.
pub(super) async fn kept(pipeline: &Pipeline, query: &Query, stage: StagePlace) -> Result<StagePlace> {
    if stage.id != UNUSED_STAGE {
        return Ok(stage);
    }
    let _one = query.in_time(async { Ok(GIVING.lock().await) }).await?;
    match Box::pin(given(pipeline, query, stage.clone())).await {
        // somebody has altered the table meanwhile
        Err(Error::Engine(error)) if error.kind == Kind::WriteConflict => Box::pin(given(pipeline, query, stage)).await,
        done => done,
    }
}

/// The stage with the id that its table has by now, or gets.
async fn given(pipeline: &Pipeline, query: &Query, stage: StagePlace) -> Result<StagePlace> {
    let missing = || StageFileFault::NoStage { name: stage.path.clone() };
    let table = table_of_stage(&stage.path).ok_or_else(missing)?;
    let engine = pipeline.engine()?;
    let mut session = engine.session().await?;
    let snapshot = session.begin().await?;
    let seen = CatalogSnapshot::of(&engine, &mut session).await?;
    let place = table_ref(&table);
    let found = seen.known.get(place.schema, place.name).ok_or_else(missing)?;
    if let Some(id) = &found.own_stage {
        return Ok(StagePlace { id: id.clone(), ..stage });
    }
    let id = format!("own-{}", unguessable(&pipeline.entropy));
    let sql = sql::catalog::table::keeping_stage(found, &id);
    let keeping = Statement { sql, params: Vec::new(), writes: true };
    session.run(keeping, query.deadline, &query.ask.cancel).await.map_err(|error| query.fault(error))?;
    let change = Change {
        query_id: query.ask.query_id.to_string(),
        table,
        operation: Operation::Alter.as_str().to_owned(),
        rows: 0,
        snapshot: snapshot.to_string(),
        at_micros: pipeline.clock.now().timestamp_micros(),
    };
    session.track(&[change]).await?;
    session.commit().await?;
    Ok(StagePlace { id, ..stage })
}
