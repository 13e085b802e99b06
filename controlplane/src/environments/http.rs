//! Requests, answers and handlers of the environments.

use contract::{EnvId, OrgId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::is_slug;
use super::placement::{self, Doors};
use super::store::{self, Row};
use crate::events::{self, Event, EventType};
use crate::http::call::Call;
use crate::http::json::{Created, Json};
use crate::http::page::{Page, Paged};
use crate::jobs::{self, Job};
use crate::{Error, Result};

const QUERY_TIMEOUT_MS_MAX: i64 = 300_000;
const CONCURRENT_QUERIES_MAX: i32 = 10_000;

/// An environment as it is answered.
#[derive(Debug, Serialize)]
pub struct Environment {
    env_id: EnvId,
    id: EnvId,
    name: String,
    slug: String,
    org_id: OrgId,
    status: String,
    /// Null until a data plane is placed.
    connection: Option<Connection>,
    settings: Settings,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Debug, Serialize)]
struct Connection {
    host: String,
    port: i32,
    database: String,
}

#[derive(Debug, Serialize)]
struct Settings {
    query_timeout_ms: i64,
    max_concurrent_queries: i32,
    cache_enabled: bool,
    test_mode: bool,
}

impl From<Row> for Environment {
    fn from(row: Row) -> Self {
        let connection = row.pg_host.zip(row.pg_port);
        Self {
            id: row.env_id.clone(),
            env_id: row.env_id,
            name: row.name,
            connection: connection.map(|(host, port)| Connection { host, port, database: row.slug.clone() }),
            slug: row.slug,
            org_id: row.org_id,
            status: row.status,
            settings: Settings {
                query_timeout_ms: row.query_timeout_ms,
                max_concurrent_queries: row.max_concurrent_queries,
                cache_enabled: row.cache_enabled,
                test_mode: row.test_mode,
            },
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsInput {
    query_timeout_ms: Option<i64>,
    max_concurrent_queries: Option<i32>,
    cache_enabled: Option<bool>,
    test_mode: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Creation {
    name: String,
    slug: String,
    #[serde(default)]
    settings: SettingsInput,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    name: Option<String>,
    settings: Option<SettingsInput>,
}

pub async fn list(cx: Call, page: Page) -> Result<Paged<Environment>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, cx.org_id(), &page).await?;
    Ok(page.of(rows, total, |row| (row.created_at, row.env_id.to_string()), Environment::from))
}

/// "A duplicate slug returns 409."
pub async fn create(cx: Call, Json(input): Json<Creation>) -> Result<Created<Environment>> {
    if !is_slug(&input.slug) {
        return Err(Error::invalid("slug", "slug", "`slug` is 1 to 63 of a-z, 0-9 and -, with no - at either end"));
    }
    let now = cx.now();
    let env_id = EnvId::fresh(now, cx.app.entropy());
    let mut row = Row::fresh(env_id, cx.org_id(), &name(&input.name)?, &input.slug, now);
    row.test_mode = input.settings.test_mode.unwrap_or(false);
    apply(&mut row, &input.settings)?;
    let mut tx = cx.begin().await?;
    store::serialise(&mut tx, cx.org_id()).await?;
    let held = store::count(&mut tx, cx.org_id()).await?;
    if let Some(limit) = cx.tier.limits().max_environments
        && held >= i64::from(limit)
    {
        return Err(Error::TierLimit { tier: cx.tier, quota: "max_environments", limit: u64::from(limit) });
    }
    store::insert(&mut tx, &row).await?;
    let after = json!({"name": row.name, "slug": row.slug});
    let event = Event::new(EventType::EnvironmentCreated, row.env_id.clone()).after(after);
    events::record(&cx.app, &mut tx, &cx, event).await?;
    jobs::enqueue(&cx.app, &mut tx, Job::ProvisionEnvironment { env_id: row.env_id.clone() }, now).await?;
    tx.commit().await?;
    Ok(Created(row.into()))
}

pub async fn get(cx: Call) -> Result<Json<Environment>> {
    let mut conn = cx.app.pool().acquire().await?;
    let row = store::find(&mut conn, cx.org_id(), &cx.env_id()?).await?.ok_or(Error::EnvironmentNotFound)?;
    Ok(Json(row.into()))
}

pub async fn put(cx: Call, Json(input): Json<Change>) -> Result<Json<Environment>> {
    let mut tx = cx.begin().await?;
    let mut row = store::find(&mut tx, cx.org_id(), &cx.env_id()?).await?.ok_or(Error::EnvironmentNotFound)?;
    if let Some(given) = &input.name {
        row.name = name(given)?;
    }
    if let Some(settings) = &input.settings {
        apply(&mut row, settings)?;
    }
    row.updated_at = cx.now();
    store::update(&mut tx, &row).await?;
    tx.commit().await?;
    Ok(Json(row.into()))
}

/// "connection strings for psql, dbt, CLI, SDK". `<API_KEY>` stands where the caller's key goes:
/// no answer ever holds one.
pub async fn connection_info(cx: Call) -> Result<Json<Value>> {
    let env_id = cx.env_id()?;
    let mut conn = cx.app.pool().acquire().await?;
    let doors = placement::doors(&mut conn, &env_id).await?.ok_or(Error::EnvironmentNotFound)?;
    let Doors { slug, pg: Some((host, port)), tools } = doors else {
        return Err(Error::conflict(
            "provisioning",
            "the environment has no data plane yet: try again when it is `active`",
        ));
    };
    let is_local = matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1");
    let sslmode = if is_local { "prefer" } else { "require" };
    let psql = format!("postgresql://agent:<API_KEY>@{host}:{port}/{slug}?sslmode={sslmode}");
    let endpoint =
        |scheme: &str, path: &str| tools.as_ref().map(|(host, port)| format!("{scheme}://{host}:{port}{path}"));
    let tools_scheme = if is_local { "http" } else { "https" };
    Ok(Json(json!({
        "env_id": env_id,
        "id": env_id,
        "host": host,
        "port": port,
        "database": slug,
        "sslmode": sslmode,
        "psql": psql,
        "dbt": {
            "type": "postgres", "host": host, "port": port, "user": "agent", "password": "<API_KEY>",
            "dbname": slug, "schema": "main", "sslmode": sslmode, "threads": 4,
        },
        "cli": format!("psql \"{psql}\""),
        "sdk": {"host": host, "port": port, "database": slug, "api_key": "<API_KEY>", "env_id": env_id},
        "flight": endpoint("grpc", ""),
        "mcp": endpoint(tools_scheme, "/mcp"),
    })))
}

fn name(given: &str) -> Result<String> {
    let given = given.trim();
    if (1..=128).contains(&given.chars().count()) && !given.chars().any(char::is_control) {
        return Ok(given.to_owned());
    }
    Err(Error::invalid("name", "1..128", "`name` is 1 to 128 characters"))
}

fn apply(row: &mut Row, input: &SettingsInput) -> Result<()> {
    let SettingsInput { query_timeout_ms, max_concurrent_queries, cache_enabled, test_mode } = input;
    if let Some(given) = *query_timeout_ms {
        if !(1..=QUERY_TIMEOUT_MS_MAX).contains(&given) {
            let message = format!("`query_timeout_ms` is from 1 to {QUERY_TIMEOUT_MS_MAX}");
            return Err(Error::invalid("settings.query_timeout_ms", "1..300000", message));
        }
        row.query_timeout_ms = given;
    }
    if let Some(given) = *max_concurrent_queries {
        if !(1..=CONCURRENT_QUERIES_MAX).contains(&given) {
            let message = format!("`max_concurrent_queries` is from 1 to {CONCURRENT_QUERIES_MAX}");
            return Err(Error::invalid("settings.max_concurrent_queries", "1..10000", message));
        }
        row.max_concurrent_queries = given;
    }
    row.cache_enabled = cache_enabled.unwrap_or(row.cache_enabled);
    if test_mode.is_some_and(|given| given != row.test_mode) {
        return Err(Error::invalid(
            "settings.test_mode",
            "immutable",
            "`test_mode` is set when an environment is created",
        ));
    }
    Ok(())
}
