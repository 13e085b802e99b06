//! Reading gates, and a project's own rules for them.

use platform::http::call::Call;
use platform::http::json::{Json, Query};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::predicate::{PREDICATES_MAX, Predicate};
use super::{Gate, GateEvaluation, GateId, store};
use crate::domain::runtime::listing::{Listed, Records};
use crate::domain::runtime::{clock, fields, people};

#[derive(Debug, Deserialize, JsonSchema)]
pub struct OfProject {
    project_id: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GateList {
    data: Vec<Gate>,
}

/// All six, in their order.
pub async fn list(cx: Call, Query(of): Query<OfProject>) -> Result<Json<GateList>> {
    let mut conn = cx.app.pool().acquire().await?;
    let mut data = Vec::new();
    for gate_id in GateId::ALL {
        data.push(store::of_project(&mut conn, cx.org_id(), gate_id, of.project_id.as_deref()).await?);
    }
    Ok(Json(GateList { data }))
}

pub async fn get(cx: Call, Query(of): Query<OfProject>) -> Result<Json<Gate>> {
    let gate_id = GateId::of(&cx.id::<String>("gate_id")?)?;
    let mut conn = cx.app.pool().acquire().await?;
    store::of_project(&mut conn, cx.org_id(), gate_id, of.project_id.as_deref()).await.map(Json)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "GateDefinition")]
#[serde(deny_unknown_fields)]
pub struct Definition {
    project_id: String,
    predicates: Option<Vec<Predicate>>,
    auto_approvable: Option<bool>,
    approval_role: Option<String>,
}

/// A new version of a project's rule; what is left out stays as it is.
pub async fn define(cx: Call, Json(definition): Json<Definition>) -> Result<Json<Gate>> {
    let who = people::person(&cx)?;
    let gate_id = GateId::of(&cx.id::<String>("gate_id")?)?;
    let project_id = fields::name("project_id", &definition.project_id)?;
    let mut tx = cx.begin().await?;
    let mut gate = store::of_project(&mut tx, cx.org_id(), gate_id, Some(&project_id)).await?;
    if let Some(predicates) = definition.predicates {
        admit(&predicates)?;
        gate.predicates = predicates;
    }
    if let Some(auto_approvable) = definition.auto_approvable {
        if auto_approvable && gate_id.is_always_manual() {
            let message = format!("{} is always manual: a person approves it", gate_id.name());
            return Err(Error::InvalidRule { field: "auto_approvable".to_owned(), message });
        }
        gate.auto_approvable = auto_approvable;
    }
    if let Some(role) = &definition.approval_role {
        gate.approval_role = people::assignee("approval_role", role)?;
    }
    gate.project_id = Some(project_id.clone());
    let now = clock::now(&mut tx).await?;
    store::define(&mut tx, cx.org_id(), &project_id, &mut gate, &who, now).await?;
    tx.commit().await?;
    Ok(Json(gate))
}

fn admit(predicates: &[Predicate]) -> Result<()> {
    if predicates.len() > PREDICATES_MAX {
        let message = format!("a gate has at most {PREDICATES_MAX} predicates");
        return Err(Error::InvalidRule { field: "predicates".to_owned(), message });
    }
    predicates.iter().enumerate().try_for_each(|(n, predicate)| predicate.admit(&format!("predicates[{n}]")))
}

pub async fn evaluations(
    cx: Call,
    Query(filter): Query<store::EvaluationFilter>,
    Records(listing): Records,
) -> Result<Listed<GateEvaluation>> {
    let mut conn = cx.app.pool().acquire().await?;
    let (rows, total) = store::page(&mut conn, cx.org_id(), &filter, &listing).await?;
    Ok(listing.answer(rows, total, |row| (row.evaluated_at, row.id.clone()), |row| row))
}
