//! Requests, answers and handlers of storage integrations.

use contract::storage_integration::{SslMode, StorageCredentials, StorageKind};
use contract::{StorageIntegrationId, Timestamp};
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::http::json::{Created, Json};
use platform::http::page::{PageRequest, Paged};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::admission;
use super::credentials::{CredentialsAnswer, CredentialsInput};
use super::kinds::{self, KindMembers, StorageKindName};
use super::postgres::{self, DatabaseMembers};
use super::secret;
use super::store::{self, KeptIntegration};
use crate::domain::environments;

/// Storage integrations of one environment: all are in its snapshot.
const INTEGRATIONS_MAX: i64 = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StorageIntegrationCreation {
    name: String,
    kind: StorageKindName,
    /// Of `s3` and `azure`: absent, the one of AWS in the region, or the public one of the account.
    endpoint: Option<String>,
    /// Of `s3`.
    region: Option<String>,
    /// Of `s3` and `azure`: the bucket or the account is a part of the path.
    path_style: Option<bool>,
    /// Of `azure`: the storage account.
    account: Option<String>,
    /// Of `file`.
    folder: Option<String>,
    /// Of `postgres`: a name or an IPv4 address.
    host: Option<String>,
    /// Of `postgres`: absent, 5432.
    port: Option<u16>,
    /// Of `postgres`.
    database: Option<String>,
    /// Of `postgres`: absent, `verify-full`.
    ssl_mode: Option<SslMode>,
    /// As `s3://bucket/folder/`, `azure://host/container/folder/`, `file:///folder/`, `postgres://schema/table` or `*`.
    allowed_prefixes: Vec<String>,
    #[serde(default)]
    blocked_prefixes: Vec<String>,
    #[serde(default = "yes")]
    enabled: bool,
    credentials: Option<CredentialsInput>,
}

const fn yes() -> bool {
    true
}

/// What is left out stays; an empty `endpoint` takes it away. With another endpoint or host, credentials are sent anew.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StorageIntegrationChange {
    name: Option<String>,
    endpoint: Option<String>,
    region: Option<String>,
    path_style: Option<bool>,
    account: Option<String>,
    folder: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    database: Option<String>,
    ssl_mode: Option<SslMode>,
    allowed_prefixes: Option<Vec<String>>,
    blocked_prefixes: Option<Vec<String>>,
    enabled: Option<bool>,
    credentials: Option<CredentialsInput>,
}

/// What requests give of the kind that an integration is of.
macro_rules! members {
    ($($request:ident),+) => {$(
        impl $request {
            fn members(&self) -> KindMembers {
                KindMembers {
                    endpoint: self.endpoint.clone(),
                    region: self.region.clone(),
                    path_style: self.path_style,
                    account: self.account.clone(),
                    folder: self.folder.clone(),
                    database: DatabaseMembers {
                        host: self.host.clone(),
                        port: self.port,
                        database: self.database.clone(),
                        ssl_mode: self.ssl_mode,
                    },
                }
            }
        }
    )+};
}

members!(StorageIntegrationCreation, StorageIntegrationChange);

/// A storage integration as it is answered.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StorageIntegration")]
pub struct StorageIntegrationAnswer {
    id: StorageIntegrationId,
    storage_integration_id: StorageIntegrationId,
    name: String,
    kind: StorageKindName,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_style: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssl_mode: Option<SslMode>,
    allowed_prefixes: Vec<String>,
    blocked_prefixes: Vec<String>,
    enabled: bool,
    credentials: CredentialsAnswer,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<KeptIntegration> for StorageIntegrationAnswer {
    fn from(kept: KeptIntegration) -> Self {
        let mut answer = Self {
            id: kept.storage_integration_id.clone(),
            storage_integration_id: kept.storage_integration_id,
            name: kept.name,
            kind: StorageKindName::of(&kept.kind),
            endpoint: None,
            region: None,
            path_style: None,
            account: None,
            folder: None,
            host: None,
            port: None,
            database: None,
            ssl_mode: None,
            allowed_prefixes: kept.allowed_prefixes,
            blocked_prefixes: kept.blocked_prefixes,
            enabled: kept.enabled,
            credentials: CredentialsAnswer {
                r#type: kept.credential_type,
                since: kept.credentials_at,
                secret: kept.secret,
            },
            created_at: kept.created_at,
            updated_at: kept.updated_at,
        };
        match kept.kind {
            StorageKind::S3 { endpoint, region, path_style } => {
                (answer.endpoint, answer.region, answer.path_style) = (endpoint, Some(region), Some(path_style));
            }
            StorageKind::File { folder } => answer.folder = Some(folder),
            StorageKind::Postgres { host, port, database, ssl_mode } => {
                (answer.host, answer.port) = (Some(host), Some(port));
                (answer.database, answer.ssl_mode) = (Some(database), Some(ssl_mode));
            }
            StorageKind::Azure { account, endpoint, path_style } => {
                (answer.account, answer.endpoint, answer.path_style) = (Some(account), endpoint, Some(path_style));
            }
        }
        answer
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct StorageIntegrationDeletion {
    storage_integration_id: StorageIntegrationId,
    id: StorageIntegrationId,
    deleted: bool,
    deleted_at: Timestamp,
}

pub async fn list(cx: Call, page: PageRequest) -> Result<Paged<StorageIntegrationAnswer>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, &cx.env_id()?, &page).await?;
    let mark = |kept: &KeptIntegration| (kept.created_at, kept.storage_integration_id.to_string());
    Ok(page.of(rows, total, mark, StorageIntegrationAnswer::from))
}

pub async fn get(cx: Call) -> Result<Json<StorageIntegrationAnswer>> {
    let mut conn = cx.app.pool().acquire().await?;
    Ok(Json(found(&mut conn, &cx).await?.into()))
}

pub async fn create(
    cx: Call,
    Json(mut input): Json<StorageIntegrationCreation>,
) -> Result<Created<StorageIntegrationAnswer>> {
    let env_id = cx.env_id()?;
    let kind = input.members().kind(&cx.app, input.kind)?;
    let secret = secret::named(&cx, &kind, &mut input.credentials).await?;
    let credentials = input.credentials.map(|given| admission::credentials(&cx.app, &kind, given)).transpose()?;
    if kind.is_database() && credentials.is_none() && secret.is_none() {
        let message = "`credentials` of the kind `postgres` are a `password` with its `user`, or a Secret of them";
        return Err(Error::invalid("credentials", "present", message));
    }
    let now = cx.now();
    let mut integration = KeptIntegration {
        storage_integration_id: StorageIntegrationId::fresh(now, cx.app.entropy()),
        name: postgres::schema_name(&kind, admission::name(input.name)?)?,
        allowed_prefixes: admission::prefixes("allowed_prefixes", &kind, input.allowed_prefixes)?,
        blocked_prefixes: admission::prefixes("blocked_prefixes", &kind, input.blocked_prefixes)?,
        kind,
        enabled: input.enabled,
        credential_type: StorageCredentials::Anonymous.as_str().to_owned(),
        credentials_at: None,
        secret: None,
        created_at: now,
        updated_at: now,
    };
    let mut tx = cx.begin().await?;
    environments::lock(&mut tx, &env_id).await?;
    if store::count(&mut tx, &env_id).await? >= INTEGRATIONS_MAX {
        let message = format!("an environment has at most {INTEGRATIONS_MAX} storage integrations: delete one first");
        return Err(Error::conflict("too_many", message));
    }
    store::insert(&mut tx, &env_id, &integration).await?;
    if let Some(credentials) = credentials {
        store::give(&cx.app, &mut tx, &mut integration, &credentials).await?;
    }
    if let Some(secret) = secret {
        secret::give(&cx.app, &mut tx, &mut integration, secret).await?;
    }
    let event = Event::new(EventType::StorageIntegrationCreated, integration.storage_integration_id.clone())
        .after(told(&integration));
    events::commit(&cx.app, tx, &cx, event).await?;
    Ok(Created(integration.into()))
}

pub async fn update(
    cx: Call,
    Json(mut input): Json<StorageIntegrationChange>,
) -> Result<Json<StorageIntegrationAnswer>> {
    let secret = secret_for(&cx, &mut input).await?;
    let mut tx = cx.begin().await?;
    environments::lock(&mut tx, &cx.env_id()?).await?;
    let mut integration = found(&mut tx, &cx).await?;
    cx.expected.holds(integration.updated_at)?;
    let before = told(&integration);
    let kind = input.members().over(&cx.app, &integration.kind)?;
    let credentials = input.credentials.map(|given| admission::credentials(&cx.app, &kind, given)).transpose()?;
    let has_some = integration.credentials_at.is_some() || integration.secret.is_some();
    if kinds::moves(&integration.kind, &kind) && has_some && credentials.is_none() && secret.is_none() {
        // who does not know the credentials may not have them sent elsewhere
        let message = "with another `endpoint`, account or database the `credentials` are to be sent anew";
        return Err(Error::invalid("credentials", "present", message));
    }
    if let Some(given) = input.name {
        integration.name = postgres::schema_name(&kind, admission::name(given)?)?;
    }
    let allowed = input.allowed_prefixes.unwrap_or(integration.allowed_prefixes);
    integration.allowed_prefixes = admission::prefixes("allowed_prefixes", &kind, allowed)?;
    let blocked = input.blocked_prefixes.unwrap_or(integration.blocked_prefixes);
    integration.blocked_prefixes = admission::prefixes("blocked_prefixes", &kind, blocked)?;
    integration.kind = kind;
    integration.enabled = input.enabled.unwrap_or(integration.enabled);
    integration.updated_at = cx.now();
    store::update(&mut tx, &integration).await?;
    if let Some(credentials) = credentials {
        store::give(&cx.app, &mut tx, &mut integration, &credentials).await?;
    }
    if let Some(secret) = secret {
        secret::give(&cx.app, &mut tx, &mut integration, secret).await?;
    }
    if integration.enabled && !admission::is_within(&cx.app, &integration) {
        let message = "this installation does not let the integration reach what it names: leave it disabled, or \
                       change that";
        return Err(Error::invalid("enabled", "false", message));
    }
    let event = Event::new(EventType::StorageIntegrationUpdated, integration.storage_integration_id.clone())
        .before(before)
        .after(told(&integration));
    events::commit(&cx.app, tx, &cx, event).await?;
    Ok(Json(integration.into()))
}

/// The Secret that a change names, read before a transaction waits for it.
async fn secret_for(cx: &Call, input: &mut StorageIntegrationChange) -> Result<Option<secret::NamedSecret>> {
    if !matches!(input.credentials, Some(CredentialsInput::KubernetesSecret { .. })) {
        return Ok(None);
    }
    let kept = {
        let mut conn = cx.app.pool().acquire().await?;
        found(&mut conn, cx).await?.kind
    };
    let kind = input.members().over(&cx.app, &kept)?;
    secret::named(cx, &kind, &mut input.credentials).await
}

pub async fn delete(cx: Call) -> Result<Json<StorageIntegrationDeletion>> {
    let mut tx = cx.begin().await?;
    environments::lock(&mut tx, &cx.env_id()?).await?;
    let integration = found(&mut tx, &cx).await?;
    cx.expected.holds(integration.updated_at)?;
    store::delete(&mut tx, &integration.storage_integration_id).await?;
    let event = Event::new(EventType::StorageIntegrationDeleted, integration.storage_integration_id.clone())
        .before(told(&integration));
    events::commit(&cx.app, tx, &cx, event).await?;
    let storage_integration_id = integration.storage_integration_id;
    let id = storage_integration_id.clone();
    Ok(Json(StorageIntegrationDeletion { storage_integration_id, id, deleted: true, deleted_at: cx.now() }))
}

async fn found(conn: &mut PgConnection, cx: &Call) -> Result<KeptIntegration> {
    let integration = store::find(conn, &cx.env_id()?, &cx.id("storage_integration_id")?).await?;
    integration.ok_or(Error::NotFound { kind: "storage integration" })
}

/// The integration in an event, without what is secret of it.
pub fn told(integration: &KeptIntegration) -> Value {
    json!({
        "name": integration.name,
        "reaches": integration.kind,
        "allowed_prefixes": integration.allowed_prefixes,
        "blocked_prefixes": integration.blocked_prefixes,
        "enabled": integration.enabled,
        "credentials": {
            "type": integration.credential_type, "since": integration.credentials_at, "secret": integration.secret,
        },
    })
}
