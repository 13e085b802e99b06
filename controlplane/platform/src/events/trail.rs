//! The trail as it is read: events, newest first.

use contract::{EnvId, EventId, OrgId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;

use crate::Result;
use crate::http::page::PageRequest;

/// An IAM audit event as it is answered.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "IamEvent")]
pub struct Recorded {
    pub event_id: EventId,
    pub id: EventId,
    pub event_type: String,
    pub actor_id: String,
    pub actor_email: Option<String>,
    pub actor_role: Option<String>,
    pub source_ip: Option<String>,
    pub resource_type: String,
    pub resource_id: String,
    #[schemars(with = "Option<EnvId>")]
    pub environment_id: Option<String>,
    pub changes: Value,
    pub hash: String,
    pub previous_hash: String,
    pub timestamp: Timestamp,
}

/// A query for events: all columns, then this.
macro_rules! recorded {
    ($tail:literal, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            Recorded,
            r#"select event_id, event_id as id, event_type, actor_id, actor_email, actor_role, source_ip, resource_type,
                 resource_id, env_id as environment_id, changes, hash, previous_hash, "timestamp"
               from iam_events "# + $tail,
            $($argument),+
        )
    };
}

/// The last sequence of the chain.
pub async fn end(conn: &mut PgConnection, org_id: &OrgId) -> Result<i64> {
    let end = sqlx::query_scalar!("select sequence from iam_chain_heads where org_id = $1", org_id.as_str());
    Ok(end.fetch_optional(conn).await?.unwrap_or(0))
}

/// What follows in the chain, in its order. It has no gaps: the first has the next sequence.
pub async fn since(conn: &mut PgConnection, org_id: &OrgId, after: i64, most: i64) -> Result<Vec<Recorded>> {
    let rows =
        recorded!("where org_id = $1 and sequence > $2 order by sequence limit $3", org_id.as_str(), after, most);
    Ok(rows.fetch_all(conn).await?)
}

/// A page of the organization's chain, and how long the chain is.
pub async fn page(conn: &mut PgConnection, org_id: &OrgId, page: &PageRequest) -> Result<(Vec<Recorded>, i64)> {
    let rows = recorded!(
        r#"where org_id = $1 and ($2::timestamptz is null or ("timestamp", event_id) < ($2, $3))
           order by "timestamp" desc, event_id desc
           limit $4"#,
        org_id.as_str(),
        page.after_time(),
        page.after_id(),
        page.fetch(),
    );
    let rows = rows.fetch_all(&mut *conn).await?;
    let total =
        sqlx::query_scalar!(r#"select count(*) as "total!" from iam_events where org_id = $1"#, org_id.as_str());
    Ok((rows, total.fetch_one(conn).await?))
}

/// Events of a range, the oldest first, from behind a time and id on.
pub async fn range(
    conn: &mut PgConnection,
    org_id: &OrgId,
    (start, end): (Timestamp, Timestamp),
    after: Option<(Timestamp, &str)>,
    count: i64,
) -> Result<Vec<Recorded>> {
    let (after, id) = after.unzip();
    let rows = recorded!(
        r#"where org_id = $1 and "timestamp" >= $2 and "timestamp" <= $3
             and ($4::timestamptz is null or ("timestamp", event_id) > ($4, $5))
           order by "timestamp", event_id
           limit $6"#,
        org_id.as_str(),
        start,
        end,
        after,
        id,
        count,
    );
    Ok(rows.fetch_all(conn).await?)
}
