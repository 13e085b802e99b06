//! Attached databases, as statements come to know their tables: looked at before names are bound.

use std::time::Instant;

use contract::{Governance, StorageIntegration};
use futures::future::{BoxFuture, join_all};
use tokio::time::timeout_at;

use super::{Pipeline, Query, Result};

/// Reads the catalogues that a statement may mean tables of. Of a fault of those that it names it is told; tables of
/// the others are as they were.
pub(super) async fn looked_for(
    pipeline: &Pipeline,
    query: &Query,
    rules: &Governance,
    statement: &sql::Statement,
) -> Result<()> {
    let searched = query.ask.names.search_path();
    let mut looks: Vec<BoxFuture<'_, Result<()>>> = Vec::new();
    for integration in rules.attached.iter().filter(|integration| integration.enabled) {
        let is_its = |schema: &str| schema.eq_ignore_ascii_case(&integration.name);
        let is_searched = searched.iter().any(|schema| is_its(schema));
        let means = |table: &sql::TableUse| table.schema.as_deref().map_or(is_searched, is_its);
        let is_named = statement.tables().iter().any(means);
        if is_named || statement.reads_catalogue() {
            looks.push(Box::pin(async move {
                let looked = query.in_time(look(pipeline, integration, is_named)).await;
                if is_named { looked } else { Ok(()) }
            }));
        }
    }
    // at once, so that several that are away take no longer than one
    join_all(looks).await.into_iter().collect()
}

/// The same for whoever asks for all that there is.
pub(super) async fn looked(pipeline: &Pipeline, rules: &Governance, deadline: Instant) {
    let mut looks: Vec<BoxFuture<'_, Result<()>>> = Vec::new();
    for integration in rules.attached.iter().filter(|integration| integration.enabled) {
        looks.push(Box::pin(look(pipeline, integration, false)));
    }
    let looked = timeout_at(deadline.into(), join_all(looks)).await;
    if !looked.is_ok_and(|looked| looked.iter().all(Result::is_ok)) {
        tracing::debug!("an attached database is listed as it was");
    }
}

/// Reads the catalogue of one. Where no statement names it, it is not waited for if it did not answer before.
async fn look(pipeline: &Pipeline, integration: &StorageIntegration, is_named: bool) -> Result<()> {
    let Pipeline { storage_hosts, tasks, remembered, .. } = pipeline;
    let databases = &remembered.tables.attached;
    if is_named {
        return Ok(Box::pin(databases.look(integration, storage_hosts, tasks)).await?);
    }
    Ok(Box::pin(databases.look_for_list(integration, storage_hosts, tasks)).await?)
}
