//! SQL of the environments.

use contract::governance::{Environment, EnvironmentStatus};
use contract::{EnvId, EnvironmentSettings, OrgId, Timestamp};
use ipnet::IpNet;
use platform::http::call::Call;
use platform::http::page::PageRequest;
use platform::resources::{self, NamespacedName};
use platform::{Error, OnConstraint, Result, changed, execute, scalar};
use sqlx::{PgConnection, PgPool, Postgres, Transaction};

/// A row, as the API tells it.
#[derive(Debug, Clone)]
pub struct EnvironmentRow {
    pub env_id: EnvId,
    pub org_id: OrgId,
    pub name: String,
    pub slug: String,
    pub status: String,
    pub settings: EnvironmentSettings,
    pub pg_host: Option<String>,
    pub pg_port: Option<i32>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Of its resource, if it has one.
    pub namespace: Option<String>,
    pub resource_version: Option<i64>,
}

/// The settings in the columns of a row that was read.
macro_rules! settings {
    ($row:ident) => {
        EnvironmentSettings {
            query_timeout_ms: $row.query_timeout_ms,
            max_concurrent_queries: $row.max_concurrent_queries,
            cache_enabled: $row.cache_enabled,
            heal: $row.heal.parse().map_err(Error::internal)?,
            test_mode: $row.test_mode,
        }
    };
}

/// A row that was read whole.
macro_rules! environment_row {
    ($row:ident) => {
        EnvironmentRow {
            settings: settings!($row),
            env_id: $row.env_id.into(),
            org_id: $row.org_id.into(),
            name: $row.name,
            slug: $row.slug,
            status: $row.status,
            pg_host: $row.pg_host,
            pg_port: $row.pg_port,
            created_at: $row.created_at,
            updated_at: $row.updated_at,
            namespace: $row.namespace,
            resource_version: $row.resource_version,
        }
    };
}

impl EnvironmentRow {
    /// A new environment with the settings' defaults.
    pub fn fresh(env_id: EnvId, org_id: &OrgId, name: &str, slug: &str, now: Timestamp) -> Self {
        Self {
            env_id,
            org_id: org_id.clone(),
            name: name.to_owned(),
            slug: slug.to_owned(),
            status: EnvironmentStatus::Provisioning.to_string(),
            settings: EnvironmentSettings::default(),
            pg_host: None,
            pg_port: None,
            created_at: now,
            updated_at: now,
            namespace: None,
            resource_version: None,
        }
    }

    /// A new environment, as its resource says. Of no version yet: [`project`] writes the rest.
    pub fn of(said: &resources::EnvironmentResource, org_id: &OrgId, now: Timestamp) -> Self {
        Self {
            status: said.status.to_string(),
            settings: said.settings,
            namespace: Some(said.source.namespace.clone()),
            resource_version: Some(0),
            ..Self::fresh(said.env_id.clone(), org_id, &said.name, &said.slug, now)
        }
    }

    /// Refuses a resource of this name that is not this environment's: it was deleted and made anew.
    pub fn ensure_same(&self, said: &resources::EnvironmentResource) -> Result<()> {
        if said.env_id == self.env_id { Ok(()) } else { Err(Error::EnvironmentNotFound) }
    }
}

pub async fn page(conn: &mut PgConnection, org_id: &OrgId, page: &PageRequest) -> Result<(Vec<EnvironmentRow>, i64)> {
    let rows = sqlx::query!(
        "select env_id, org_id, name, slug, status, query_timeout_ms, max_concurrent_queries, cache_enabled, heal,
                test_mode, pg_host, pg_port, created_at, updated_at, namespace, resource_version
         from environments
         where org_id = $1 and ($2::timestamptz is null or (created_at, env_id) < ($2, $3))
         order by created_at desc, env_id desc
         limit $4",
        org_id.as_str(),
        page.after_time(),
        page.after_id(),
        page.fetch(),
    )
    .fetch_all(&mut *conn)
    .await?;
    let rows = rows.into_iter().map(|row| Ok(environment_row!(row))).collect::<Result<_>>()?;
    let total = count(conn, org_id).await?;
    Ok((rows, total))
}

/// Those that count for the tier's limit.
pub async fn count(conn: &mut PgConnection, org_id: &OrgId) -> Result<i64> {
    scalar!(
        conn,
        r#"select count(*) as "total!" from environments where org_id = $1 and status <> 'decommissioning'"#,
        org_id.as_str(),
    )
}

pub async fn find(conn: &mut PgConnection, org_id: &OrgId, env_id: &EnvId) -> Result<Option<EnvironmentRow>> {
    let row = sqlx::query!(
        "select env_id, org_id, name, slug, status, query_timeout_ms, max_concurrent_queries, cache_enabled, heal,
                test_mode, pg_host, pg_port, created_at, updated_at, namespace, resource_version
         from environments
         where org_id = $1 and env_id = $2",
        org_id.as_str(),
        env_id.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    row.map(|row| Ok(environment_row!(row))).transpose()
}

pub async fn find_by_slug(conn: &mut PgConnection, org_id: &OrgId, slug: &str) -> Result<Option<EnvId>> {
    let env_id = sqlx::query_scalar!(
        "select env_id from environments where org_id = $1 and slug = $2 and removed_at is null",
        org_id.as_str(),
        slug,
    );
    Ok(env_id.fetch_optional(conn).await?.map(EnvId::from))
}

/// Has another environment of the organization this name, in whatever case?
pub async fn has_name(conn: &mut PgConnection, org_id: &OrgId, name: &str, but: &EnvId) -> Result<bool> {
    scalar!(
        conn,
        r#"select exists (
             select from environments
             where org_id = $1 and lower(name) = lower($2) and env_id <> $3 and removed_at is null
           ) as "has!""#,
        org_id.as_str(),
        name,
        but.as_str(),
    )
}

/// One creation or new name at a time in an organization, so that the tier's limit holds and names differ.
pub async fn serialise(conn: &mut PgConnection, org_id: &OrgId) -> Result<()> {
    execute!(conn, "select pg_advisory_xact_lock(hashtextextended('environments:' || $1, 0))", org_id.as_str())
}

pub async fn insert(conn: &mut PgConnection, row: &EnvironmentRow) -> Result<()> {
    let EnvironmentSettings { query_timeout_ms, max_concurrent_queries, cache_enabled, heal, test_mode } = row.settings;
    sqlx::query!(
        "insert into environments (env_id, org_id, name, slug, status, query_timeout_ms, max_concurrent_queries,
                                   cache_enabled, heal, test_mode, namespace, resource_version, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)",
        row.env_id.as_str(),
        row.org_id.as_str(),
        row.name,
        row.slug,
        row.status,
        query_timeout_ms,
        max_concurrent_queries,
        cache_enabled,
        heal.as_str(),
        test_mode,
        row.namespace,
        row.resource_version,
        row.created_at,
    )
    .execute(conn)
    .await
    .on_constraint("environments_org_id_slug_key", || slug_taken(&row.slug))?;
    Ok(())
}

pub fn slug_taken(slug: &str) -> Error {
    Error::conflict("slug_taken", format!("the organization has an environment with the slug `{slug}`"))
}

pub async fn set_status(
    conn: &mut PgConnection,
    env_id: &EnvId,
    status: EnvironmentStatus,
    now: Timestamp,
) -> Result<()> {
    execute!(
        conn,
        "update environments set status = $2, updated_at = $3 where env_id = $1 and removed_at is null",
        env_id.as_str(),
        status.as_str(),
        now,
    )
}

pub async fn update(conn: &mut PgConnection, row: &EnvironmentRow) -> Result<()> {
    let EnvironmentSettings { query_timeout_ms, max_concurrent_queries, cache_enabled, heal, test_mode: _ } =
        row.settings;
    execute!(
        conn,
        "update environments
         set name = $2, query_timeout_ms = $3, max_concurrent_queries = $4, cache_enabled = $5, heal = $6, updated_at = $7
         where env_id = $1",
        row.env_id.as_str(),
        row.name,
        query_timeout_ms,
        max_concurrent_queries,
        cache_enabled,
        heal.as_str(),
        row.updated_at,
    )
}

pub async fn insert_resource(
    conn: &mut PgConnection,
    row: &EnvironmentRow,
    said: &resources::EnvironmentResource,
) -> Result<()> {
    insert(conn, row).await?;
    project(conn, said, row.created_at).await.map(|_| ())
}

/// What the resource says now, and where it is placed. Not what it said before the row's version of
/// it: that changes nothing, and is told so.
pub async fn project(conn: &mut PgConnection, said: &resources::EnvironmentResource, now: Timestamp) -> Result<bool> {
    let placed = said.placed.as_ref();
    let EnvironmentSettings { query_timeout_ms, max_concurrent_queries, cache_enabled, heal, test_mode: _ } =
        said.settings;
    let networks: Vec<String> = said.allowed_networks.iter().map(ToString::to_string).collect();
    changed!(
        conn,
        "update environments
         set name = $2, status = $3, query_timeout_ms = $4, max_concurrent_queries = $5, cache_enabled = $6,
             heal = $7, pg_host = $8, pg_port = $9, tools_host = $10, tools_port = $11, internal_address = $12,
             resource_version = $13, updated_at = $14, allowed_networks = $15
         where env_id = $1 and resource_version < $13 and removed_at is null",
        said.env_id.as_str(),
        said.name,
        said.status.as_str(),
        query_timeout_ms,
        max_concurrent_queries,
        cache_enabled,
        heal.as_str(),
        placed.map(|placed| &*placed.pg.0),
        placed.map(|placed| placed.pg.1),
        placed.map(|placed| &*placed.tools.0),
        placed.map(|placed| placed.tools.1),
        placed.map(|placed| &*placed.internal),
        said.source.revision,
        now,
        &networks[..],
    )
}

/// The resource is gone, and the slug is free. Says whether that is news.
pub async fn remove(conn: &mut PgConnection, env_id: &EnvId, now: Timestamp) -> Result<bool> {
    changed!(
        conn,
        "update environments set status = 'decommissioning', removed_at = $2, updated_at = $2
         where env_id = $1 and removed_at is null",
        env_id.as_str(),
        now,
    )
}

/// The environment of a slug whose resource was there before a version.
pub async fn at(conn: &mut PgConnection, org_id: &OrgId, slug: &str, before: i64) -> Result<Option<EnvId>> {
    let env_id = sqlx::query_scalar!(
        "select env_id from environments
         where org_id = $1 and slug = $2 and resource_version < $3 and removed_at is null",
        org_id.as_str(),
        slug,
        before,
    );
    Ok(env_id.fetch_optional(conn).await?.map(EnvId::from))
}

/// Every environment that a resource is believed to stand behind.
pub async fn resources(conn: &mut PgConnection) -> Result<Vec<(EnvId, NamespacedName)>> {
    let rows = sqlx::query!(
        r#"select e.env_id, e.namespace as "namespace!", o.slug as organization, e.slug
           from environments e join organizations o on o.org_id = e.org_id
           where e.namespace is not null and e.removed_at is null"#,
    );
    let rows = rows.fetch_all(conn).await?;
    let place = |organization: &str, slug: &str, namespace| NamespacedName {
        namespace,
        name: format!("{organization}-{slug}"),
    };
    Ok(rows.into_iter().map(|row| (row.env_id.into(), place(&row.organization, &row.slug, row.namespace))).collect())
}

/// Organization, and where the resource is; `None`: no such environment, or none with a resource.
pub async fn place(conn: &mut PgConnection, env_id: &EnvId) -> Result<Option<(OrgId, NamespacedName)>> {
    let row = sqlx::query!(
        r#"select e.org_id, e.namespace as "namespace!", o.slug as organization, e.slug
           from environments e join organizations o on o.org_id = e.org_id
           where e.env_id = $1 and e.namespace is not null and e.removed_at is null"#,
        env_id.as_str(),
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| {
        let place = NamespacedName { namespace: row.namespace, name: format!("{}-{}", row.organization, row.slug) };
        (OrgId::from(row.org_id), place)
    }))
}

/// Is there such an environment in the organization?
pub async fn belongs(pool: &PgPool, env_id: &EnvId, org_id: &OrgId) -> Result<bool> {
    scalar!(
        pool,
        r#"select exists (select from environments where env_id = $1 and org_id = $2) as "exists!""#,
        env_id.as_str(),
        org_id.as_str(),
    )
}

/// Which keys the environment gives: test or live. `None`: no such environment.
pub async fn test_mode(pool: &PgPool, env_id: &EnvId) -> Result<Option<bool>> {
    Ok(sqlx::query_scalar!("select test_mode from environments where env_id = $1", env_id.as_str())
        .fetch_optional(pool)
        .await?)
}

/// One change of the resource at a time. Not the row's lock: who asks the API server meanwhile keeps nobody waiting who
/// revokes a key.
pub async fn serialise_change(conn: &mut PgConnection, env_id: &EnvId) -> Result<()> {
    execute!(conn, "select pg_advisory_xact_lock(hashtextextended('environment:' || $1, 0))", env_id.as_str())
}

/// One change of what the environment governs at a time: limits hold, and versions cannot deadlock.
pub async fn lock(conn: &mut PgConnection, env_id: &EnvId) -> Result<()> {
    sqlx::query!("select from environments where env_id = $1 for no key update", env_id.as_str())
        .fetch_optional(conn)
        .await?;
    Ok(())
}

/// Begins a change of what the environment governs.
pub async fn begin(cx: &Call, env_id: &EnvId) -> Result<Transaction<'static, Postgres>> {
    let mut tx = cx.begin().await?;
    lock(&mut tx, env_id).await?;
    Ok(tx)
}

/// The environment as a data plane must know it, with the version and the organization.
pub async fn governed(conn: &mut PgConnection, env_id: &EnvId) -> Result<Option<(u64, OrgId, Environment)>> {
    let row = sqlx::query!(
        "select governance_version, org_id, slug, status, query_timeout_ms, max_concurrent_queries, cache_enabled, heal,
                test_mode, allowed_networks
         from environments where env_id = $1",
        env_id.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let networks = row.allowed_networks.iter().map(|net| net.parse::<IpNet>());
    let environment = Environment {
        env_id: env_id.clone(),
        slug: row.slug,
        status: row.status.parse::<EnvironmentStatus>().map_err(Error::internal)?,
        settings: settings!(row),
        allowed_networks: networks.collect::<std::result::Result<_, _>>().map_err(Error::internal)?,
    };
    let version = u64::try_from(row.governance_version).map_err(Error::internal)?;
    Ok(Some((version, OrgId::from(row.org_id), environment)))
}

/// The governance versions of all environments of an organization.
pub async fn versions_in(pool: &PgPool, org_id: &OrgId) -> Result<Vec<(EnvId, u64)>> {
    let rows = sqlx::query!("select env_id, governance_version from environments where org_id = $1", org_id.as_str())
        .fetch_all(pool)
        .await?;
    Ok(rows
        .into_iter()
        .map(|row| (EnvId::from(row.env_id), u64::try_from(row.governance_version).unwrap_or(0)))
        .collect())
}

/// The versions that the database has of these environments.
pub async fn versions(pool: &PgPool, ids: &[EnvId]) -> Result<Vec<(EnvId, u64)>> {
    let ids: Vec<String> = ids.iter().cloned().map(String::from).collect();
    let rows = sqlx::query!("select env_id, governance_version from environments where env_id = any($1)", &ids[..])
        .fetch_all(pool)
        .await?;
    Ok(rows
        .into_iter()
        .map(|row| (EnvId::from(row.env_id), u64::try_from(row.governance_version).unwrap_or(0)))
        .collect())
}
