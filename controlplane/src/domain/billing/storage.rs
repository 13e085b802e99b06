//! The storage of an organization: "`storage` (`total_gb`, `limit_gb`)". Each data plane measures its own
//! disk and says so each minute; the organization's is the sum over its environments, which it is told in
//! return: beyond the tier's gigabytes it takes no more.

use contract::{EnvId, OrgId};
use platform::{App, Error, Result, scalar};
use sqlx::PgConnection;

/// A gigabyte, as in the tiers' limits.
const GB: f64 = 1_000_000_000.0;

/// A data plane has measured its disk; what its organization stores now.
pub async fn measured(app: &App, env_id: &EnvId, bytes: u64) -> Result<u64> {
    sqlx::query!(
        "insert into environment_storage (env_id, bytes, measured_at)
         select env_id, $2, $3 from environments where env_id = $1
         on conflict (env_id) do update set bytes = excluded.bytes, measured_at = excluded.measured_at",
        env_id.as_str(),
        i64::try_from(bytes).map_err(Error::internal)?,
        app.now(),
    )
    .execute(app.pool())
    .await?;
    let total = sqlx::query_scalar!(
        r#"select coalesce(sum(s.bytes), 0)::bigint as "bytes!"
           from environment_storage s
           join environments e on e.env_id = s.env_id
           where e.org_id = (select org_id from environments where env_id = $1)"#,
        env_id.as_str(),
    );
    u64::try_from(total.fetch_one(app.pool()).await?).map_err(Error::internal)
}

/// Of all its environments; `None` where none has been measured.
pub async fn total_gb(conn: &mut PgConnection, org_id: &OrgId) -> Result<Option<f64>> {
    scalar!(
        conn,
        "select sum(s.bytes)::float8 / $2
         from environment_storage s
         join environments e on e.env_id = s.env_id
         where e.org_id = $1",
        org_id.as_str(),
        GB,
    )
}
