//! Requests and answers of organizations.

use contract::caller::Credential;
use contract::{Access, OrgId, Timestamp, UserId};
use platform::events::{self, Event, EventType, Origin};
use platform::http::call::Call;
use platform::http::json::{Created, Json};
use platform::http::routes::Routes;
use platform::http::text::{self, Email, NAME_MAX};
use platform::resources::{NewOrganization, OrganizationChange};
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use crate::domain::accounts::sessions;
use crate::domain::billing;
use crate::domain::billing::credits;
use crate::domain::tenancy::organizations::changes;
use crate::domain::tenancy::organizations::store;
use crate::domain::tenancy::users;

/// `/v1/auth/sso/callback` is a path of its own: nobody of this slug could begin to sign on.
const SLUG_RESERVED: &str = "callback";
const REGION_DEFAULT: &str = "us-east-1";
/// Organizations that one account may own.
const OWNED_MAX: i64 = 100;

pub fn routes() -> Routes {
    Routes::new()
        .post("/v1/organizations", Access::Authenticated, None, create)
        .says("Founds an organization; the caller becomes its owner.")
        .get("/v1/organizations/{org_id}", Access::Member, None, get)
        .says("Reads an organization.")
        .put("/v1/organizations/{org_id}", Access::Admin, None, put)
        .says("Changes what is given of an organization.")
        .versioned()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "OrganizationCreation")]
#[serde(deny_unknown_fields)]
struct CreateBody {
    name: String,
    slug: String,
    billing_email: Email,
    cloud_region: Option<String>,
    #[serde(default)]
    settings: SettingsBody,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "OrganizationSettingsInput")]
#[serde(deny_unknown_fields)]
struct SettingsBody {
    mfa_required: Option<bool>,
    enforce_sso: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Organization")]
pub struct OrganizationAnswer {
    id: OrgId,
    org_id: OrgId,
    name: String,
    slug: String,
    billing_email: String,
    cloud_region: String,
    tier: String,
    status: String,
    settings: OrganizationSettings,
    quotas: Quotas,
    billing_provider_customer_id: Option<String>,
    billing_provider_subscription_id: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OrganizationSettings {
    mfa_required: bool,
    enforce_sso: bool,
    sso_provider: Option<String>,
}

/// `null` is custom or unlimited.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OrganizationQuotas")]
struct Quotas {
    monthly_credit_limit: Option<u64>,
    /// Credits of this month.
    used: f64,
    max_concurrent_queries: Option<u32>,
    storage_limit_gb: Option<u64>,
}

async fn view(call: &Call, conn: &mut PgConnection, row: store::Organization) -> Result<OrganizationAnswer> {
    let limits = row.limits()?;
    let used = billing::used(conn, &row.org_id, credits::period_of(call.now())).await?;
    Ok(OrganizationAnswer {
        id: row.org_id.clone(),
        org_id: row.org_id,
        name: row.name,
        slug: row.slug,
        billing_email: row.billing_email,
        cloud_region: row.cloud_region,
        tier: row.tier,
        status: row.status,
        settings: OrganizationSettings {
            mfa_required: row.mfa_required,
            enforce_sso: row.enforce_sso,
            sso_provider: row.sso_provider,
        },
        quotas: Quotas {
            monthly_credit_limit: limits.monthly_credit_limit,
            used: billing::credit(used),
            max_concurrent_queries: limits.max_concurrent_queries,
            storage_limit_gb: limits.storage_limit_gb,
        },
        billing_provider_customer_id: row.billing_provider_customer_id,
        billing_provider_subscription_id: row.billing_provider_subscription_id,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}

async fn create(call: Call, Json(body): Json<CreateBody>) -> Result<Created<OrganizationAnswer>> {
    let wish = OrganizationDraft {
        name: &body.name,
        slug: &body.slug,
        billing_email: &body.billing_email,
        cloud_region: body.cloud_region.as_deref(),
        mfa_required: body.settings.mfa_required.unwrap_or(false),
        enforce_sso: body.settings.enforce_sso.unwrap_or(false),
    };
    if wish.enforce_sso {
        return Err(no_provider());
    }
    let mut tx = call.begin().await?;
    let row = own(&call, &mut tx, &wish).await?;
    let view = view(&call, &mut tx, row).await?;
    tx.commit().await?;
    Ok(Created(view))
}

/// Password login would be closed, with no other way in.
fn no_provider() -> Error {
    let message = "nobody could sign in: name an identity provider before you turn `settings.enforce_sso` on";
    Error::conflict("no_sso_provider", message)
}

/// The draft of a new organization, as somebody typed it.
#[derive(Debug)]
pub struct OrganizationDraft<'a> {
    pub name: &'a str,
    pub slug: &'a str,
    pub billing_email: &'a Email,
    pub cloud_region: Option<&'a str>,
    pub mfa_required: bool,
    pub enforce_sso: bool,
}

/// "Caller becomes owner; tier `free`."
pub async fn own(call: &Call, tx: &mut PgConnection, wish: &OrganizationDraft<'_>) -> Result<store::Organization> {
    let (Credential::Session { session_id }, Some(user_id)) = (&call.caller.credential, &call.caller.user_id) else {
        return Err(Error::Forbidden("a key cannot found an organization: sign in"));
    };
    // A provider vouches for one organization; what is founded would be its account's.
    if sessions::holder(tx, session_id).await?.is_none() {
        return Err(Error::Forbidden("single sign-on founds no organization: sign in with your own account"));
    }
    let new = NewOrganization {
        slug: &slug(call, wish.slug)?,
        name: &text::checked("name", wish.name, NAME_MAX)?,
        billing_email: wish.billing_email.as_str(),
        cloud_region: &region(wish.cloud_region)?,
        mfa_required: wish.mfa_required,
        enforce_sso: wish.enforce_sso,
    };
    if store::owned(tx, user_id).await? >= OWNED_MAX {
        return Err(Error::Forbidden("this account owns as many organizations as one may"));
    }
    let row = make(&call.app, tx, &new).await?;
    let owner = users::store::owner_like(tx, &call.app, user_id, &row.org_id).await?;
    let origin = Origin { org_id: row.org_id.clone(), actor_id: owner.into(), ..Origin::from(call) };
    events::record(&call.app, tx, origin, created(&row)).await?;
    Ok(row)
}

fn slug(call: &Call, given: &str) -> Result<String> {
    let slug = call.app.slugs().checked(given)?;
    if slug == SLUG_RESERVED {
        return Err(Error::invalid("slug", "reserved", format!("`slug` cannot be `{SLUG_RESERVED}`")));
    }
    Ok(slug)
}

/// Another name, given by the organization that it stands under.
pub async fn rename(call: &Call, tx: &mut PgConnection, org_id: &OrgId, name: String) -> Result<()> {
    let before = serialised(tx, org_id).await?;
    let change = OrganizationChange { name: Some(name), ..OrganizationChange::default() };
    let row = follow(call, tx, &before, changes::beyond(&before, change)).await?;
    let origin = || Origin { org_id: org_id.clone(), env_id: None, ..Origin::from(call) };
    changes::announce(&call.app, tx, &origin, &before, &row).await
}

/// The row of a new organization; where there are resources, the resource before it.
async fn make(app: &App, tx: &mut PgConnection, new: &NewOrganization<'_>) -> Result<store::Organization> {
    let Some(resources) = app.resources() else {
        let org_id = OrgId::fresh(app.now(), app.entropy());
        return store::insert(tx, &org_id, new, app.now()).await;
    };
    store::serialise(tx, new.slug).await?;
    if store::by_slug(tx, new.slug).await?.is_some() {
        return Err(Error::conflict("slug_taken", format!("the slug `{}` is taken", new.slug)));
    }
    let said = resources.create_organization(new).await?;
    store::insert_resource(tx, &said, app.now()).await
}

pub(crate) fn created(row: &store::Organization) -> Event {
    let after = json!({"name": row.name, "slug": row.slug, "tier": row.tier, "cloud_region": row.cloud_region});
    Event::new(EventType::OrgCreated, row.org_id.as_str()).after(after)
}

async fn get(call: Call) -> Result<Json<OrganizationAnswer>> {
    let mut conn = call.app.pool().acquire().await?;
    let row = store::find(&mut conn, call.org_id()).await?.ok_or(Error::NotFound { kind: "organization" })?;
    Ok(Json(view(&call, &mut conn, row).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "OrganizationChange")]
#[serde(deny_unknown_fields)]
struct OrganizationUpdate {
    name: Option<String>,
    billing_email: Option<Email>,
    settings: Option<SettingsBody>,
    slug: Option<String>,
    cloud_region: Option<String>,
}

async fn put(call: Call, Json(body): Json<OrganizationUpdate>) -> Result<Json<OrganizationAnswer>> {
    let mut tx = call.begin().await?;
    let before = serialised(&mut tx, call.org_id()).await?;
    call.expected.holds(before.updated_at)?;
    unchanged("slug", body.slug.as_deref(), &before.slug)?;
    unchanged("cloud_region", body.cloud_region.as_deref(), &before.cloud_region)?;
    let settings = body.settings.unwrap_or_default();
    let change = OrganizationChange {
        name: body.name.as_deref().map(|name| text::checked("name", name, NAME_MAX)).transpose()?,
        billing_email: body.billing_email.map(String::from),
        mfa_required: settings.mfa_required,
        enforce_sso: settings.enforce_sso,
    };
    let change = changes::beyond(&before, change);
    if change.enforce_sso == Some(true) && before.sso_provider.is_none() {
        return Err(no_provider());
    }
    let row = follow(&call, &mut tx, &before, change).await?;
    changes::announce(&call.app, &mut tx, &|| Origin::from(&call), &before, &row).await?;
    let view = view(&call, &mut tx, row).await?;
    tx.commit().await?;
    Ok(Json(view))
}

/// As it is when no other change of the resource is under way; the row is not locked yet.
async fn serialised(tx: &mut PgConnection, org_id: &OrgId) -> Result<store::Organization> {
    store::serialise_change(tx, org_id).await?;
    store::find(tx, org_id).await?.ok_or(Error::NotFound { kind: "organization" })
}

/// Makes the change; where there is a resource, there first.
async fn follow(
    call: &Call,
    tx: &mut PgConnection,
    before: &store::Organization,
    change: OrganizationChange,
) -> Result<store::Organization> {
    let Some((resources, place)) = call.app.resources().zip(before.place()) else {
        return store::update(tx, &changes::applied(before, change), call.now()).await;
    };
    if change == OrganizationChange::default() {
        return Ok(before.clone());
    }
    let said = resources.change_organization(&place, &change).await?;
    before.ensure_same(&said)?;
    store::lock(tx, &before.org_id).await?;
    Ok(store::project(tx, &said, call.now()).await?.unwrap_or_else(|| before.clone()))
}

/// `slug` and `cloud_region` may be sent back, but not changed.
fn unchanged(field: &'static str, given: Option<&str>, is: &str) -> Result<()> {
    if given.is_some_and(|given| given != is) {
        return Err(Error::invalid(field, "immutable", format!("`{field}` cannot change after creation")));
    }
    Ok(())
}

fn region(given: Option<&str>) -> Result<String> {
    let text = given.unwrap_or(REGION_DEFAULT);
    let fits = (1..=32).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    fits.then(|| text.to_owned()).ok_or_else(|| {
        Error::invalid("cloud_region", "[a-z0-9-]{1,32}", "`cloud_region` is a region's name, such as us-east-1")
    })
}

/// A new organization for somebody who signs up: a slug made of its name, and one that is free.
pub async fn found(
    app: &App,
    tx: &mut PgConnection,
    org_name: &str,
    owner_email: &Email,
) -> Result<store::Organization> {
    let name = text::checked("org_name", org_name, NAME_MAX)?;
    let mut wanted = app.slugs().of_name(&name);
    if wanted == SLUG_RESERVED || store::by_slug(tx, &wanted).await?.is_some() {
        wanted = format!("{wanted}-{}", hex::encode(app.entropy().bytes::<4>()));
    }
    let new = NewOrganization {
        slug: &wanted,
        name: &name,
        billing_email: owner_email.as_str(),
        cloud_region: REGION_DEFAULT,
        mfa_required: false,
        enforce_sso: false,
    };
    make(app, tx, &new).await
}

/// Records the genesis of an organization's chain for an owner who was not a caller before.
pub async fn record_founding(
    app: &App,
    tx: &mut PgConnection,
    row: &store::Organization,
    owner: &UserId,
    origin: Origin,
) -> Result<()> {
    let origin = Origin { org_id: row.org_id.clone(), actor_id: owner.to_string(), ..origin };
    events::record(app, tx, origin, created(row)).await
}
