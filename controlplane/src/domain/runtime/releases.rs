//! Releases: that something may go out, may not, or runs in the shadow. Append-only.
//!
//! "POST /v2/releases: records a release." What is approved under a gate has passed it, unless an
//! owner or admin says why it goes out all the same. Whoever made it does not approve it.

use contract::{Access, Code, OrgId, Scope, Timestamp, ids};
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use platform::http::routes::Routes;
use platform::{Error, Result, execute};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::change::Change;
use super::gates::{self, GateId};
use super::listing::{Listed, Records, page};
use super::people::{self, Made};
use super::{artifacts, fields, reviews};

const ARTIFACTS_MAX: usize = 100;

pub fn routes() -> Routes {
    use Access::{Developer, Member};
    Routes::new()
        .post("/v2/releases", Developer, Scope::Agent, record)
        .says("Records a release.")
        .refuses(&[Code::NotFound])
        .get("/v2/releases", Member, Scope::Agent, list)
        .ours()
        .says("Lists releases, newest first.")
        .get("/v2/releases/{release_id}", Member, Scope::Agent, get)
        .ours()
        .says("Reads a release.")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum ReleaseOutcome {
    Approved,
    Blocked,
    Shadow,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Release {
    pub id: String,
    pub org_id: String,
    pub project_id: String,
    pub artifact_id: Option<String>,
    pub artifact_ids: Value,
    pub gate_id: Option<String>,
    pub review_id: Option<String>,
    pub outcome: ReleaseOutcome,
    pub evidence_bundle: Value,
    pub policy_version: Option<String>,
    pub rationale: Option<String>,
    pub override_reason: Option<String>,
    pub decided_by: String,
    pub decided_at: Timestamp,
}

impl Release {
    pub fn new(change: &Change<'_>, org_id: &OrgId, project_id: &str, outcome: ReleaseOutcome, who: &str) -> Self {
        Self {
            id: ids::fresh(change.now, change.app.entropy()),
            org_id: org_id.to_string(),
            project_id: project_id.to_owned(),
            artifact_id: None,
            artifact_ids: json!([]),
            gate_id: None,
            review_id: None,
            outcome,
            evidence_bundle: json!({}),
            policy_version: None,
            rationale: None,
            override_reason: None,
            decided_by: who.to_owned(),
            decided_at: change.now,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseDecision {
    artifact_id: Option<String>,
    #[serde(default)]
    artifact_ids: Vec<String>,
    project_id: Option<String>,
    outcome: ReleaseOutcome,
    gate_id: Option<String>,
    review_id: Option<String>,
    #[serde(default)]
    evidence_bundle: fields::Object,
    policy_version: Option<String>,
    rationale: Option<String>,
    override_reason: Option<String>,
}

async fn record(cx: Call, Json(decision): Json<ReleaseDecision>) -> Result<Json<Release>> {
    let who = people::person(&cx)?;
    let policy_version = fields::maybe_name("policy_version", decision.policy_version.as_deref())?;
    let rationale = fields::maybe_prose("rationale", decision.rationale.as_deref())?;
    let override_reason = fields::maybe_prose("override_reason", decision.override_reason.as_deref())?;
    let gate = decision.gate_id.as_deref().map(GateId::of).transpose()?;
    let mut tx = cx.begin().await?;
    let (project_id, artifact_ids) = subject(&cx, &mut tx, &decision).await?;
    if let Some(review_id) = &decision.review_id {
        reviews::store::find(&mut tx, cx.org_id(), review_id).await?;
    }
    if let (Some(gate), ReleaseOutcome::Approved) = (gate, decision.outcome) {
        passed(&cx, &mut tx, &project_id, gate, override_reason.as_deref()).await?;
    }
    let change = Change::begin(&cx.app, &mut tx).await?;
    let release = Release {
        artifact_id: artifact_ids.first().cloned(),
        artifact_ids: json!(artifact_ids),
        gate_id: gate.map(|gate| gate.as_str().to_owned()),
        review_id: decision.review_id,
        evidence_bundle: fields::object("evidence_bundle", decision.evidence_bundle)?,
        policy_version,
        rationale,
        override_reason,
        ..Release::new(&change, cx.org_id(), &project_id, decision.outcome, &who)
    };
    insert(&mut tx, &release).await?;
    tx.commit().await?;
    Ok(Json(release))
}

/// The project and the artifacts that are released; nobody approves their own.
async fn subject(cx: &Call, tx: &mut PgConnection, decision: &ReleaseDecision) -> Result<(String, Vec<String>)> {
    let ids: Vec<String> = decision.artifact_id.iter().chain(&decision.artifact_ids).cloned().collect();
    let required =
        || Error::invalid("project_id", "required", "`artifact_id`, `artifact_ids` or `project_id` is required");
    if ids.len() > ARTIFACTS_MAX {
        let message = format!("`artifact_ids` has at most {ARTIFACTS_MAX}");
        return Err(Error::invalid("artifact_ids", format!("..{ARTIFACTS_MAX}"), message));
    }
    let mut project_id = decision.project_id.as_deref().map(|given| fields::name("project_id", given)).transpose()?;
    for id in &ids {
        let artifact = artifacts::find(tx, cx.org_id(), id).await?;
        if project_id.get_or_insert_with(|| artifact.project_id.clone()) != &artifact.project_id {
            return Err(Error::invalid("artifact_ids", "one project", "all artifacts are of one project"));
        }
        if decision.outcome == ReleaseOutcome::Approved {
            people::four_eyes(cx, tx, Made { task_id: None, attempt_id: Some(&artifact.attempt_id) }).await?;
        }
    }
    Ok((project_id.ok_or_else(required)?, ids))
}

async fn passed(cx: &Call, tx: &mut PgConnection, project_id: &str, gate: GateId, reason: Option<&str>) -> Result<()> {
    if gates::is_passed(tx, cx.org_id(), project_id, gate).await? || reason.is_some() && people::is_admin(cx) {
        return Ok(());
    }
    let message = "the project has not passed this gate: an owner or admin may say why, in `override_reason`";
    Err(Error::state_conflict("gate_not_passed", message, &json!({"gate_id": gate.as_str()})))
}

/// A query for releases: all columns, then this.
macro_rules! releases {
    ($($tail:literal)+, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            Release,
            r#"select r.id, r.org_id, r.project_id, r.artifact_id, r.artifact_ids, r.gate_id, r.review_id,
                 r.outcome as "outcome: ReleaseOutcome", r.evidence_bundle, r.policy_version, r.rationale,
                 r.override_reason, r.decided_by, r.decided_at
               from svc_runtime.releases r "# $(+ $tail)+,
            $($argument),+
        )
    };
}

pub async fn find(conn: &mut PgConnection, org_id: &OrgId, id: &str) -> Result<Release> {
    let found = releases!("where r.org_id = $1 and r.id = $2", org_id.as_str(), id);
    found.fetch_optional(conn).await?.ok_or(Error::NotFound { kind: "release" })
}

/// The last word on an artifact.
pub async fn of_artifact(conn: &mut PgConnection, org_id: &OrgId, artifact_id: &str) -> Result<Option<Release>> {
    let found = releases!(
        "where r.org_id = $1 and (r.artifact_id = $2 or r.artifact_ids ? $2) order by r.decided_at desc, r.id desc limit 1",
        org_id.as_str(),
        artifact_id,
    );
    Ok(found.fetch_optional(conn).await?)
}

pub async fn insert(tx: &mut PgConnection, release: &Release) -> Result<()> {
    execute!(
        tx,
        "insert into svc_runtime.releases (id, org_id, project_id, artifact_id, artifact_ids, gate_id, review_id,
           outcome, evidence_bundle, policy_version, rationale, override_reason, decided_by, decided_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        release.id,
        release.org_id,
        release.project_id,
        release.artifact_id,
        release.artifact_ids,
        release.gate_id,
        release.review_id,
        release.outcome as _,
        release.evidence_bundle,
        release.policy_version,
        release.rationale,
        release.override_reason,
        release.decided_by,
        release.decided_at,
    )
}

async fn get(cx: Call) -> Result<Json<Release>> {
    let mut conn = cx.app.pool().acquire().await?;
    Ok(Json(find(&mut conn, cx.org_id(), &cx.id::<String>("release_id")?).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ReleaseFilter {
    project_id: Option<String>,
    artifact_id: Option<String>,
}

async fn list(cx: Call, Query(filter): Query<ReleaseFilter>, Records(listing): Records) -> Result<Listed<Release>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = page!(
        conn,
        listing,
        releases,
        r#"select count(*) as "total!" from svc_runtime.releases r "#,
        "where r.org_id = $1 and ($2::text is null or r.project_id = $2)
           and ($3::text is null or r.artifact_id = $3 or r.artifact_ids ? $3)",
        " and ($4::timestamptz is null or (r.decided_at, r.id) < ($4, $5))
         order by r.decided_at desc, r.id desc
         limit $6 offset $7",
        cx.org_id().as_str(),
        filter.project_id,
        filter.artifact_id,
    );
    Ok(listing.answer(rows, total, |row| (row.decided_at, row.id.clone()), |row| row))
}

#[cfg(test)]
mod tests;
