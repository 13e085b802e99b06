//! SQL of the standard policies.

use contract::policy::{Policy, Rules};
use contract::{EnvId, OrgId, PolicyId, Timestamp};
use platform::http::page::PageRequest;
use platform::{Error, OnConstraint, Result, execute, page_rows, scalar};
use serde_json::{Value, json};
use sqlx::PgConnection;

struct PolicyRow {
    policy_id: String,
    name: String,
    r#type: String,
    enabled: bool,
    rules: Value,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl TryFrom<PolicyRow> for Policy {
    type Error = Error;

    /// Rules that cannot be read are no rules that can be left out: the read fails.
    fn try_from(row: PolicyRow) -> Result<Self> {
        let rules = match row.r#type.as_str() {
            "column_masking" => serde_json::from_value(row.rules).map(Rules::ColumnMasking),
            _ => serde_json::from_value(row.rules).map(Rules::RowLevelSecurity),
        };
        Ok(Self {
            policy_id: row.policy_id.into(),
            name: row.name,
            enabled: row.enabled,
            rules: rules.map_err(Error::internal)?,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

fn stored(rules: &Rules) -> Value {
    match rules {
        Rules::ColumnMasking(rules) => json!(rules),
        Rules::RowLevelSecurity(rules) => json!(rules),
    }
}

pub async fn page(conn: &mut PgConnection, env_id: &EnvId, page: &PageRequest) -> Result<(Vec<Policy>, i64)> {
    let rows = page_rows!(
        conn,
        page,
        PolicyRow,
        "select policy_id, name, type, enabled, rules, created_at, updated_at
         from policies
         where env_id = $1 and ($2::timestamptz is null or (created_at, policy_id) < ($2, $3))
         order by created_at desc, policy_id desc
         limit $4",
        env_id.as_str(),
    );
    let policies = rows.into_iter().map(Policy::try_from).collect::<Result<_>>()?;
    Ok((policies, count(conn, env_id).await?))
}

pub async fn count(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    scalar!(conn, r#"select count(*) as "total!" from policies where env_id = $1"#, env_id.as_str())
}

/// What the rules of all policies are together.
pub async fn bytes(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    scalar!(
        conn,
        r#"select coalesce(sum(octet_length(rules::text)), 0)::bigint as "bytes!" from policies where env_id = $1"#,
        env_id.as_str(),
    )
}

pub async fn find(conn: &mut PgConnection, env_id: &EnvId, policy_id: &PolicyId) -> Result<Option<Policy>> {
    let row = sqlx::query_as!(
        PolicyRow,
        "select policy_id, name, type, enabled, rules, created_at, updated_at
         from policies where env_id = $1 and policy_id = $2",
        env_id.as_str(),
        policy_id.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    row.map(Policy::try_from).transpose()
}

fn name_taken(policy: &Policy) -> Error {
    Error::conflict("name_taken", format!("the environment has a policy named `{}`", policy.name))
}

pub async fn insert(conn: &mut PgConnection, env_id: &EnvId, policy: &Policy) -> Result<()> {
    sqlx::query!(
        "insert into policies (policy_id, env_id, name, type, enabled, rules, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        policy.policy_id.as_str(),
        env_id.as_str(),
        policy.name,
        policy.rules.type_name(),
        policy.enabled,
        stored(&policy.rules),
        policy.created_at,
        policy.updated_at,
    )
    .execute(conn)
    .await
    .on_constraint("policies_env_id_name_key", || name_taken(policy))?;
    Ok(())
}

pub async fn update(conn: &mut PgConnection, policy: &Policy) -> Result<()> {
    sqlx::query!(
        "update policies set name = $2, enabled = $3, rules = $4, updated_at = $5 where policy_id = $1",
        policy.policy_id.as_str(),
        policy.name,
        policy.enabled,
        stored(&policy.rules),
        policy.updated_at,
    )
    .execute(conn)
    .await
    .on_constraint("policies_env_id_name_key", || name_taken(policy))?;
    Ok(())
}

pub async fn delete(conn: &mut PgConnection, policy_id: &PolicyId) -> Result<()> {
    execute!(conn, "delete from policies where policy_id = $1", policy_id.as_str())
}

/// The enabled policies that name something of a schema, of one environment or of all that the organization has.
pub async fn naming(
    conn: &mut PgConnection,
    (org_id, env_id): (&OrgId, Option<&EnvId>),
    schema: &str,
) -> Result<Vec<Policy>> {
    let rows = sqlx::query_as!(
        PolicyRow,
        "select p.policy_id, p.name, p.type, p.enabled, p.rules, p.created_at, p.updated_at
         from policies p join environments e on e.env_id = p.env_id
         where e.org_id = $1 and e.removed_at is null and ($2::text is null or p.env_id = $2) and p.enabled
           and exists (select from jsonb_array_elements(p.rules) r where starts_with(lower(r ->> 'table'), $3))",
        org_id.as_str(),
        env_id.map(EnvId::as_str),
        format!("{schema}."),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Policy::try_from).collect()
}

/// Every policy of the environment, as a data plane must know them.
pub async fn governed(conn: &mut PgConnection, env_id: &EnvId) -> Result<Vec<Policy>> {
    let rows = sqlx::query_as!(
        PolicyRow,
        "select policy_id, name, type, enabled, rules, created_at, updated_at
         from policies where env_id = $1 order by created_at, policy_id",
        env_id.as_str(),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Policy::try_from).collect()
}
