//! SQL of the ABAC policies.

use contract::policy::AbacPolicy;
use contract::{EnvId, OrgId, PolicyId, Timestamp};
use platform::http::page::PageRequest;
use platform::{Error, OnConstraint, Result, execute, page_rows, scalar};
use serde_json::{Value, json};
use sqlx::PgConnection;

struct AbacPolicyRow {
    policy_id: String,
    name: String,
    description: Option<String>,
    rules: Value,
    priority: i32,
    enabled: bool,
    created_at: Timestamp,
}

impl TryFrom<AbacPolicyRow> for AbacPolicy {
    type Error = Error;

    /// Rules that cannot be read are no rules that can be left out: the read fails.
    fn try_from(row: AbacPolicyRow) -> Result<Self> {
        Ok(Self {
            policy_id: row.policy_id.into(),
            name: row.name,
            description: row.description,
            rules: serde_json::from_value(row.rules).map_err(Error::internal)?,
            priority: row.priority,
            enabled: row.enabled,
            created_at: row.created_at,
        })
    }
}

pub async fn page(conn: &mut PgConnection, env_id: &EnvId, page: &PageRequest) -> Result<(Vec<AbacPolicy>, i64)> {
    let rows = page_rows!(
        conn,
        page,
        AbacPolicyRow,
        "select policy_id, name, description, rules, priority, enabled, created_at
         from abac_policies
         where env_id = $1 and ($2::timestamptz is null or (created_at, policy_id) < ($2, $3))
         order by created_at desc, policy_id desc
         limit $4",
        env_id.as_str(),
    );
    let policies = rows.into_iter().map(AbacPolicy::try_from).collect::<Result<_>>()?;
    Ok((policies, count(conn, env_id).await?))
}

pub async fn count(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    scalar!(conn, r#"select count(*) as "total!" from abac_policies where env_id = $1"#, env_id.as_str())
}

/// What the rules of all policies are together.
pub async fn bytes(conn: &mut PgConnection, env_id: &EnvId) -> Result<i64> {
    scalar!(
        conn,
        r#"select coalesce(sum(octet_length(rules::text)), 0)::bigint as "bytes!" from abac_policies where env_id = $1"#,
        env_id.as_str(),
    )
}

pub async fn find(conn: &mut PgConnection, env_id: &EnvId, policy_id: &PolicyId) -> Result<Option<AbacPolicy>> {
    let row = sqlx::query_as!(
        AbacPolicyRow,
        "select policy_id, name, description, rules, priority, enabled, created_at
         from abac_policies where env_id = $1 and policy_id = $2",
        env_id.as_str(),
        policy_id.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    row.map(AbacPolicy::try_from).transpose()
}

fn name_taken(policy: &AbacPolicy) -> Error {
    Error::conflict("name_taken", format!("the environment has an ABAC policy named `{}`", policy.name))
}

pub async fn insert(conn: &mut PgConnection, env_id: &EnvId, policy: &AbacPolicy) -> Result<()> {
    sqlx::query!(
        "insert into abac_policies (policy_id, env_id, name, description, rules, priority, enabled, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        policy.policy_id.as_str(),
        env_id.as_str(),
        policy.name,
        policy.description,
        json!(policy.rules),
        policy.priority,
        policy.enabled,
        policy.created_at,
    )
    .execute(conn)
    .await
    .on_constraint("abac_policies_env_id_name_key", || name_taken(policy))?;
    Ok(())
}

pub async fn update(conn: &mut PgConnection, policy: &AbacPolicy) -> Result<()> {
    sqlx::query!(
        "update abac_policies set name = $2, description = $3, rules = $4, priority = $5, enabled = $6
         where policy_id = $1",
        policy.policy_id.as_str(),
        policy.name,
        policy.description,
        json!(policy.rules),
        policy.priority,
        policy.enabled,
    )
    .execute(conn)
    .await
    .on_constraint("abac_policies_env_id_name_key", || name_taken(policy))?;
    Ok(())
}

pub async fn delete(conn: &mut PgConnection, policy_id: &PolicyId) -> Result<()> {
    execute!(conn, "delete from abac_policies where policy_id = $1", policy_id.as_str())
}

/// The enabled policies that ask for tables, with those of their rules that do; of one environment or of all that the
/// organization has.
pub async fn by_table(conn: &mut PgConnection, (org_id, env_id): (&OrgId, Option<&EnvId>)) -> Result<Vec<AbacPolicy>> {
    let rows = sqlx::query_as!(
        AbacPolicyRow,
        r#"select p.policy_id, p.name, p.description, by_table.rules as "rules!", p.priority, p.enabled, p.created_at
           from abac_policies p
             join environments e on e.env_id = p.env_id
             cross join lateral (
               select jsonb_agg(rule) as rules from jsonb_array_elements(p.rules) rule
               where rule ->> 'condition' = 'TableIs'
             ) by_table
           where e.org_id = $1 and e.removed_at is null and ($2::text is null or p.env_id = $2) and p.enabled
             and by_table.rules is not null"#,
        org_id.as_str(),
        env_id.map(EnvId::as_str),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(AbacPolicy::try_from).collect()
}

/// Every ABAC policy of the environment, as a data plane must know them.
pub async fn governed(conn: &mut PgConnection, env_id: &EnvId) -> Result<Vec<AbacPolicy>> {
    let rows = sqlx::query_as!(
        AbacPolicyRow,
        "select policy_id, name, description, rules, priority, enabled, created_at
         from abac_policies where env_id = $1 order by created_at, policy_id",
        env_id.as_str(),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(AbacPolicy::try_from).collect()
}
