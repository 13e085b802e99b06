//! What becomes of a statement, told by the environment's data plane without running it.
//!
//! The endpoint "of the transpile group": original, rewritten and governed SQL, and the policy tester:
//! "'run as' (role, agent, framework, time) shows filters, masks, verdict and rewritten SQL".

use contract::explain::{ATTRIBUTES_MAX, TestBody, Tested, TranspileBody, Transpiled};

use super::{forward, within_size};
use crate::http::call::Call;
use crate::http::json::Json;
use crate::{Error, Result};

pub(super) async fn transpile(cx: Call, Json(body): Json<TranspileBody>) -> Result<Json<Transpiled>> {
    within_size(&body.sql)?;
    forward::told(&cx, "transpile", &body).await.map(Json)
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
