//! Attached databases, as statements come to know their tables: looked at before names are bound.

use std::time::Instant;

use contract::{Governance, StorageIntegration};
use futures::future::{BoxFuture, join_all};
use tokio::time::timeout_at;

use super::catalog_snapshot::CatalogSnapshot;
use super::{Pipeline, Query, Result};

/// Reads the catalogues that a statement may mean tables of. Of a fault of those that it names it is told; tables of
/// the others are as they were: for a list their names are answered.
pub(super) async fn looked_for(
    pipeline: &Pipeline,
    query: &Query,
    rules: &Governance,
    statement: &sql::Statement,
) -> Result<Vec<String>> {
    let (searched, is_list) = (query.ask.names.search_path(), statement.lists_tables());
    let mut looks: Vec<BoxFuture<'_, Result<Option<String>>>> = Vec::new();
    for integration in rules.attached.iter().filter(|integration| integration.enabled) {
        let is_its = |schema: &str| schema.eq_ignore_ascii_case(&integration.name);
        let is_searched = searched.iter().any(|schema| is_its(schema));
        let means = |table: &sql::TableUse| table.schema.as_deref().map_or(is_searched, is_its);
        let is_named = statement.tables().iter().any(means);
        if is_named || statement.reads_catalogue() {
            looks.push(Box::pin(async move {
                match query.in_time(look(pipeline, integration, is_named)).await {
                    Ok(()) => Ok(None),
                    Err(error) if is_named => Err(error),
                    Err(_) => Ok(is_list.then(|| integration.name.clone())),
                }
            }));
        }
    }
    // at once, so that several that are away take no longer than one
    let looked: Result<Vec<_>> = join_all(looks).await.into_iter().collect();
    Ok(looked?.into_iter().flatten().collect())
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

/// What is told of databases that could not be read, where a list of what is seen has their tables as they were. Whoever
/// sees none of the tables that are known is told nothing.
pub(super) fn outdated(away: &[String], known: &CatalogSnapshot, seen: &sql::Catalog) -> Vec<String> {
    let is_listed = |name: &&String| {
        let has_schema = known.is_attached(name) && seen.has_schema(name);
        has_schema && (has_tables(seen, name) || !has_tables(&known.known, name))
    };
    let told = |name: &String| {
        format!("the tables of database {name} are listed as they were when it was last read: it cannot be read now")
    };
    away.iter().filter(is_listed).map(told).collect()
}

fn has_tables(catalog: &sql::Catalog, schema: &str) -> bool {
    catalog.tables().any(|table| table.schema.eq_ignore_ascii_case(schema))
}
