//! Notifications of PostgreSQL (`LISTEN`), by which workers learn that something waits for them.

use sqlx::PgPool;
use sqlx::postgres::PgListener;

/// Listens on a channel; `None` where there is no connection for it.
pub async fn listen(pool: &PgPool, channel: &str) -> Option<PgListener> {
    let mut listener = PgListener::connect_with(pool).await.ok()?;
    listener.listen(channel).await.ok()?;
    Some(listener)
}

/// Waits for the next notification, for ever if nobody listens.
pub async fn hear(listener: Option<&mut PgListener>) -> Result<(), sqlx::Error> {
    match listener {
        Some(listener) => listener.recv().await.map(|_| ()),
        None => std::future::pending().await,
    }
}
