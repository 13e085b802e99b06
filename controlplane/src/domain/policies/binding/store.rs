//! SQL of what was told of the rules of policies, standard and by attribute (`rulings`: both).

use std::collections::HashMap;

use contract::{EnvId, OrgId, PolicyId, Timestamp};
use platform::{Error, Result, execute};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::Unbound;

fn read(unbound: Value) -> Result<Vec<Unbound>> {
    serde_json::from_value(unbound).map_err(Error::internal)
}

fn texts(policies: &[PolicyId]) -> Vec<String> {
    policies.iter().map(ToString::to_string).collect()
}

/// What is known of these policies, as their rules are now.
pub async fn of(conn: &mut PgConnection, policies: &[PolicyId]) -> Result<HashMap<PolicyId, Vec<Unbound>>> {
    let rows = sqlx::query!(
        r#"select b.policy_id, b.unbound as "unbound!"
           from policy_bindings b join rulings r on r.policy_id = b.policy_id
           where b.policy_id = any ($1) and b.rules_md5 = md5(r.rules::text) and b.unbound is not null"#,
        &texts(policies),
    );
    let rows = rows.fetch_all(conn).await?;
    rows.into_iter().map(|row| Ok((row.policy_id.into(), read(row.unbound)?))).collect()
}

/// The digest of a policy's rules, with what is known of them; none where it is gone.
pub async fn known(conn: &mut PgConnection, policy_id: &PolicyId) -> Result<Option<(String, Option<Vec<Unbound>>)>> {
    let row = sqlx::query!(
        r#"select md5(r.rules::text) as "digest!", b.unbound as "unbound?"
           from rulings r
           left join policy_bindings b on b.policy_id = r.policy_id and b.rules_md5 = md5(r.rules::text)
           where r.policy_id = $1"#,
        policy_id.as_str(),
    );
    let row = row.fetch_optional(conn).await?;
    row.map(|row| Ok((row.digest, row.unbound.map(read).transpose()?))).transpose()
}

/// Keeps what was told of the rules that the policy has now.
pub async fn keep(
    conn: &mut PgConnection,
    policy_id: &PolicyId,
    unbound: Option<&[Unbound]>,
    now: Timestamp,
) -> Result<()> {
    execute!(
        conn,
        "insert into policy_bindings (policy_id, rules_md5, unbound, asked_at)
         select policy_id, md5(rules::text), $2, $3 from rulings where policy_id = $1
         on conflict (policy_id) do update
         set rules_md5 = excluded.rules_md5, unbound = excluded.unbound, asked_at = excluded.asked_at",
        policy_id.as_str(),
        unbound.map(|unbound| json!(unbound)),
        now,
    )
}

/// They were asked of, and nobody answered: what is known stays.
pub async fn asked(conn: &mut PgConnection, policies: &[PolicyId], now: Timestamp) -> Result<()> {
    execute!(
        conn,
        "insert into policy_bindings (policy_id, rules_md5, asked_at)
         select policy_id, md5(rules::text), $2 from rulings where policy_id = any ($1)
         on conflict (policy_id) do update set asked_at = excluded.asked_at",
        &texts(policies),
        now,
    )
}

/// Environments with policies that were not asked of since `before`, those that wait longest first.
pub async fn due(conn: &mut PgConnection, before: Timestamp, limit: i64) -> Result<Vec<(OrgId, EnvId)>> {
    let rows = sqlx::query!(
        r#"select e.org_id as "org_id!", e.env_id as "env_id!"
         from rulings r
         join environments e on e.env_id = r.env_id and e.removed_at is null
         left join policy_bindings b on b.policy_id = r.policy_id
         group by e.org_id, e.env_id
         having bool_or(b.asked_at is null) or min(b.asked_at) <= $1
         order by min(coalesce(b.asked_at, 'epoch')), e.env_id
         limit $2"#,
        before,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.org_id.into(), row.env_id.into())).collect())
}

/// The policies of an environment, each with the digest of its rules: those that were asked of longest ago first, those
/// that never were before them.
pub async fn oldest(conn: &mut PgConnection, env_id: &EnvId) -> Result<Vec<(PolicyId, String)>> {
    let rows = sqlx::query!(
        r#"select r.policy_id as "policy_id!", md5(r.rules::text) as "digest!"
           from rulings r left join policy_bindings b on b.policy_id = r.policy_id
           where r.env_id = $1
           order by coalesce(b.asked_at, 'epoch'), r.policy_id"#,
        env_id.as_str(),
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.policy_id.into(), row.digest)).collect())
}

/// How much of what enabled policies name is not there, and of how many of their rules that is not known.
pub async fn count_unbound(conn: &mut PgConnection) -> Result<(i64, i64)> {
    let row = sqlx::query!(
        r#"select
             coalesce(sum(jsonb_array_length(b.unbound)), 0)::bigint as "nothing!",
             coalesce(sum(jsonb_array_length(r.rules)) filter (where b.unbound is null), 0)::bigint as "unknown!"
           from rulings r
           join environments e on e.env_id = r.env_id and e.removed_at is null
           left join policy_bindings b on b.policy_id = r.policy_id and b.rules_md5 = md5(r.rules::text)
           where r.enabled"#,
    );
    let row = row.fetch_one(conn).await?;
    Ok((row.nothing, row.unknown))
}
