//! The subject of a review: found by whichever id it was named with, or absent.

use platform::http::call::Call;
use platform::{Error, Result};

use super::http::ReviewCreation;
use super::{EntityType, Review};
use crate::domain::runtime::change::Change;
use crate::domain::runtime::gates::{self, GateId};
use crate::domain::runtime::{artifacts, attempts, fields, recovery, releases, tasks};

/// A review of what is named: by `entity_type` and `entity_id`, or by one of the other ids.
pub async fn of(cx: &Call, change: &mut Change<'_>, named: &ReviewCreation) -> Result<Review> {
    let entity = named.entity_type.zip(named.entity_id.as_deref());
    let others = [&named.artifact_id, &named.attempt_id, &named.gate_predicate_id];
    let count = usize::from(entity.is_some()) + others.iter().filter(|other| other.is_some()).count();
    if count != 1 || named.entity_type.is_some() != named.entity_id.is_some() {
        let message = "a review is about one thing: `entity_type` and `entity_id`, or one of `artifact_id`, \
                       `attempt_id` and `gate_predicate_id`";
        return Err(Error::invalid("entity_id", "one of", message));
    }
    if let Some((entity_type, entity_id)) = entity {
        return entity_of(cx, change, named, entity_type, entity_id).await;
    }
    if let Some(artifact_id) = &named.artifact_id {
        return of_artifact(cx, change, artifact_id).await;
    }
    if let Some(attempt_id) = &named.attempt_id {
        return of_attempt(cx, change, attempt_id).await;
    }
    of_predicate(cx, change, named).await
}

async fn entity_of(
    cx: &Call,
    change: &mut Change<'_>,
    named: &ReviewCreation,
    entity_type: EntityType,
    entity_id: &str,
) -> Result<Review> {
    match entity_type {
        EntityType::Artifact => of_artifact(cx, change, entity_id).await,
        EntityType::Gate => {
            let gate = GateId::of(entity_id)?;
            Ok(of_gate(cx, change, gate, &project(named)?))
        }
        EntityType::ReleaseDecision => {
            let release = releases::find(change.tx, cx.org_id(), entity_id).await?;
            let (project_id, artifact_id) = (release.project_id, release.artifact_id);
            let mut subject = match &artifact_id {
                Some(artifact_id) => of_artifact(cx, change, artifact_id).await?,
                None => of_gate(cx, change, GateId::G5, &project_id),
            };
            (subject.entity_type, subject.entity_id) = (entity_type, entity_id.to_owned());
            Ok(Review { project_id, ..subject })
        }
        EntityType::Recovery => match recovery::attempt_of(change.tx, cx.org_id(), entity_id).await? {
            Some(attempt_id) => {
                let subject = of_attempt(cx, change, &attempt_id).await?;
                Ok(Review { entity_id: entity_id.to_owned(), ..subject })
            }
            None => of_attempt(cx, change, entity_id).await,
        },
    }
}

fn of_gate(cx: &Call, change: &Change<'_>, gate: GateId, project_id: &str) -> Review {
    Review::fresh(change, cx.org_id().as_str(), project_id, (EntityType::Gate, gate.as_str()))
}

async fn of_artifact(cx: &Call, change: &mut Change<'_>, artifact_id: &str) -> Result<Review> {
    let artifact = artifacts::find(change.tx, cx.org_id(), artifact_id).await?;
    let entity = (EntityType::Artifact, artifact.id.as_str());
    Ok(Review {
        task_id: Some(artifact.task_id),
        attempt_id: Some(artifact.attempt_id),
        artifact_id: Some(artifact.id.clone()),
        ..Review::fresh(change, cx.org_id().as_str(), &artifact.project_id, entity)
    })
}

/// An attempt is reviewed for what became of it.
async fn of_attempt(cx: &Call, change: &mut Change<'_>, attempt_id: &str) -> Result<Review> {
    let attempt = attempts::find(change.tx, cx.org_id(), attempt_id).await?;
    let task = tasks::find(change.tx, cx.org_id(), &attempt.task_id).await?;
    let entity = (EntityType::Recovery, attempt.id.as_str());
    Ok(Review {
        task_id: Some(task.id),
        attempt_id: Some(attempt.id.clone()),
        ..Review::fresh(change, cx.org_id().as_str(), &task.project_id, entity)
    })
}

async fn of_predicate(cx: &Call, change: &mut Change<'_>, named: &ReviewCreation) -> Result<Review> {
    let absent = Error::NotFound { kind: "gate predicate" };
    let given = named.gate_predicate_id.as_deref().unwrap_or_default();
    let Some((gate, key)) = given.split_once(':') else { return Err(absent) };
    let (gate, project_id) = (GateId::of(gate)?, project(named)?);
    let rule = gates::of_project(change.tx, cx.org_id(), gate, Some(&project_id)).await?;
    if rule.predicates.iter().any(|predicate| predicate.key == key) {
        Ok(of_gate(cx, change, gate, &project_id))
    } else {
        Err(absent)
    }
}

fn project(named: &ReviewCreation) -> Result<String> {
    let given = named.project_id.as_deref();
    let required = || Error::invalid("project_id", "required", "`project_id` is required: a gate is a project's");
    fields::name("project_id", given.ok_or_else(required)?)
}
