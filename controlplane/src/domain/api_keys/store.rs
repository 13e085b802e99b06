//! SQL of the API keys.

mod proven;
mod resources;
mod texts;

use contract::caller::Attributes;
use contract::key::Minted;
use contract::{EnvId, KeyId, OrgId, Timestamp, UserId};
use platform::http::page::PageRequest;
use platform::{Error, OnConstraint, Result, execute, scalar};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::input::Admitted;
use super::life::KeyText;

pub use proven::{attribute_names, by_prefix, governed, used};
pub use resources::{Resource, begin_rotation, bind, environment, mark_delivered, resource, resource_of};
pub use texts::{carried_bytes, count_texts, count_valid, forget_ended};

/// A row, with its present prefix and last use.
#[derive(Debug, Clone)]
pub struct KeyRow {
    pub key_id: KeyId,
    pub name: String,
    pub prefix: String,
    pub scopes: Vec<String>,
    pub ip_allowlist: Vec<String>,
    pub user_id: Option<String>,
    pub attributes: Json<Attributes>,
    pub agent_id: Option<String>,
    pub agent_framework: Option<String>,
    /// What people call the agent, and what the key is for.
    pub agent_name: Option<String>,
    pub description: Option<String>,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub revoked_by: Option<String>,
    pub last_used_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub created_by: String,
}

impl KeyRow {
    pub fn status(&self, now: Timestamp) -> &'static str {
        match (self.revoked_at, self.expires_at) {
            (Some(_), _) => "revoked",
            (None, Some(end)) if end <= now => "expired",
            (None, _) => "active",
        }
    }
}

/// The keys of an environment, the newest first; all of them, or those alone that are made for an agent.
pub async fn page(
    conn: &mut PgConnection,
    env_id: &EnvId,
    page: &PageRequest,
    of_agents: bool,
) -> Result<(Vec<KeyRow>, i64)> {
    let rows = sqlx::query_as!(
        KeyRow,
        r#"select k.key_id, k.name, s.prefix, k.scopes, k.ip_allowlist, k.user_id,
                  k.attributes as "attributes: Json<Attributes>", k.agent_id, k.agent_framework, k.agent_name,
                  k.description, k.expires_at, k.revoked_at, k.revoked_by, u.last_used_at as "last_used_at?",
                  k.created_at, k.created_by
           from api_keys k
           join api_key_secrets s on s.key_id = k.key_id and s.not_after is null
           left join api_key_uses u on u.key_id = k.key_id
           where k.env_id = $1 and ($2::timestamptz is null or (k.created_at, k.key_id) < ($2, $3))
             and (not $5::boolean or k.agent_id is not null)
           order by k.created_at desc, k.key_id desc
           limit $4"#,
        env_id.as_str(),
        page.after_time(),
        page.after_id(),
        page.fetch(),
        of_agents,
    )
    .fetch_all(&mut *conn)
    .await?;
    let total = sqlx::query_scalar!(
        r#"select count(*) as "total!" from api_keys where env_id = $1 and (not $2::boolean or agent_id is not null)"#,
        env_id.as_str(),
        of_agents,
    );
    Ok((rows, total.fetch_one(conn).await?))
}

pub async fn find(conn: &mut PgConnection, env_id: &EnvId, key_id: &KeyId) -> Result<Option<KeyRow>> {
    Ok(sqlx::query_as!(
        KeyRow,
        r#"select k.key_id, k.name, s.prefix, k.scopes, k.ip_allowlist, k.user_id,
                  k.attributes as "attributes: Json<Attributes>", k.agent_id, k.agent_framework, k.agent_name,
                  k.description, k.expires_at, k.revoked_at, k.revoked_by, u.last_used_at as "last_used_at?",
                  k.created_at, k.created_by
           from api_keys k
           join api_key_secrets s on s.key_id = k.key_id and s.not_after is null
           left join api_key_uses u on u.key_id = k.key_id
           where k.env_id = $1 and k.key_id = $2"#,
        env_id.as_str(),
        key_id.as_str(),
    )
    .fetch_optional(conn)
    .await?)
}

/// The key of a name that is not revoked.
pub async fn find_by_name(conn: &mut PgConnection, env_id: &EnvId, name: &str) -> Result<Option<KeyId>> {
    let key_id = sqlx::query_scalar!(
        "select key_id from api_keys where env_id = $1 and name = $2 and revoked_at is null",
        env_id.as_str(),
        name,
    );
    Ok(key_id.fetch_optional(conn).await?.map(KeyId::from))
}

pub async fn count_usable(conn: &mut PgConnection, env_id: &EnvId, now: Timestamp) -> Result<i64> {
    scalar!(
        conn,
        r#"select count(*) as "held!" from api_keys
           where env_id = $1 and revoked_at is null and (expires_at is null or expires_at > $2)"#,
        env_id.as_str(),
        now,
    )
}

pub async fn insert(
    conn: &mut PgConnection,
    env_id: &EnvId,
    key_id: &KeyId,
    wanted: &Admitted,
    by: &str,
    now: Timestamp,
) -> Result<()> {
    let ip_allowlist: Vec<String> = wanted.ip_allowlist.iter().map(ToString::to_string).collect();
    sqlx::query!(
        "insert into api_keys (key_id, env_id, name, scopes, ip_allowlist, user_id, attributes, agent_id,
                               agent_framework, expires_at, created_by, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        key_id.as_str(),
        env_id.as_str(),
        wanted.name,
        &Vec::<String>::from(wanted.scopes.clone())[..],
        &ip_allowlist[..],
        wanted.user_id.as_ref().map(UserId::as_str),
        Json(&wanted.attributes) as _,
        wanted.agent_id,
        wanted.agent_framework,
        wanted.expires_at,
        by,
        now,
    )
    .execute(conn)
    .await
    .on_constraint("api_keys_env_id_name_key", || {
        Error::conflict("name_taken", format!("the environment has a key named `{}`", wanted.name))
    })?;
    Ok(())
}

pub async fn insert_secret(conn: &mut PgConnection, key_id: &KeyId, given: KeyText<'_>, now: Timestamp) -> Result<()> {
    execute!(
        conn,
        "insert into api_key_secrets (prefix, key_id, hash, created_at, given_to) values ($1, $2, $3, $4, $5)",
        given.minted.prefix,
        key_id.as_str(),
        given.minted.hash,
        now,
        given.to.map(UserId::as_str),
    )
}

/// Lets the present secret end at `ends`, and those whose grace still runs no later than that;
/// all end together. Returns when.
pub async fn retire_secrets(
    conn: &mut PgConnection,
    key_id: &KeyId,
    ends: Timestamp,
    now: Timestamp,
) -> Result<Timestamp> {
    let together = sqlx::query_scalar!(
        r#"update api_key_secrets
           set not_after = least($2, (select min(not_after) from api_key_secrets where key_id = $1 and not_after > $3))
           where key_id = $1 and (not_after is null or not_after > $3)
           returning not_after as "not_after!""#,
        key_id.as_str(),
        ends,
        now,
    )
    .fetch_all(conn)
    .await?;
    together.first().copied().ok_or_else(|| Error::internal("a key has a present secret"))
}

pub async fn revoke(conn: &mut PgConnection, key_id: &KeyId, by: &str, now: Timestamp) -> Result<()> {
    execute!(conn, "update api_keys set revoked_at = $2, revoked_by = $3 where key_id = $1", key_id.as_str(), now, by)
}

/// Revokes the keys that act for the user.
pub async fn revoke_all_of(conn: &mut PgConnection, user_id: &UserId, by: &str, now: Timestamp) -> Result<Vec<KeyId>> {
    let revoked = sqlx::query_scalar!(
        "update api_keys set revoked_at = $2, revoked_by = $3
         where user_id = $1 and revoked_at is null
         returning key_id",
        user_id.as_str(),
        now,
        by,
    )
    .fetch_all(conn)
    .await?;
    Ok(revoked.into_iter().map(KeyId::from).collect())
}

/// The keys that act for the user and have a text that still opens them and was not given to the user alone.
pub async fn known_to_others(conn: &mut PgConnection, user_id: &UserId, now: Timestamp) -> Result<Vec<(EnvId, KeyId)>> {
    let known = sqlx::query!(
        "select k.env_id, k.key_id from api_keys k
         where k.user_id = $1 and k.revoked_at is null
           and exists (select from api_key_secrets s
                       where s.key_id = k.key_id and (s.not_after is null or s.not_after > $2)
                         and s.given_to is distinct from $1)
         order by k.created_at, k.key_id",
        user_id.as_str(),
        now,
    );
    let known = known.fetch_all(conn).await?;
    Ok(known.into_iter().map(|row| (row.env_id.into(), row.key_id.into())).collect())
}

/// The keys of an environment that are not revoked.
pub async fn unrevoked(conn: &mut PgConnection, env_id: &EnvId) -> Result<Vec<KeyId>> {
    let keys = sqlx::query_scalar!(
        "select key_id from api_keys where env_id = $1 and revoked_at is null order by created_at, key_id",
        env_id.as_str(),
    );
    Ok(keys.fetch_all(conn).await?.into_iter().map(KeyId::from).collect())
}

/// What the key may do, from where, for whom and until when.
pub async fn update(conn: &mut PgConnection, key_id: &KeyId, wanted: &Admitted) -> Result<()> {
    let ip_allowlist: Vec<String> = wanted.ip_allowlist.iter().map(ToString::to_string).collect();
    execute!(
        conn,
        "update api_keys set scopes = $2, ip_allowlist = $3, user_id = $4, expires_at = $5 where key_id = $1",
        key_id.as_str(),
        &Vec::<String>::from(wanted.scopes.clone())[..],
        &ip_allowlist[..],
        wanted.user_id.as_ref().map(UserId::as_str),
        wanted.expires_at,
    )
}

/// What people call the agent of a key, and what they say of it.
pub async fn describe(
    conn: &mut PgConnection,
    key_id: &KeyId,
    agent_name: Option<&str>,
    description: Option<&str>,
) -> Result<()> {
    execute!(
        conn,
        "update api_keys set agent_name = $2, description = $3 where key_id = $1",
        key_id.as_str(),
        agent_name,
        description,
    )
}

/// Another present text for one that nobody has.
pub async fn replace_secret(conn: &mut PgConnection, key_id: &KeyId, minted: &Minted, now: Timestamp) -> Result<()> {
    sqlx::query!("delete from api_key_secrets where key_id = $1 and not_after is null", key_id.as_str())
        .execute(&mut *conn)
        .await?;
    insert_secret(conn, key_id, KeyText { minted, to: None }, now).await
}

/// A key that ends soon, or whose old secrets do.
#[derive(Debug)]
pub struct ExpiringKey {
    pub org_id: OrgId,
    pub env_id: EnvId,
    pub name: String,
    pub by_old_text: bool,
    pub by_itself: bool,
}

/// The key, if it stands and ends just then, or has a secret that does.
pub async fn expiring(conn: &mut PgConnection, key_id: &KeyId, ends: Timestamp) -> Result<Option<ExpiringKey>> {
    let found = sqlx::query_as!(
        ExpiringKey,
        r#"select e.org_id, k.env_id, k.name, k.expires_at is not distinct from $2 as "by_itself!",
                  exists (select from api_key_secrets s where s.key_id = k.key_id and s.not_after = $2) as "by_old_text!"
           from api_keys k join environments e on e.env_id = k.env_id
           where k.key_id = $1 and k.revoked_at is null"#,
        key_id.as_str(),
        ends,
    );
    Ok(found.fetch_optional(conn).await?.filter(|found| found.by_old_text || found.by_itself))
}
