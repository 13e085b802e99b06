//! Requests and answers of federation providers.

use contract::{OrgId, Timestamp};
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::http::json::{Created, Json};
use platform::http::page::{PageRequest, Paged};
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;

use super::FederationConfig;
use super::store::{self, Provider};
use crate::domain::accounts::sessions::ending;
use crate::domain::tenancy::organizations;

const PROVIDERS_MAX: i64 = 50;
const ABSENT: Error = Error::NotFound { kind: "federation provider" };

#[derive(Debug, Serialize, JsonSchema)]
pub struct FederationProvider {
    id: String,
    provider_id: String,
    org_id: OrgId,
    #[serde(flatten)]
    config: FederationConfig,
    status: String,
    /// What a token has to be made for, where its maker chooses.
    audience: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// What tokens of this provider name: nobody else's token is good here.
pub fn audience(app: &App, org_id: &OrgId, provider_id: &str) -> String {
    let url = app.config().public_url();
    format!("{url}/v1/organizations/{org_id}/federation/providers/{provider_id}")
}

fn view(app: &App, provider: Provider) -> FederationProvider {
    FederationProvider {
        audience: audience(app, &provider.org_id, &provider.provider_id),
        id: provider.provider_id.clone(),
        provider_id: provider.provider_id,
        org_id: provider.org_id,
        config: provider.config,
        status: provider.status,
        created_at: provider.created_at,
        updated_at: provider.updated_at,
    }
}

pub async fn list(call: Call, page: PageRequest) -> Result<Paged<FederationProvider>> {
    let mut conn = call.app.pool().acquire().await?;
    let rows = store::list(&mut conn, call.org_id(), &page).await?;
    let total = store::count(&mut conn, call.org_id()).await?;
    let mark = |provider: &Provider| (provider.created_at, provider.provider_id.clone());
    Ok(page.of(rows, total, mark, |provider| view(&call.app, provider)))
}

pub async fn create(call: Call, Json(config): Json<FederationConfig>) -> Result<Created<FederationProvider>> {
    config.checked()?;
    let mut tx = call.begin().await?;
    organizations::store::lock(&mut tx, call.org_id()).await?;
    if store::count(&mut tx, call.org_id()).await? >= PROVIDERS_MAX {
        return Err(Error::conflict("too_many", "the organization has as many providers as one may"));
    }
    let provider = Provider {
        provider_id: contract::ids::unguessable(call.app.entropy()),
        org_id: call.org_id().clone(),
        config,
        status: "active".to_owned(),
        created_at: call.now(),
        updated_at: call.now(),
    };
    store::insert(&mut tx, &provider).await?;
    let event = Event::new(EventType::FederationProviderCreated, &provider.provider_id).after(told(&provider.config)?);
    events::commit(&call.app, tx, &call, event).await?;
    Ok(Created(view(&call.app, provider)))
}

fn told(config: &FederationConfig) -> Result<Value> {
    serde_json::to_value(config).map_err(Error::internal)
}

/// The provider in the path, if it is this organization's.
async fn own(call: &Call, tx: &mut PgConnection) -> Result<Provider> {
    organizations::store::lock(tx, call.org_id()).await?;
    let provider_id: String = call.id("provider_id")?;
    store::find(tx, &provider_id).await?.filter(|provider| provider.org_id == *call.org_id()).ok_or(ABSENT)
}

/// Whoever came by what it was before comes again, or does not: their sessions end.
pub async fn put(call: Call, Json(config): Json<FederationConfig>) -> Result<Json<FederationProvider>> {
    config.checked()?;
    let mut tx = call.begin().await?;
    let before = own(&call, &mut tx).await?;
    if before.config.kind() != config.kind() {
        return Err(Error::invalid("type", "immutable", "`type` cannot change: make another provider"));
    }
    if before.config != config {
        store::update(&mut tx, &before.provider_id, &config, call.now()).await?;
        ending::end_all_of_provider(&mut tx, &before.provider_id, call.now()).await?;
        let event = Event::new(EventType::FederationProviderUpdated, &before.provider_id);
        let event = event.before(told(&before.config)?).after(told(&config)?);
        events::record(&call.app, &mut tx, &call, event).await?;
    }
    let after = store::find(&mut tx, &before.provider_id).await?.ok_or(ABSENT)?;
    tx.commit().await?;
    Ok(Json(view(&call.app, after)))
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct FederationProviderRemoval {
    id: String,
    provider_id: String,
    deleted: bool,
    deleted_at: Timestamp,
    sessions_terminated: u64,
}

pub async fn remove(call: Call) -> Result<Json<FederationProviderRemoval>> {
    let mut tx = call.begin().await?;
    let provider = own(&call, &mut tx).await?;
    let sessions_terminated = ending::end_all_of_provider(&mut tx, &provider.provider_id, call.now()).await?;
    store::remove(&mut tx, &provider.provider_id).await?;
    let event = Event::new(EventType::FederationProviderDeleted, &provider.provider_id);
    events::commit(&call.app, tx, &call, event.before(told(&provider.config)?)).await?;
    let provider_id = provider.provider_id;
    Ok(Json(FederationProviderRemoval {
        id: provider_id.clone(),
        provider_id,
        deleted: true,
        deleted_at: call.now(),
        sessions_terminated,
    }))
}
