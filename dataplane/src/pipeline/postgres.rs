//! Questions about PostgreSQL's catalogue, beside the fifteen stages: they touch nobody's data, and are neither
//! billed nor audited. Who asks is looked up as for any statement, and is shown what policies let them read.

use std::sync::Arc;

use contract::policy::abac::Operation;
use futures::stream;
use sql::catalog::definition::DefinitionKind;

use super::authorization::visible_catalog;
use super::stages::policy;
use super::{Pipeline, Query, Result, attached};
use crate::encode::column::Column;
use crate::request::answer::{Answer, Command, Description, Rows};
use crate::request::trail::Trail;
use crate::storage::catalogue::{CatalogueContent, CatalogueEntry, CatalogueQuery, Sort};

/// What PostgreSQL's functions say of settings; a protocol that keeps a session answers for it itself.
const SETTINGS: [(&str, &str); 7] = [
    ("server_version", "15.0"),
    ("server_version_num", "150000"),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("max_index_keys", "32"),
    ("search_path", "main"),
    ("standard_conforming_strings", "on"),
];

/// The question that the query is, if it is one.
pub(super) fn question(pipeline: &Pipeline, query: &Query) -> Option<sql::compile::postgres::PostgresQuery> {
    let rules = pipeline.rules().ok()?;
    let database = query.ask.names.database.as_ref().unwrap_or(&rules.environment.slug);
    sql::compile::postgres::question(&query.ask.sql, database)
}

pub(super) async fn answer(
    pipeline: &Pipeline,
    query: &Query,
    asked: &sql::compile::postgres::PostgresQuery,
) -> Result<Answer> {
    let seen = seen(pipeline, query).await?;
    let question = CatalogueQuery {
        sql: &asked.sql,
        params: query.ask.params.clone(),
        seen,
        deadline: query.deadline,
        cancel: &query.ask.cancel,
    };
    let held = pipeline.catalogue.ask(&question).await.map_err(|error| fault(query, error))?;
    let engine::Held { schema, columns, batches } = held;
    Ok(Answer {
        query_id: query.ask.query_id.clone(),
        columns: shown(columns, asked),
        schema,
        command: Command::Select,
        changed: None,
        columns_masked: Vec::new(),
        warnings: Vec::new(),
        healed: None,
        cache_hit: false,
        as_of: None,
        replayed: None,
        transpilation_ms: 0.0,
        rows: Rows::new(stream::iter(batches.into_iter().map(Ok)), Arc::default()),
    })
}

pub(super) async fn describe(
    pipeline: &Pipeline,
    query: &Query,
    asked: &sql::compile::postgres::PostgresQuery,
) -> Result<Description> {
    let seen = seen(pipeline, query).await?;
    let question = CatalogueQuery {
        sql: &asked.sql,
        params: Vec::new(),
        seen,
        deadline: query.deadline,
        cancel: &query.ask.cancel,
    };
    let described = pipeline.catalogue.describe(&question).await.map_err(|error| fault(query, error))?;
    let text = || "VARCHAR".to_owned();
    Ok(Description {
        parameters: described.parameters.into_iter().map(|kind| kind.unwrap_or_else(text)).collect(),
        columns: shown(described.columns, asked),
        schema: described.schema,
        command: Command::Select,
    })
}

fn shown(columns: Vec<engine::Column>, asked: &sql::compile::postgres::PostgresQuery) -> Vec<Column> {
    let column = |column: engine::Column| Column { name: column.name, type_name: column.type_name, masked: false };
    let mut columns: Vec<_> = columns.into_iter().map(column).collect();
    for (place, type_name) in &asked.named {
        if let Some(column) = columns.get_mut(*place) {
            (*type_name).clone_into(&mut column.type_name);
        }
    }
    columns
}

/// What PostgreSQL has of the kind; it knows no stages and no file formats.
const fn sort(kind: DefinitionKind) -> Option<Sort> {
    match kind {
        DefinitionKind::View => Some(Sort::View),
        DefinitionKind::Sequence => Some(Sort::Sequence),
        DefinitionKind::Function => Some(Sort::Function),
        DefinitionKind::Stage | DefinitionKind::FileFormat => None,
    }
}

fn fault(query: &Query, error: crate::Error) -> crate::Error {
    match error {
        crate::Error::Engine(error) => query.fault(error),
        other => other,
    }
}

/// What the caller may know to be there.
async fn seen(pipeline: &Pipeline, query: &Query) -> Result<CatalogueContent> {
    let rules = pipeline.rules()?;
    let who = policy::caller(pipeline, query, &rules)?;
    let caller = &who.caller;
    caller.may_query(false).map_err(crate::Error::Lacks)?;
    let asked = who.asks(&rules, (&query.ask).into(), false);
    // A policy about no table in particular shuts the catalogue too.
    asked.permitted(&[], &[Operation::Select], &Trail::default())?;
    let engine = pipeline.engine()?;
    attached::looked(pipeline, &rules, query.deadline).await;
    let there = pipeline.remembered.tables.of(&engine, query, &rules).await?;
    // an external table is hidden too from whom a rule denies its storage integration
    let asked = asked.over(&there.stages);
    let seen = visible_catalog::seen(&asked, &there.known);
    let mut names = policy::names(query, &rules);
    visible_catalog::narrow(&mut names, &asked, &there.known);
    let mut schemas: Vec<String> = seen.schemas().collect();
    schemas.sort();
    let tables = seen.tables().map(|table| CatalogueEntry {
        sort: Sort::Table,
        schema: table.schema.clone(),
        name: table.name.clone(),
        columns: names.shown(&table.schema, &table.name, &table.columns),
        primary_key: names.told(&table.schema, &table.name, &table.primary_key),
        comment: table.comment.clone(),
    });
    let definitions = seen.definitions().into_iter();
    let defined =
        definitions.filter_map(|one| sort(one.kind).map(|sort| (sort, one))).map(|(sort, one)| CatalogueEntry {
            sort,
            schema: one.schema.clone(),
            name: one.name.clone(),
            columns: names.shown(&one.schema, &one.name, &one.columns),
            primary_key: Vec::new(),
            comment: one.comment.clone(),
        });
    let mut listed: Vec<_> = tables.chain(defined).collect();
    listed.sort_by(|one, other| (&one.schema, &one.name).cmp(&(&other.schema, &other.name)));
    let user = caller.email.clone().or_else(|| caller.user_id.as_ref().map(ToString::to_string));
    Ok(CatalogueContent {
        database: names.database.clone(),
        user: user.unwrap_or_else(|| "agent".to_owned()),
        search_path: query.ask.names.search_path(),
        schemas,
        listed,
        settings: SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
    })
}
