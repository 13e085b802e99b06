//! An organization's provider as its owner sees and sets it.

use contract::{OrgId, Redacted, Timestamp};
use platform::events::{self, Event, EventType};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::http::{domain, text};
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::sign_on;
use super::store::{self, SsoConnection};
use crate::domain::accounts::sessions::ending;
use crate::domain::tenancy::organizations;

const DOMAINS_MAX: usize = 20;
const CLIENT_ID_MAX: usize = 255;
const SECRET_MAX: usize = 1_000;

contract::some_roles! {
    /// What somebody becomes whom the provider brings in: never `owner` or `admin`.
    enum DefaultRole { Developer, Analyst, Auditor }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SingleSignOnInput {
    issuer: String,
    client_id: String,
    /// May be left out where there is one and the issuer stays.
    client_secret: Option<String>,
    email_domains: Vec<String>,
    default_role: DefaultRole,
}

/// The secret is never answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SingleSignOn {
    id: OrgId,
    org_id: OrgId,
    issuer: String,
    client_id: String,
    email_domains: Vec<String>,
    default_role: String,
    /// What the provider has to allow.
    redirect_uri: String,
    /// Where the organization's people begin.
    sign_on_url: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

fn view(app: &App, slug: &str, connection: SsoConnection) -> SingleSignOn {
    SingleSignOn {
        id: connection.org_id.clone(),
        org_id: connection.org_id,
        issuer: connection.issuer,
        client_id: connection.client_id,
        email_domains: connection.email_domains,
        default_role: connection.default_role,
        redirect_uri: sign_on::redirect_uri(app),
        sign_on_url: format!("{}/v1/auth/sso/{slug}", app.config().public_url()),
        created_at: connection.created_at,
        updated_at: connection.updated_at,
    }
}

const ABSENT: Error = Error::NotFound { kind: "single sign-on" };

pub async fn get(call: Call) -> Result<Json<SingleSignOn>> {
    let mut conn = call.app.pool().acquire().await?;
    let organization = organizations::store::find(&mut conn, call.org_id()).await?.ok_or(ABSENT)?;
    let connection = store::connection(&mut conn, call.org_id()).await?.ok_or(ABSENT)?;
    Ok(Json(view(&call.app, &organization.slug, connection)))
}

/// The issuer is asked before it is believed: with one that cannot be reached nobody could sign in.
pub async fn put(call: Call, Json(body): Json<SingleSignOnInput>) -> Result<Json<SingleSignOn>> {
    let (app, now) = (&call.app, call.now());
    let client_id = text::checked("client_id", &body.client_id, CLIENT_ID_MAX)?;
    let secret = body.client_secret.map(|secret| text::checked("client_secret", &secret, SECRET_MAX)).transpose()?;
    let email_domains = domains(&body.email_domains)?;
    app.issuers().fetch().admit("issuer", &body.issuer)?;
    let document = app.issuers().document(&body.issuer, now).await;
    let document = document.map_err(|error| Error::invalid("issuer", "OpenID issuer", format!("`issuer`: {error}")))?;
    if document.authorization_endpoint.is_none() || document.token_endpoint.is_none() {
        return Err(Error::invalid("issuer", "OpenID issuer", "`issuer` offers no authorization code flow"));
    }
    let mut tx = call.begin().await?;
    let organization = organizations::store::lock(&mut tx, call.org_id()).await?;
    let before = store::connection(&mut tx, call.org_id()).await?;
    let kept = before.as_ref().filter(|before| before.issuer == body.issuer);
    let sealed = match (secret, kept) {
        (Some(secret), _) => {
            let record = store::record(call.org_id());
            app.keyring().seal(&record, &Redacted::new(secret), app.entropy()).map_err(Error::internal)?
        }
        (None, Some(kept)) => kept.client_secret.clone(),
        (None, None) => return Err(Error::invalid("client_secret", "required", "`client_secret` is required")),
    };
    let connection = SsoConnection {
        org_id: call.org_id().clone(),
        issuer: body.issuer,
        client_id,
        client_secret: sealed,
        email_domains,
        default_role: body.default_role.role().as_str().to_owned(),
        created_at: before.as_ref().map_or(now, |before| before.created_at),
        updated_at: now,
    };
    store::put(&mut tx, &connection).await?;
    let kind = if before.is_some() { EventType::SsoUpdated } else { EventType::SsoConfigured };
    let mut event = Event::new(kind, call.org_id().as_str()).after(told(&connection));
    if let Some(before) = &before {
        event = event.before(told(before));
    }
    events::commit(app, tx, &call, event).await?;
    Ok(Json(view(app, &organization.slug, connection)))
}

/// Never the secret.
fn told(connection: &SsoConnection) -> Value {
    json!({
        "issuer": connection.issuer, "client_id": connection.client_id,
        "email_domains": connection.email_domains, "default_role": connection.default_role,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SingleSignOnRemoval {
    id: OrgId,
    org_id: OrgId,
    deleted: bool,
    deleted_at: Timestamp,
    sessions_terminated: u64,
}

/// Who came this way has to come another: their sessions end.
pub async fn remove(call: Call) -> Result<Json<SingleSignOnRemoval>> {
    let mut tx = call.begin().await?;
    // who turns `enforce_sso` on presumes that there is a connection
    organizations::store::serialise_change(&mut tx, call.org_id()).await?;
    let organization = organizations::store::lock(&mut tx, call.org_id()).await?;
    let before = store::connection(&mut tx, call.org_id()).await?.ok_or(ABSENT)?;
    if organization.enforce_sso {
        return Err(Error::conflict("sso_enforced", "nobody could sign in: turn `settings.enforce_sso` off first"));
    }
    store::remove(&mut tx, call.org_id(), call.now()).await?;
    let sessions_terminated = ending::end_all_by_sso(&mut tx, call.org_id(), call.now()).await?;
    let event = Event::new(EventType::SsoDisabled, call.org_id().as_str()).before(told(&before));
    events::commit(&call.app, tx, &call, event).await?;
    let org_id = call.org_id().clone();
    Ok(Json(SingleSignOnRemoval {
        id: org_id.clone(),
        org_id,
        deleted: true,
        deleted_at: call.now(),
        sessions_terminated,
    }))
}

/// Each in its one form, and once.
fn domains(given: &[String]) -> Result<Vec<String>> {
    let refused = |message: &str| Error::invalid("email_domains", "1..20 domains", message);
    if given.is_empty() || given.len() > DOMAINS_MAX {
        return Err(refused("`email_domains` names 1 to 20 domains"));
    }
    let named = given.iter().map(|given| domain::canonical(given.trim()).ok_or(given));
    let mut domains = named.collect::<Result<Vec<String>, _>>().map_err(|given| {
        refused(&format!("`email_domains` holds `{given}`, which is no domain: write one such as example.com"))
    })?;
    domains.sort();
    domains.dedup();
    Ok(domains)
}
