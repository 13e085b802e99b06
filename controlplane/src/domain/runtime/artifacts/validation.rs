//! `POST …/validations`: what a validator says of an artifact. Append-only; of each validator the
//! last word counts, and of all the worst.

use contract::{Timestamp, ids};
use platform::Result;
use platform::http::call::Call;
use platform::http::json::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::{Verdict, store};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::events::{self, EventSubject};
use crate::domain::runtime::{actor, clock, fields, tasks};

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ValidationInput")]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    validator_kind: String,
    result: Verdict,
    #[serde(default)]
    evidence: fields::Object,
    message: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Validation {
    id: String,
    artifact_id: String,
    validator_kind: String,
    result: Verdict,
    evidence: Value,
    message: Option<String>,
    validated_by: String,
    created_at: Timestamp,
}

pub async fn record(cx: Call, Json(judgement): Json<Judgement>) -> Result<Json<Validation>> {
    let validator_kind = fields::name("validator_kind", &judgement.validator_kind)?;
    let evidence = fields::object("evidence", judgement.evidence)?;
    let message = fields::maybe_prose("message", judgement.message.as_deref())?;
    let mut tx = cx.begin().await?;
    let artifact_id: String = cx.id("artifact_id")?;
    let task_id = store::made_for(&mut tx, cx.org_id(), &artifact_id).await?;
    let task = tasks::lock(&mut tx, cx.org_id(), &task_id).await?;
    let artifact = store::lock(&mut tx, cx.org_id(), &artifact_id).await?;
    let now = clock::now(&mut tx).await?;
    let validation = Validation {
        id: ids::fresh(now, cx.app.entropy()),
        artifact_id: artifact.id.clone(),
        validator_kind,
        result: judgement.result,
        evidence,
        message,
        validated_by: actor::of(&cx.caller),
        created_at: now,
    };
    sqlx::query!(
        "insert into svc_runtime.artifact_validations (id, org_id, artifact_id, validator_kind, result, evidence,
           message, validated_by, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        validation.id,
        artifact.org_id,
        validation.artifact_id,
        validation.validator_kind,
        validation.result as _,
        validation.evidence,
        validation.message,
        validation.validated_by,
        validation.created_at,
    )
    .execute(&mut *tx)
    .await?;
    store::judge(&mut tx, &artifact.id).await?;
    let payload = json!({
        "artifact_id": artifact.id,
        "validator_kind": validation.validator_kind,
        "result": validation.result,
    });
    let who = &validation.validated_by;
    let mut change = Change { app: &cx.app, tx: &mut tx, now };
    events::append(&mut change, EventSubject::task(&task), "artifact_validated", payload, who).await?;
    tx.commit().await?;
    Ok(Json(validation))
}

/// What was said of the artifacts of an attempt, from the first.
pub async fn of_attempt(conn: &mut PgConnection, attempt_id: &str) -> Result<Vec<Validation>> {
    let found = sqlx::query_as!(
        Validation,
        r#"select v.id, v.artifact_id, v.validator_kind, v.result as "result: Verdict", v.evidence, v.message,
             v.validated_by, v.created_at
           from svc_runtime.artifact_validations v join svc_runtime.artifact_instances a on a.id = v.artifact_id
           where a.attempt_id = $1 order by v.position"#,
        attempt_id,
    );
    Ok(found.fetch_all(conn).await?)
}
