//! Requests, answers and handlers of the environments.

use contract::environment_settings::OutOfBounds;
use contract::{EnvId, EnvironmentSettings, EnvironmentSettingsChange, OrgId, Timestamp};
use platform::events::{self, Event, EventType, Origin};
use platform::http::call::Call;
use platform::http::json::{Created, Json};
use platform::http::page::{PageRequest, Paged};
use platform::jobs::queue;
use platform::resources::{EnvironmentChange, NewEnvironment, Resources};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use super::changes;
use super::placement::{self, EnvironmentAddresses, ProvisionEnvironment};
use super::store::{self, EnvironmentRow};
use crate::domain::tenancy::organizations;

/// An environment as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Environment {
    env_id: EnvId,
    id: EnvId,
    name: String,
    slug: String,
    org_id: OrgId,
    status: String,
    /// Null until a data plane is placed.
    connection: Option<EnvironmentConnection>,
    settings: EnvironmentSettings,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
struct EnvironmentConnection {
    host: String,
    port: i32,
    database: String,
}

impl From<EnvironmentRow> for Environment {
    fn from(row: EnvironmentRow) -> Self {
        let connection = row.pg_host.zip(row.pg_port);
        Self {
            id: row.env_id.clone(),
            env_id: row.env_id,
            name: row.name,
            connection: connection.map(|(host, port)| EnvironmentConnection { host, port, database: row.slug.clone() }),
            slug: row.slug,
            org_id: row.org_id,
            status: row.status,
            settings: row.settings,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentCreation {
    name: String,
    slug: String,
    #[serde(default, skip_serializing_if = "changes_nothing")]
    settings: EnvironmentSettingsChange,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "EnvironmentChange")]
#[serde(deny_unknown_fields)]
pub struct EnvironmentUpdate {
    name: Option<String>,
    settings: Option<EnvironmentSettingsChange>,
}

/// Keeps a default that says nothing out of the document of the API.
fn changes_nothing(change: &EnvironmentSettingsChange) -> bool {
    *change == EnvironmentSettingsChange::default()
}

pub async fn list(cx: Call, page: PageRequest) -> Result<Paged<Environment>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, cx.org_id(), &page).await?;
    Ok(page.of(rows, total, |row| (row.created_at, row.env_id.to_string()), Environment::from))
}

/// "A duplicate slug returns 409."
pub async fn create(cx: Call, Json(input): Json<EnvironmentCreation>) -> Result<Created<Environment>> {
    let slug = cx.app.slugs().checked(&input.slug)?;
    let now = cx.now();
    let env_id = EnvId::fresh(now, cx.app.entropy());
    let mut row = EnvironmentRow::fresh(env_id, cx.org_id(), &name(&input.name)?, &slug, now);
    row.settings = set(&row.settings, &input.settings)?;
    let mut tx = cx.begin().await?;
    store::serialise(&mut tx, cx.org_id()).await?;
    let held = store::count(&mut tx, cx.org_id()).await?;
    if let Some(limit) = cx.limits.max_environments
        && held >= i64::from(limit)
    {
        return Err(Error::TierLimit { tier: cx.tier, quota: "max_environments", limit: u64::from(limit) });
    }
    if store::find_by_slug(&mut tx, cx.org_id(), &slug).await?.is_some() {
        return Err(store::slug_taken(&slug));
    }
    is_free(&mut tx, &row).await?;
    if let Some(resources) = cx.app.resources() {
        row = made(resources, &mut tx, row).await?;
    } else {
        store::insert(&mut tx, &row).await?;
        queue::enqueue(&cx.app, &mut tx, &ProvisionEnvironment { env_id: row.env_id.clone() }, now).await?;
    }
    let after = json!({"name": row.name, "slug": row.slug});
    let event = Event::new(EventType::EnvironmentCreated, row.env_id.clone()).after(after);
    events::commit(&cx.app, tx, &cx, event).await?;
    Ok(Created(row.into()))
}

/// People tell environments apart by their names. Who asks has [`store::serialise`].
async fn is_free(tx: &mut PgConnection, row: &EnvironmentRow) -> Result<()> {
    if store::has_name(tx, &row.org_id, &row.name, &row.env_id).await? {
        let message = format!("the organization has an environment named `{}`: give this one another name", row.name);
        return Err(Error::conflict("name_taken", message));
    }
    Ok(())
}

/// The resource, and its row.
async fn made(resources: &dyn Resources, tx: &mut PgConnection, row: EnvironmentRow) -> Result<EnvironmentRow> {
    let organization = organizations::store::find(tx, &row.org_id).await?;
    let organization = organization
        .as_ref()
        .filter(|found| found.removed_at.is_none())
        .and_then(organizations::store::Organization::place);
    let new = NewEnvironment {
        organization: &organization
            .ok_or_else(|| Error::conflict("no_resource", "the organization is not a Kubernetes resource"))?,
        slug: &row.slug,
        name: &row.name,
        settings: row.settings,
    };
    let said = resources.create_environment(&new).await?;
    let row = EnvironmentRow::of(&said, &row.org_id, row.created_at);
    store::insert_resource(tx, &row, &said).await?;
    Ok(row)
}

pub async fn get(cx: Call) -> Result<Json<Environment>> {
    let mut conn = cx.app.pool().acquire().await?;
    let row = store::find(&mut conn, cx.org_id(), &cx.env_id()?).await?.ok_or(Error::EnvironmentNotFound)?;
    Ok(Json(row.into()))
}

pub async fn put(cx: Call, Json(input): Json<EnvironmentUpdate>) -> Result<Json<Environment>> {
    let mut tx = cx.begin().await?;
    let env_id = cx.env_id()?;
    if input.name.is_some() {
        store::serialise(&mut tx, cx.org_id()).await?;
    }
    store::serialise_change(&mut tx, &env_id).await?;
    let before = store::find(&mut tx, cx.org_id(), &env_id).await?.ok_or(Error::EnvironmentNotFound)?;
    cx.expected.holds(before.updated_at)?;
    let mut row = before.clone();
    if let Some(given) = &input.name {
        row.name = name(given)?;
    }
    if row.name != before.name {
        is_free(&mut tx, &row).await?;
    }
    if let Some(change) = &input.settings {
        row.settings = set(&row.settings, change)?;
    }
    if row.settings.test_mode != before.settings.test_mode {
        let message = "`test_mode` is set when an environment is created";
        return Err(Error::invalid("settings.test_mode", "immutable", message));
    }
    row.updated_at = cx.now();
    let row = changed(&cx, &mut tx, &before, row, &|| Origin::from(&cx)).await?;
    tx.commit().await?;
    Ok(Json(row.into()))
}

/// The row as it is wished for: of a resource what that says then. Who asks has [`store::serialise_change`].
pub(in crate::domain) async fn changed(
    cx: &Call,
    tx: &mut PgConnection,
    before: &EnvironmentRow,
    wished: EnvironmentRow,
    origin: &(dyn Fn() -> Origin + Send + Sync),
) -> Result<EnvironmentRow> {
    let place = store::place(tx, &before.env_id).await?;
    let row = if let Some((resources, (_, place))) = cx.app.resources().zip(place) {
        let change = beyond(before, &wished);
        if change != EnvironmentChange::default() {
            let said = resources.change_environment(&place, &change).await?;
            wished.ensure_same(&said)?;
            store::lock(tx, &before.env_id).await?;
            store::project(tx, &said, cx.now()).await?;
        }
        store::find(tx, cx.org_id(), &before.env_id).await?.ok_or(Error::EnvironmentNotFound)?
    } else {
        store::update(tx, &wished).await?;
        wished
    };
    changes::announce(&cx.app, tx, origin, before, &row).await?;
    Ok(row)
}

/// What is to be another: a member that is the same already is nobody's to write.
fn beyond(before: &EnvironmentRow, after: &EnvironmentRow) -> EnvironmentChange {
    EnvironmentChange {
        name: (after.name != before.name).then(|| after.name.clone()),
        settings: after.settings.since(&before.settings),
        suspended: None,
    }
}

/// Stands where the caller's key goes: no answer ever holds one.
const KEY_PLACE: &str = "<API_KEY>";

/// "connection strings for psql, dbt, CLI, SDK".
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionInfo {
    env_id: EnvId,
    id: EnvId,
    #[serde(flatten)]
    place: EnvironmentAddress,
    sslmode: &'static str,
    psql: String,
    dbt: DbtOutput,
    cli: String,
    sdk: SdkSettings,
    /// Null where no tools are served.
    flight: Option<String>,
    mcp: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct EnvironmentAddress {
    host: String,
    port: i32,
    database: String,
}

/// An output of a dbt profile.
#[derive(Debug, Serialize, JsonSchema)]
struct DbtOutput {
    r#type: &'static str,
    host: String,
    port: i32,
    user: &'static str,
    password: &'static str,
    dbname: String,
    schema: &'static str,
    sslmode: &'static str,
    threads: u8,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SdkSettings {
    #[serde(flatten)]
    place: EnvironmentAddress,
    api_key: &'static str,
    env_id: EnvId,
}

/// See [`ConnectionInfo`].
pub async fn connection_info(cx: Call) -> Result<Json<ConnectionInfo>> {
    let env_id = cx.env_id()?;
    let mut conn = cx.app.pool().acquire().await?;
    let addresses = placement::addresses(&mut conn, &env_id).await?.ok_or(Error::EnvironmentNotFound)?;
    let EnvironmentAddresses { slug, pg: Some((host, port)), tools } = addresses else {
        return Err(Error::conflict(
            "provisioning",
            "the environment has no data plane yet: try again when it is `active`",
        ));
    };
    let is_local = matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1");
    let sslmode = if is_local { "prefer" } else { "require" };
    let psql = format!("postgresql://agent:{KEY_PLACE}@{host}:{port}/{slug}?sslmode={sslmode}");
    let endpoint =
        |scheme: &str, path: &str| tools.as_ref().map(|(host, port)| format!("{scheme}://{host}:{port}{path}"));
    let tools_scheme = if is_local { "http" } else { "https" };
    let (flight, mcp) = (endpoint("grpc", ""), endpoint(tools_scheme, "/mcp"));
    let place = EnvironmentAddress { host, port, database: slug };
    Ok(Json(ConnectionInfo {
        id: env_id.clone(),
        env_id: env_id.clone(),
        sslmode,
        cli: format!("psql \"{psql}\""),
        psql,
        dbt: DbtOutput {
            r#type: "postgres",
            host: place.host.clone(),
            port,
            user: "agent",
            password: KEY_PLACE,
            dbname: place.database.clone(),
            schema: "main",
            sslmode,
            threads: 4,
        },
        sdk: SdkSettings { place: place.clone(), api_key: KEY_PLACE, env_id },
        place,
        flight,
        mcp,
    }))
}

fn name(given: &str) -> Result<String> {
    let given = given.trim();
    if (1..=128).contains(&given.chars().count()) && !given.chars().any(char::is_control) {
        return Ok(given.to_owned());
    }
    Err(Error::invalid("name", "1..128", "`name` is 1 to 128 characters"))
}

/// The settings with those that are given.
fn set(settings: &EnvironmentSettings, given: &EnvironmentSettingsChange) -> Result<EnvironmentSettings> {
    settings.with(given).map_err(|refused| {
        let OutOfBounds { name, least, most } = refused;
        Error::invalid(format!("settings.{name}"), format!("{least}..{most}"), refused.to_string())
    })
}
