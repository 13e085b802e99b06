//! How much the keys of an environment are: a snapshot holds them all, each with its texts.

use contract::{EnvId, KeyId, Timestamp};
use platform::{Result, execute, scalar};
use sqlx::PgConnection;

/// What the keys that are not revoked carry, together.
pub async fn carried_bytes(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    scalar!(
        conn,
        r#"select coalesce(sum(octet_length(attributes::text) + octet_length(ip_allowlist::text)), 0)::bigint as "bytes!"
           from api_keys where env_id = $1 and revoked_at is null"#,
        env_id.as_str(),
    )
}

/// The texts of all keys that are not revoked.
pub async fn count_texts(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    scalar!(
        conn,
        r#"select count(*) as "texts!" from api_key_secrets s join api_keys k on k.key_id = s.key_id
           where k.env_id = $1 and k.revoked_at is null"#,
        env_id.as_str(),
    )
}

/// The texts that open a key.
pub async fn count_valid(conn: &mut PgConnection, key_id: &KeyId, now: Timestamp) -> Result<i64> {
    scalar!(
        conn,
        r#"select count(*) as "texts!" from api_key_secrets where key_id = $1 and (not_after is null or not_after > $2)"#,
        key_id.as_str(),
        now,
    )
}

/// Forgets the texts of a key that have ended, but for those among its newest: whoever still sends one of these is
/// told that it has ended, and not that there is none.
pub async fn forget_ended(conn: &mut PgConnection, key_id: &KeyId, newest: i64, now: Timestamp) -> Result<()> {
    execute!(
        conn,
        "delete from api_key_secrets
         where key_id = $1 and not_after <= $2
           and prefix not in (select prefix from api_key_secrets where key_id = $1
                              order by created_at desc, prefix limit $3)",
        key_id.as_str(),
        now,
        newest,
    )
}
