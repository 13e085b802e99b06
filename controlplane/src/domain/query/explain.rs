//! The explanation of a statement by the environment's data plane, without running it.
//!
//! The endpoint "of the transpile group": original, rewritten and governed SQL, and the policy tester:
//! "'run as' (role, agent, framework, time) shows filters, masks, verdict and rewritten SQL".

use contract::explain::{ATTRIBUTES_MAX, TestBody, Tested, TranspileBody, Transpiled};
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::{forward, within_size};
use crate::domain::agents::agent_tools::{ToolPlace, environment};

pub(super) async fn transpile(cx: Call, Json(body): Json<TranspileBody>) -> Result<Json<Transpiled>> {
    within_size(&body.sql)?;
    forward::told(&cx, "transpile", &body).await.map(Json)
}

/// A statement that a data plane takes, and what it becomes there.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReadyStatement {
    /// To be sent to the data plane, which knows `JOIN_VECTOR` and what compares by meaning: as it was asked.
    sql: String,
    #[serde(flatten)]
    statement: Transpiled,
}

/// Clients that have a statement made ready before they send it ask here. It passes the caller's gates, or is refused.
pub(super) async fn ready(
    cx: Call,
    Query(place): Query<ToolPlace>,
    Json(body): Json<TranspileBody>,
) -> Result<Json<ReadyStatement>> {
    within_size(&body.sql)?;
    let env_id = environment(&cx, place.env_id).await?;
    let statement: Transpiled = forward::told_of(&cx, &env_id, "transpile", &body).await?;
    Ok(Json(ReadyStatement { sql: statement.original.clone(), statement }))
}

/// A statement as somebody imagined would ask it.
pub async fn test(cx: Call, Json(body): Json<TestBody>) -> Result<Json<Tested>> {
    within_size(&body.sql)?;
    if body.run_as.attributes.len() > ATTRIBUTES_MAX {
        let message = format!("`as.attributes` are at most {ATTRIBUTES_MAX}");
        return Err(Error::invalid("as.attributes", "max", message));
    }
    forward::told(&cx, "policies/test", &body).await.map(Json)
}
