//! The database's clock: the only one that leases, deadlines and sweeps know.

use contract::Timestamp;
use platform::{Result, scalar};
use sqlx::PgConnection;

pub async fn now(conn: &mut PgConnection) -> Result<Timestamp> {
    scalar!(conn, r#"select svc_runtime.clock() as "now!""#)
}
