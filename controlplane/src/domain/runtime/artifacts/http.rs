//! Publishing artifacts, and reading them.

use contract::{Timestamp, ids};
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use platform::http::text;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use sqlx::PgConnection;

use super::{Artifact, store};
use crate::domain::runtime::attempts::{self, Attempt};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::events::{self, EventSubject};
use crate::domain::runtime::listing::{Listed, Many};
use crate::domain::runtime::{actor, fields, tasks};

const HASH: &str = "sha256:";
const DEPENDENCIES_MAX: usize = 100;
const URI_MAX: usize = 2_000;
/// What the mainline is called in a filter, and so no branch.
const MAINLINE: &str = "main";

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ArtifactPublication")]
#[serde(deny_unknown_fields)]
pub struct Publication {
    attempt_id: String,
    kind: String,
    content_hash: String,
    confidence: f64,
    artifact_key: Option<String>,
    branch_id: Option<String>,
    #[serde(default)]
    depends_on: Vec<String>,
    #[serde(default)]
    metadata: fields::Object,
    uri: Option<String>,
    /// Proves that the attempt is the caller's; whoever holds it may leave it out.
    lease_token: Option<String>,
}

pub async fn publish(cx: Call, Json(publication): Json<Publication>) -> Result<Json<Artifact>> {
    let mut tx = cx.begin().await?;
    let token = publication.lease_token.clone();
    let (attempt, now) = attempts::live(&cx, &mut tx, &publication.attempt_id, token.as_deref()).await?;
    let project_id = tasks::find(&mut tx, cx.org_id(), &attempt.task_id).await?.project_id;
    let artifact = publication.admitted(&cx, &mut tx, &attempt, project_id, now).await?;
    // The attempt is locked: nobody publishes for it at the same time.
    if let Some(earlier) = store::published(&mut tx, &artifact).await? {
        return Ok(Json(earlier));
    }
    if artifact.branch_id.is_none() {
        store::supersede(&mut tx, &artifact).await?;
    }
    store::insert(&mut tx, &artifact, &actor::of(&cx.caller)).await?;
    let who = actor::agent(attempt.agent_id.as_deref(), &cx.caller);
    let payload = json!({"artifact_id": artifact.id, "kind": artifact.kind, "content_hash": artifact.content_hash});
    let mut change = Change { app: &cx.app, tx: &mut tx, now };
    events::append(&mut change, EventSubject::attempt(&attempt), "artifact_published", payload, &who).await?;
    tx.commit().await?;
    Ok(Json(artifact))
}

impl Publication {
    async fn admitted(
        self,
        cx: &Call,
        tx: &mut PgConnection,
        attempt: &Attempt,
        project_id: String,
        now: Timestamp,
    ) -> Result<Artifact> {
        let named = |field, given: &Option<String>, most| {
            given.as_deref().map(|given| text::checked(field, given, most)).transpose()
        };
        let branch_id = named("branch_id", &self.branch_id, fields::NAME_MAX)?.or_else(|| attempt.branch_id.clone());
        if branch_id.as_deref() == Some(MAINLINE) {
            return Err(Error::invalid("branch_id", "branch", "`main` is the mainline: leave `branch_id` out"));
        }
        depended_on(cx, tx, &self.depends_on).await?;
        Ok(Artifact {
            id: ids::fresh(now, cx.app.entropy()),
            org_id: attempt.org_id.clone(),
            project_id,
            task_id: attempt.task_id.clone(),
            attempt_id: attempt.id.clone(),
            kind: fields::name("kind", &self.kind)?,
            content_hash: content_hash(&self.content_hash)?,
            confidence: fields::share("confidence", self.confidence)?,
            artifact_key: named("artifact_key", &self.artifact_key, fields::KEY_MAX)?,
            branch_id,
            validation_status: None,
            uri: named("uri", &self.uri, URI_MAX)?,
            depends_on: json!(self.depends_on),
            metadata: fields::object("metadata", self.metadata)?,
            promoted_at: None,
            promoted_by: None,
            superseded_by: None,
            created_at: now,
        })
    }
}

/// "`sha256:` plus hex."
fn content_hash(given: &str) -> Result<String> {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let fits = given.strip_prefix(HASH).is_some_and(|hex| hex.len() == 64 && hex.chars().all(is_hex));
    fits.then(|| given.to_owned()).ok_or_else(|| {
        Error::invalid("content_hash", "sha256:<64 hex>", "`content_hash` is `sha256:` and 64 lower-case hex digits")
    })
}

/// An artifact is made from what there is.
async fn depended_on(cx: &Call, tx: &mut PgConnection, ids: &[String]) -> Result<()> {
    let mut different = ids.to_vec();
    different.sort();
    different.dedup();
    let is_bounded = different.len() == ids.len() && ids.len() <= DEPENDENCIES_MAX;
    let known = if is_bounded { store::known(tx, cx.org_id(), ids).await? } else { 0 };
    if usize::try_from(known) == Ok(ids.len()) && is_bounded {
        return Ok(());
    }
    let message = format!("`depends_on` names at most {DEPENDENCIES_MAX} artifacts that exist, each once");
    Err(Error::invalid("depends_on", "artifacts", message))
}

/// "Query `task_id` UUID or `project_id` (one required), `kind`, `limit`."
pub async fn list(
    cx: Call,
    Query(filter): Query<store::ArtifactFilter>,
    Many(listing): Many,
) -> Result<Listed<Artifact>> {
    if filter.task_id.is_none() && filter.project_id.is_none() {
        return Err(Error::invalid("task_id", "required", "`task_id` or `project_id` is required"));
    }
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, cx.org_id(), &filter, &listing).await?;
    Ok(listing.answer(rows, total, |row| (row.created_at, row.id.clone()), |row| row))
}
