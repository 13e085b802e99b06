//! The subject of a review: found by whichever id it was named with, or absent.

use platform::http::call::Call;
use platform::{Error, Result};
use sqlx::PgConnection;

use super::EntityType;
use crate::domain::runtime::gates::{self, GateId};
use crate::domain::runtime::{artifacts, attempts, fields, recovery, releases, tasks};

/// `entity_type` and `entity_id`, or one of the other ids.
#[derive(Debug)]
pub struct Named {
    pub entity_type: Option<EntityType>,
    pub entity_id: Option<String>,
    pub project_id: Option<String>,
    pub artifact_id: Option<String>,
    pub attempt_id: Option<String>,
    /// `<gate>:<key of the predicate>`.
    pub gate_predicate_id: Option<String>,
}

#[derive(Debug)]
pub struct ReviewSubject {
    pub entity_type: EntityType,
    pub entity_id: String,
    pub project_id: String,
    pub task_id: Option<String>,
    pub attempt_id: Option<String>,
    pub artifact_id: Option<String>,
}

pub async fn of(cx: &Call, conn: &mut PgConnection, named: &Named) -> Result<ReviewSubject> {
    let entity = named.entity_type.zip(named.entity_id.as_deref());
    let others = [&named.artifact_id, &named.attempt_id, &named.gate_predicate_id];
    let count = usize::from(entity.is_some()) + others.iter().filter(|other| other.is_some()).count();
    if count != 1 || named.entity_type.is_some() != named.entity_id.is_some() {
        let message = "a review is about one thing: `entity_type` and `entity_id`, or one of `artifact_id`, \
                       `attempt_id` and `gate_predicate_id`";
        return Err(Error::invalid("entity_id", "one of", message));
    }
    if let Some((entity_type, entity_id)) = entity {
        return entity_of(cx, conn, named, entity_type, entity_id).await;
    }
    if let Some(artifact_id) = &named.artifact_id {
        return of_artifact(cx, conn, artifact_id).await;
    }
    if let Some(attempt_id) = &named.attempt_id {
        return of_attempt(cx, conn, attempt_id).await;
    }
    of_predicate(cx, conn, named).await
}

async fn entity_of(
    cx: &Call,
    conn: &mut PgConnection,
    named: &Named,
    entity_type: EntityType,
    entity_id: &str,
) -> Result<ReviewSubject> {
    match entity_type {
        EntityType::Artifact => of_artifact(cx, conn, entity_id).await,
        EntityType::Gate => {
            let gate = GateId::of(entity_id)?;
            Ok(of_gate(gate, project(named)?))
        }
        EntityType::ReleaseDecision => {
            let release = releases::find(conn, cx.org_id(), entity_id).await?;
            let (project_id, artifact_id) = (release.project_id, release.artifact_id);
            let mut subject = match &artifact_id {
                Some(artifact_id) => of_artifact(cx, conn, artifact_id).await?,
                None => of_gate(GateId::G5, project_id.clone()),
            };
            (subject.entity_type, subject.entity_id) = (entity_type, entity_id.to_owned());
            Ok(ReviewSubject { project_id, ..subject })
        }
        EntityType::Recovery => match recovery::attempt_of(conn, cx.org_id(), entity_id).await? {
            Some(attempt_id) => {
                let subject = of_attempt(cx, conn, &attempt_id).await?;
                Ok(ReviewSubject { entity_id: entity_id.to_owned(), ..subject })
            }
            None => of_attempt(cx, conn, entity_id).await,
        },
    }
}

fn of_gate(gate: GateId, project_id: String) -> ReviewSubject {
    ReviewSubject {
        entity_type: EntityType::Gate,
        entity_id: gate.as_str().to_owned(),
        project_id,
        task_id: None,
        attempt_id: None,
        artifact_id: None,
    }
}

async fn of_artifact(cx: &Call, conn: &mut PgConnection, artifact_id: &str) -> Result<ReviewSubject> {
    let artifact = artifacts::find(conn, cx.org_id(), artifact_id).await?;
    Ok(ReviewSubject {
        entity_type: EntityType::Artifact,
        entity_id: artifact.id.clone(),
        project_id: artifact.project_id,
        task_id: Some(artifact.task_id),
        attempt_id: Some(artifact.attempt_id),
        artifact_id: Some(artifact.id),
    })
}

/// An attempt is reviewed for what became of it.
async fn of_attempt(cx: &Call, conn: &mut PgConnection, attempt_id: &str) -> Result<ReviewSubject> {
    let attempt = attempts::find(conn, cx.org_id(), attempt_id).await?;
    let task = tasks::find(conn, cx.org_id(), &attempt.task_id).await?;
    Ok(ReviewSubject {
        entity_type: EntityType::Recovery,
        entity_id: attempt.id.clone(),
        project_id: task.project_id,
        task_id: Some(task.id),
        attempt_id: Some(attempt.id),
        artifact_id: None,
    })
}

async fn of_predicate(cx: &Call, conn: &mut PgConnection, named: &Named) -> Result<ReviewSubject> {
    let absent = Error::NotFound { kind: "gate predicate" };
    let given = named.gate_predicate_id.as_deref().unwrap_or_default();
    let Some((gate, key)) = given.split_once(':') else { return Err(absent) };
    let (gate, project_id) = (GateId::of(gate)?, project(named)?);
    let rule = gates::of_project(conn, cx.org_id(), gate, Some(&project_id)).await?;
    if rule.predicates.iter().any(|predicate| predicate.key == key) {
        Ok(of_gate(gate, project_id))
    } else {
        Err(absent)
    }
}

fn project(named: &Named) -> Result<String> {
    let given = named.project_id.as_deref();
    let required = || Error::invalid("project_id", "required", "`project_id` is required: a gate is a project's");
    fields::name("project_id", given.ok_or_else(required)?)
}
