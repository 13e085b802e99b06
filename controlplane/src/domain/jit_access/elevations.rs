//! Roles that approved requests raise: in the snapshot, and in the guard.

use contract::governance::Elevation;
use contract::{EnvId, JitRequestId, Role, Timestamp, UserId};
use platform::{Error, Result};
use sqlx::{PgConnection, PgPool};

/// The elevations of the environment that have not been said to be over. Their ends are data: the
/// clock that rules is the data plane's.
pub async fn governed(conn: &mut PgConnection, env_id: &EnvId) -> Result<Vec<Elevation>> {
    let rows = sqlx::query!(
        r#"select request_id, requester_id, requested_role, decided_at as "effective_at!", expires_at as "expires_at!"
           from jit_requests
           where env_id = $1 and status = 'approved' and expired_at is null
           order by decided_at, request_id"#,
        env_id.as_str(),
    );
    let rows = rows.fetch_all(conn).await?.into_iter().map(|row| {
        Ok(Elevation {
            request_id: JitRequestId::from(row.request_id),
            user_id: UserId::from(row.requester_id),
            role: row.requested_role.parse().map_err(Error::internal)?,
            effective_at: row.effective_at,
            expires_at: row.expires_at,
        })
    });
    rows.collect()
}

/// The highest role that the user holds in the environment now; `own` is the one of the membership.
pub async fn raised(pool: &PgPool, env_id: &EnvId, user_id: &UserId, own: Role, now: Timestamp) -> Result<Role> {
    let held = sqlx::query_scalar!(
        "select requested_role from jit_requests
         where env_id = $1 and requester_id = $2 and status = 'approved' and expired_at is null
           and decided_at <= $3 and expires_at > $3",
        env_id.as_str(),
        user_id.as_str(),
        now,
    );
    held.fetch_all(pool).await?.iter().try_fold(own, |highest, role| {
        let role: Role = role.parse().map_err(Error::internal)?;
        Ok(highest.raised_to(role))
    })
}
