//! Columns about the resource that stands for a key in a cluster.

use contract::{EnvId, KeyId, Timestamp};
use platform::{Result, execute};
use sqlx::PgConnection;

/// The resource of a key.
#[derive(Debug, Clone)]
pub struct Resource {
    pub key_id: KeyId,
    pub env_id: EnvId,
    pub uid: String,
    pub own: bool,
    pub rotation_id: Option<String>,
    pub delivered_at: Option<Timestamp>,
}

pub async fn resource(conn: &mut PgConnection, resource_uid: &str) -> Result<Option<Resource>> {
    Ok(sqlx::query_as!(
        Resource,
        "select r.key_id, k.env_id, r.resource_uid as uid, r.own, r.rotation_id, r.delivered_at
         from api_key_resources r join api_keys k on k.key_id = r.key_id
         where r.resource_uid = $1",
        resource_uid,
    )
    .fetch_optional(conn)
    .await?)
}

pub async fn resource_of(conn: &mut PgConnection, key_id: &KeyId) -> Result<Option<Resource>> {
    Ok(sqlx::query_as!(
        Resource,
        "select r.key_id, k.env_id, r.resource_uid as uid, r.own, r.rotation_id, r.delivered_at
         from api_key_resources r join api_keys k on k.key_id = r.key_id
         where r.key_id = $1",
        key_id.as_str(),
    )
    .fetch_optional(conn)
    .await?)
}

/// The resource of a key; the one made last, where the control plane had to write it again.
pub async fn bind(conn: &mut PgConnection, resource: &Resource) -> Result<()> {
    execute!(
        conn,
        "insert into api_key_resources (key_id, resource_uid, own, rotation_id, delivered_at)
         values ($1, $2, $3, $4, $5)
         on conflict (key_id) do update set resource_uid = excluded.resource_uid",
        resource.key_id.as_str(),
        resource.uid,
        resource.own,
        resource.rotation_id,
        resource.delivered_at,
    )
}

/// The present text is of this rotation, and is yet to be delivered.
pub async fn begin_rotation(conn: &mut PgConnection, key_id: &KeyId, rotation_id: Option<&str>) -> Result<()> {
    execute!(
        conn,
        "update api_key_resources set rotation_id = $2, delivered_at = null where key_id = $1",
        key_id.as_str(),
        rotation_id,
    )
}

/// Somebody has the present text: it is never given again.
pub async fn mark_delivered(conn: &mut PgConnection, key_id: &KeyId, now: Timestamp) -> Result<()> {
    execute!(
        conn,
        "update api_key_resources set delivered_at = $2 where key_id = $1 and delivered_at is null",
        key_id.as_str(),
        now,
    )
}

/// The environment of a key.
pub async fn environment(conn: &mut PgConnection, key_id: &KeyId) -> Result<Option<EnvId>> {
    let env_id = sqlx::query_scalar!("select env_id from api_keys where key_id = $1", key_id.as_str());
    Ok(env_id.fetch_optional(conn).await?.map(EnvId::from))
}
