//! The same requests by the organization's path, as typed clients ask for them: a role, a reason and hours.

use platform::http::call::Call;
use platform::http::json::{Created, Json, Query};
use platform::http::link::{Address, Linked};
use platform::http::page::{PageRequest, Paged};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::http::{self, Asking, JitRequest, JitRole};
use crate::domain::agents::agent_tools::{ListPlace, ToolPlace, environment};

/// "JIT duration: max 480 minutes".
const HOURS_MAX: i64 = 8;

/// What is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitRequestInput {
    target_role: JitRole,
    reason: String,
    /// 1 to 8; 1 if absent.
    #[serde(default = "hour")]
    duration_hours: i64,
}

fn hour() -> i64 {
    1
}

pub async fn request(
    cx: Call,
    Query(place): Query<ToolPlace>,
    Json(input): Json<JitRequestInput>,
) -> Result<Created<JitRequest>> {
    let JitRequestInput { target_role, reason, duration_hours } = input;
    if !(1..=HOURS_MAX).contains(&duration_hours) {
        let message = format!("`duration_hours` is from 1 to {HOURS_MAX}");
        return Err(Error::invalid("duration_hours", format!("1..{HOURS_MAX}"), message));
    }
    let env_id = environment(&cx, place.env_id).await?;
    let asking = Asking { requested_role: target_role, reason, duration_minutes: duration_hours * 60 };
    http::asked(&cx, &env_id, asking).await.map(Created)
}

/// A bare list of them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JitRequests(Vec<JitRequest>);

pub async fn list(
    cx: Call,
    address: Address,
    Query(place): Query<ListPlace>,
    page: PageRequest,
) -> Result<Linked<JitRequests>> {
    let env_id = environment(&cx, place.env_id).await?;
    let Paged { data, pagination } = http::listed(&cx, &env_id, &page).await?;
    let next = pagination.cursor.map(|cursor| address.after(&cursor));
    Ok(Linked { list: JitRequests(data), next })
}
