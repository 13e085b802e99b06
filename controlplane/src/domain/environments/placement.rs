//! Where an environment's data plane is. Local mode and the cluster place data planes in their own
//! ways; the control plane only asks (`provisioner`) and remembers ([`place`]).

use contract::{EnvId, Timestamp};
use platform::http::call::EnvironmentPlace;
use platform::jobs::kind::BackgroundJob;
use platform::jobs::queue;
use platform::provisioner::{Placement, Provision};
use platform::{App, Error, Result, execute, scalar};
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};

/// The job that places the data plane of an environment.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProvisionEnvironment {
    pub env_id: EnvId,
}

impl BackgroundJob for ProvisionEnvironment {
    const KIND: &'static str = "provision_environment";

    async fn run(&self, app: &App) -> Result<()> {
        provision(app, &self.env_id).await
    }
}

/// The job that ends the data plane of an environment that is suspended or removed.
#[derive(Debug, Serialize, Deserialize)]
pub struct RetireEnvironment {
    pub env_id: EnvId,
}

impl BackgroundJob for RetireEnvironment {
    const KIND: &'static str = "retire_environment";

    /// Ends the data plane of an environment that is suspended or removed; of one that was resumed meanwhile, has it
    /// placed again. May be repeated.
    async fn run(&self, app: &App) -> Result<()> {
        let mut conn = app.pool().acquire().await?;
        if is_on(&mut conn, &self.env_id).await? {
            return Ok(());
        }
        app.provisioner().retire(&self.env_id).await;
        if is_on(&mut conn, &self.env_id).await? {
            queue::enqueue(app, &mut conn, &ProvisionEnvironment { env_id: self.env_id.clone() }, app.now()).await?;
        }
        Ok(())
    }
}

/// Places the data plane of an environment and makes it `active`. May be repeated.
pub async fn provision(app: &App, env_id: &EnvId) -> Result<()> {
    let wanted = sqlx::query_as!(
        Provision,
        "select env_id, org_id, slug from environments where env_id = $1 and status in ('provisioning', 'active')",
        env_id.as_str(),
    )
    .fetch_optional(app.pool())
    .await?;
    let Some(wanted) = wanted else {
        return Ok(());
    };
    let placement = app.provisioner().provision(&wanted).await.map_err(Error::internal)?;
    place(app.pool(), env_id, &placement, app.now()).await
}

/// Does it have a data plane, or wait for one?
async fn is_on(conn: &mut PgConnection, env_id: &EnvId) -> Result<bool> {
    scalar!(
        conn,
        r#"select exists (
             select from environments where env_id = $1 and status in ('provisioning', 'active')
           ) as "is_on!""#,
        env_id.as_str(),
    )
}

/// Places the data planes of all environments that have one or wait for one: where they live with
/// the control plane, they went when it went. What cannot be placed now is tried again as a job.
pub async fn provision_all(app: &App) -> Result<()> {
    let ids = sqlx::query_scalar!(
        "select env_id from environments where status in ('provisioning', 'active') order by created_at, env_id",
    )
    .fetch_all(app.pool())
    .await?;
    for env_id in ids.into_iter().map(EnvId::from) {
        if let Err(error) = provision(app, &env_id).await {
            tracing::warn!(env.id = %env_id, error = %error, "an environment could not be placed: it is tried again");
            let mut conn = app.pool().acquire().await?;
            queue::enqueue(app, &mut conn, &ProvisionEnvironment { env_id }, app.now()).await?;
        }
    }
    Ok(())
}

/// Remembers where a data plane is. A provisioning environment is active from now on; another
/// status stays: a suspended environment does not wake because its data plane moved.
pub async fn place(pool: &PgPool, env_id: &EnvId, placement: &Placement, now: Timestamp) -> Result<()> {
    let Placement { internal, pg, tools, database: _ } = placement;
    execute!(
        pool,
        "update environments
         set status = case status when 'provisioning' then 'active' else status end,
             internal_address = $2, pg_host = $3, pg_port = $4, tools_host = $5, tools_port = $6, updated_at = $7
         where env_id = $1",
        env_id.as_str(),
        internal,
        pg.0,
        i32::from(pg.1),
        tools.0,
        i32::from(tools.1),
        now,
    )
}

/// Host and port that queries of an environment are forwarded to; the error says why there are none.
pub async fn internal_address(conn: &mut PgConnection, env_id: &EnvId) -> Result<String> {
    let row = sqlx::query!("select internal_address, status from environments where env_id = $1", env_id.as_str())
        .fetch_optional(conn)
        .await?;
    address(row.map(|row| EnvironmentPlace { status: row.status, internal_address: row.internal_address }).as_ref())
}

/// The same of one whose row was read.
pub fn address(place: Option<&EnvironmentPlace>) -> Result<String> {
    match place.map(|place| (place.status.as_str(), &place.internal_address)) {
        Some(("suspended", _)) => Err(Error::Unavailable("the environment is suspended; resume it, then ask again")),
        Some((status, Some(address))) if status != "decommissioning" => Ok(address.clone()),
        _ => Err(Error::Unavailable("the environment has no data plane yet")),
    }
}

/// Addresses that callers use: the PostgreSQL wire, and tools.
#[derive(Debug)]
pub struct EnvironmentAddresses {
    pub slug: String,
    pub pg: Option<(String, i32)>,
    pub tools: Option<(String, i32)>,
}

pub async fn addresses(conn: &mut PgConnection, env_id: &EnvId) -> Result<Option<EnvironmentAddresses>> {
    let row = sqlx::query!(
        "select slug, pg_host, pg_port, tools_host, tools_port from environments where env_id = $1",
        env_id.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| EnvironmentAddresses {
        slug: row.slug,
        pg: row.pg_host.zip(row.pg_port),
        tools: row.tools_host.zip(row.tools_port),
    }))
}
