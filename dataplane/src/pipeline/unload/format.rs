//! How the files of an unload are written, where a file format or the stage says it.

use std::sync::Arc;

use sql::Unload;

use crate::Ask;
use crate::pipeline::authorization::visible_catalog;
use crate::pipeline::stages::policy;
use crate::pipeline::{Pipeline, Result, startup_gate};
use crate::storage::stage_files::user_stage;

/// The unload with the format that its names mean to whoever asks.
pub(super) async fn formatted(pipeline: &Arc<Pipeline>, ask: &Ask, unload: Unload) -> Result<Unload> {
    let query = startup_gate::enter(pipeline, ask.clone()).await?;
    let rules = pipeline.rules()?;
    let who = policy::caller(pipeline, &query, &rules)?;
    let seen = pipeline.remembered.tables.now(&pipeline.engine()?, &rules).await?;
    let asked = who.asks(&rules, ask.into(), true).over(&seen.stages);
    let visible = visible_catalog::seen(&asked, &seen.known);
    let mut names = policy::names(&query, &rules);
    names.user_stage = user_stage(&who.caller);
    Ok(sql::unloaded_as_said(unload, &visible, &names)?)
}
