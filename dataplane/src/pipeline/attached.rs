//! Attached databases, as statements come to know their tables: looked at before names are bound.

use std::time::Instant;

use contract::{Governance, StorageIntegration};
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
    let mut told = Ok(());
    for integration in rules.attached.iter().filter(|integration| integration.enabled) {
        let is_its = |schema: &str| schema.eq_ignore_ascii_case(&integration.name);
        let is_searched = searched.iter().any(|schema| is_its(schema));
        let means = |table: &sql::TableUse| table.schema.as_deref().map_or(is_searched, is_its);
        let is_named = statement.tables().iter().any(means);
        if !is_named && !statement.reads_catalogue() {
            continue;
        }
        let looked = query.in_time(look(pipeline, integration)).await;
        if is_named && told.is_ok() {
            told = looked;
        }
    }
    told
}

/// The same for whoever asks for all that there is.
pub(super) async fn looked(pipeline: &Pipeline, rules: &Governance, deadline: Instant) {
    for integration in rules.attached.iter().filter(|integration| integration.enabled) {
        let looked = timeout_at(deadline.into(), look(pipeline, integration)).await;
        if !matches!(looked, Ok(Ok(()))) {
            tracing::debug!("an attached database is listed as it was");
        }
    }
}

async fn look(pipeline: &Pipeline, integration: &StorageIntegration) -> Result<()> {
    let databases = &pipeline.remembered.tables.attached;
    Ok(Box::pin(databases.look(integration, &pipeline.storage_hosts, &pipeline.tasks)).await?)
}
