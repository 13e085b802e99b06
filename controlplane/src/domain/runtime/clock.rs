//! The database's clock: the only one that leases, deadlines and sweeps know.

use contract::Timestamp;
use platform::Result;
use sqlx::PgConnection;

pub async fn now(conn: &mut PgConnection) -> Result<Timestamp> {
    Ok(sqlx::query_scalar!(r#"select svc_runtime.clock() as "now!""#).fetch_one(conn).await?)
}
