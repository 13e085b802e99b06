//! SQL of the gates.

use contract::{OrgId, Timestamp};
use platform::{Error, Result, execute};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use sqlx::PgConnection;

use super::{Gate, GateEvaluation, GateId, GateResult, standard};
use crate::domain::runtime::listing::{ListWindow, page};

/// The rule that stands for a project: its own last version, or the standard one.
pub async fn of_project(
    conn: &mut PgConnection,
    org_id: &OrgId,
    gate_id: GateId,
    project_id: Option<&str>,
) -> Result<Gate> {
    let standard = standard::gate(gate_id);
    let own = sqlx::query!(
        "select version, predicates, auto_approvable, approval_role from svc_runtime.gate_definitions
         where org_id = $1 and project_id = $2 and gate_id = $3
         order by version desc limit 1",
        org_id.as_str(),
        project_id.unwrap_or_default(),
        gate_id.as_str(),
    );
    let Some(own) = own.fetch_optional(conn).await? else { return Ok(standard) };
    Ok(Gate {
        project_id: project_id.map(ToOwned::to_owned),
        predicates: serde_json::from_value(own.predicates).map_err(Error::internal)?,
        auto_approvable: own.auto_approvable,
        approval_role: own.approval_role,
        version: own.version,
        ..standard
    })
}

/// The next version of a project's own rule; two at once wait for each other.
pub async fn define(
    tx: &mut PgConnection,
    org_id: &OrgId,
    project_id: &str,
    gate: &mut Gate,
    who: &str,
    now: Timestamp,
) -> Result<()> {
    let place = format!("gate/{org_id}/{project_id}/{}", gate.gate_id.as_str());
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended($1, 0))", place).execute(&mut *tx).await?;
    gate.version = sqlx::query_scalar!(
        "insert into svc_runtime.gate_definitions (org_id, project_id, gate_id, version, predicates, auto_approvable,
           approval_role, defined_by, created_at)
         select $1, $2, $3, coalesce(max(version), 0) + 1, $4, $5, $6, $7, $8
         from svc_runtime.gate_definitions where org_id = $1 and project_id = $2 and gate_id = $3
         returning version",
        org_id.as_str(),
        project_id,
        gate.gate_id.as_str(),
        json!(gate.predicates),
        gate.auto_approvable,
        gate.approval_role,
        who,
        now,
    )
    .fetch_one(tx)
    .await?;
    Ok(())
}

pub async fn insert(tx: &mut PgConnection, org_id: &OrgId, evaluation: &GateEvaluation) -> Result<()> {
    execute!(
        tx,
        "insert into svc_runtime.gate_evaluations (id, org_id, project_id, gate_id, gate_version, task_id, result,
           facts, facts_hash, passed_conditions, failed_conditions, evaluated_by, evaluated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        evaluation.id,
        org_id.as_str(),
        evaluation.project_id,
        evaluation.gate_id,
        evaluation.gate_version,
        evaluation.task_id,
        evaluation.result as _,
        evaluation.facts,
        evaluation.facts_hash,
        evaluation.passed_conditions,
        evaluation.failed_conditions,
        evaluation.evaluated_by,
        evaluation.evaluated_at,
    )
}

/// A query for evaluations: all columns, then this.
macro_rules! evaluations {
    ($($tail:literal)+, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            GateEvaluation,
            r#"select e.id, e.project_id, e.gate_id, e.gate_version, e.task_id, e.result as "result: GateResult",
                 e.facts, e.facts_hash, e.passed_conditions, e.failed_conditions, e.evaluated_by, e.evaluated_at
               from svc_runtime.gate_evaluations e "# $(+ $tail)+,
            $($argument),+
        )
    };
}

pub async fn evaluation(conn: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<GateEvaluation> {
    let found = evaluations!("where e.org_id = $1 and e.id = $2", org_id.as_str(), id);
    found.fetch_optional(conn).await?.ok_or(Error::NotFound { kind: "gate evaluation" })
}

/// The last evaluation let the project pass: by itself, or a person did after looking at it.
pub async fn is_passed(conn: &mut PgConnection, org_id: &OrgId, project_id: &str, gate_id: GateId) -> Result<bool> {
    let passed = sqlx::query_scalar!(
        r#"select e.result = 'AutoApproved' or e.result = 'PendingManual' and exists (
             select from svc_runtime.review_requests r where r.gate_evaluation_id = e.id and r.status = 'approved'
           ) as "passed!"
           from svc_runtime.gate_evaluations e
           where e.org_id = $1 and e.project_id = $2 and e.gate_id = $3
           order by e.position desc limit 1"#,
        org_id.as_str(),
        project_id,
        gate_id.as_str(),
    );
    Ok(passed.fetch_optional(conn).await?.unwrap_or(false))
}

/// What a list of evaluations may ask for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct EvaluationFilter {
    pub project_id: Option<String>,
    pub gate_id: Option<String>,
}

pub async fn page(
    conn: &mut PgConnection,
    org_id: &OrgId,
    filter: &EvaluationFilter,
    listing: &ListWindow,
) -> Result<(Vec<GateEvaluation>, i64)> {
    Ok(page!(
        conn,
        listing,
        evaluations,
        r#"select count(*) as "total!" from svc_runtime.gate_evaluations e "#,
        "where e.org_id = $1 and ($2::text is null or e.project_id = $2) and ($3::text is null or e.gate_id = $3)",
        " and ($4::timestamptz is null or (e.evaluated_at, e.id) < ($4, $5))
         order by e.evaluated_at desc, e.id desc
         limit $6 offset $7",
        org_id.as_str(),
        filter.project_id,
        filter.gate_id,
    ))
}
