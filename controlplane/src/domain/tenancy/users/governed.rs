//! Users as a data plane must know them, and as policies may ask about them.

use std::collections::{BTreeMap, BTreeSet};

use contract::caller::Attributes;
use contract::governance::Member;
use contract::{OrgId, Role, UserId};
use platform::{Error, Result, scalar};
use sqlx::PgConnection;
use sqlx::types::Json;

/// Every user of the organization.
pub async fn governed(conn: &mut PgConnection, org_id: &OrgId) -> Result<BTreeMap<UserId, Member>> {
    let rows = sqlx::query!(
        r#"select user_id, email, role, status, attributes as "attributes: Json<Attributes>" from users where org_id = $1"#,
        org_id.as_str(),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| Ok((row.user_id.into(), as_stored(row.email, &row.role, row.status, row.attributes.0)?)))
        .collect()
}

/// A user by what the row has.
pub fn as_stored(email: String, role: &str, status: String, attributes: Attributes) -> Result<Member> {
    let role = role.parse::<Role>().map_err(Error::internal)?;
    Ok(Member { email, role, status, attributes })
}

/// One user of the organization.
pub async fn member(conn: &mut PgConnection, org_id: &OrgId, user_id: &UserId) -> Result<Option<Member>> {
    let row = sqlx::query!(
        r#"select email, role, status, attributes as "attributes: Json<Attributes>"
           from users where org_id = $1 and user_id = $2"#,
        org_id.as_str(),
        user_id.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    as_stored(row.email, &row.role, row.status, row.attributes.0).map(Some)
}

/// Those of the ids that are users of the organization.
pub async fn known(conn: &mut PgConnection, org_id: &OrgId, ids: &[String]) -> Result<BTreeSet<String>> {
    let known =
        sqlx::query_scalar!("select user_id from users where org_id = $1 and user_id = any($2)", org_id.as_str(), ids,);
    Ok(known.fetch_all(conn).await?.into_iter().collect())
}

/// The names of the attributes that the organization's users carry now.
pub async fn attribute_names(conn: &mut PgConnection, org_id: &OrgId) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar!(
        r#"select distinct attribute as "name!"
           from users, lateral jsonb_object_keys(attributes) as attribute
           where org_id = $1"#,
        org_id.as_str(),
    )
    .fetch_all(conn)
    .await?)
}

/// What the attributes of the organization's users are together.
pub async fn attribute_bytes(conn: &mut PgConnection, org_id: &OrgId) -> Result<i64> {
    scalar!(
        conn,
        r#"select coalesce(sum(octet_length(attributes::text)), 0)::bigint as "bytes!" from users where org_id = $1"#,
        org_id.as_str(),
    )
}
