//! Keys as they are proven: found by what is presented, or told to the data planes.

use std::collections::HashMap;

use contract::caller::{Attributes, Limits, Scopes};
use contract::governance::{Key, KeySecret, Member, Organization};
use contract::network::range;
use contract::{EnvId, KeyId, OrgId, Timestamp, UserId};
use platform::http::call::EnvironmentPlace;
use platform::{Error, Result, execute};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::domain::tenancy::{organizations, users};

/// A use, if it is the latest one known.
pub async fn used(conn: &mut PgConnection, key_id: &KeyId, at: Timestamp) -> Result<()> {
    execute!(
        conn,
        "insert into api_key_uses (key_id, last_used_at) values ($1, $2)
         on conflict (key_id) do update set last_used_at = greatest(api_key_uses.last_used_at, excluded.last_used_at)",
        key_id.as_str(),
        at,
    )
}

/// A key that a prefix found, never a revoked one: with its secret, its organization and its user.
#[derive(Debug)]
pub struct ProvenKey {
    pub env_id: EnvId,
    pub place: EnvironmentPlace,
    pub organization: Organization,
    /// The user that it acts for, if that user is still there.
    pub member: Option<Member>,
    pub key: Key,
    pub secret: KeySecret,
}

/// The key of a prefix, in one statement: each request with a key asks for it.
pub async fn by_prefix(conn: &mut PgConnection, prefix: &str) -> Result<Option<ProvenKey>> {
    let row = sqlx::query!(
        r#"select e.org_id, k.env_id, k.key_id, k.name, k.scopes, k.ip_allowlist, k.user_id,
                  k.attributes as "attributes: Json<Attributes>", k.agent_id, k.agent_framework, k.expires_at,
                  s.hash, s.not_after, e.status as env_status, e.internal_address, o.status as org_status, o.tier,
                  o.quotas as "quotas: Json<Limits>", u.email as "email?", u.role as "role?", u.status as "status?",
                  u.attributes as "member_attributes?: Json<Attributes>"
           from api_key_secrets s
           join api_keys k on k.key_id = s.key_id
           join environments e on e.env_id = k.env_id
           join organizations o on o.org_id = e.org_id
           left join users u on u.org_id = e.org_id and u.user_id = k.user_id
           where s.prefix = $1 and k.revoked_at is null"#,
        prefix,
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let secret = KeySecret { prefix: prefix.to_owned(), hash: row.hash, not_after: row.not_after };
    let key = Key {
        key_id: row.key_id.into(),
        name: row.name,
        secrets: vec![secret.clone()],
        scopes: scopes(row.scopes)?,
        ip_allowlist: networks(&row.ip_allowlist)?,
        expires_at: row.expires_at,
        user_id: row.user_id.map(UserId::from),
        attributes: row.attributes.0,
        agent_id: row.agent_id,
        agent_framework: row.agent_framework,
    };
    let organization = organizations::as_stored(row.org_id.into(), row.org_status, &row.tier, row.quotas.0)?;
    let member = match (row.email, row.role, row.status, row.member_attributes) {
        (Some(email), Some(role), Some(status), Some(attributes)) => {
            Some(users::as_stored(email, &role, status, attributes.0)?)
        }
        _ => None,
    };
    let place = EnvironmentPlace { status: row.env_status, internal_address: row.internal_address };
    Ok(Some(ProvenKey { env_id: row.env_id.into(), place, organization, member, key, secret }))
}

/// The keys that are not revoked, as a data plane must know them. Expired ones too: their time is
/// data, and the clock that rules is the data plane's.
pub async fn governed(conn: &mut PgConnection, env_id: &EnvId) -> Result<Vec<Key>> {
    let mut secrets: HashMap<String, Vec<KeySecret>> = HashMap::new();
    let rows = sqlx::query!(
        "select s.key_id, s.prefix, s.hash, s.not_after
         from api_key_secrets s join api_keys k on k.key_id = s.key_id
         where k.env_id = $1 and k.revoked_at is null
         order by s.created_at desc, s.prefix",
        env_id.as_str(),
    );
    for row in rows.fetch_all(&mut *conn).await? {
        let secret = KeySecret { prefix: row.prefix, hash: row.hash, not_after: row.not_after };
        secrets.entry(row.key_id).or_default().push(secret);
    }
    let rows = sqlx::query!(
        r#"select key_id, name, scopes, ip_allowlist, user_id, attributes as "attributes: Json<Attributes>", agent_id,
                  agent_framework, expires_at
           from api_keys where env_id = $1 and revoked_at is null order by created_at, key_id"#,
        env_id.as_str(),
    );
    let mut keys = Vec::new();
    for row in rows.fetch_all(conn).await? {
        keys.push(Key {
            secrets: secrets.remove(&row.key_id).unwrap_or_default(),
            key_id: row.key_id.into(),
            name: row.name,
            scopes: scopes(row.scopes)?,
            ip_allowlist: networks(&row.ip_allowlist)?,
            expires_at: row.expires_at,
            user_id: row.user_id.map(UserId::from),
            attributes: row.attributes.0,
            agent_id: row.agent_id,
            agent_framework: row.agent_framework,
        });
    }
    Ok(keys)
}

/// The names of the attributes that the organization's keys carry now.
pub async fn attribute_names(conn: &mut PgConnection, org_id: &OrgId) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        r#"select distinct attribute as "name!"
           from api_keys k
           join environments e on e.env_id = k.env_id,
           lateral jsonb_object_keys(k.attributes) as attribute
           where e.org_id = $1 and k.revoked_at is null"#,
        org_id.as_str(),
    )
    .fetch_all(conn)
    .await?)
}

fn scopes(texts: Vec<String>) -> Result<Scopes> {
    Scopes::try_from(texts).map_err(Error::internal)
}

/// An allow-list that cannot be read allows nobody: the load fails.
fn networks(texts: &[String]) -> Result<Vec<ipnet::IpNet>> {
    let read = |text: &String| range(text).ok_or_else(|| Error::internal("a stored allow-list cannot be read"));
    texts.iter().map(read).collect()
}
