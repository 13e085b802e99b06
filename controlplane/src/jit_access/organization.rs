//! The same requests by the organization's path, as typed clients ask for them: a role, a reason and hours.

use schemars::JsonSchema;
use serde::Deserialize;

use super::http::{self, Answer, Asking, Wanted};
use crate::agent_tools::{ListPlace, Place, environment};
use crate::http::bare::Bare;
use crate::http::call::Call;
use crate::http::json::{Created, Json, Query};
use crate::http::page::Page;
use crate::{Error, Result};

/// "JIT duration: max 480 minutes".
const HOURS_MAX: i64 = 8;

/// What is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "JitRequestInput")]
#[serde(deny_unknown_fields)]
pub struct Input {
    target_role: Wanted,
    reason: String,
    /// 1 to 8; 1 if absent.
    #[serde(default = "hour")]
    duration_hours: i64,
}

fn hour() -> i64 {
    1
}

pub async fn request(cx: Call, Query(place): Query<Place>, Json(input): Json<Input>) -> Result<Created<Answer>> {
    let Input { target_role, reason, duration_hours } = input;
    if !(1..=HOURS_MAX).contains(&duration_hours) {
        let message = format!("`duration_hours` is from 1 to {HOURS_MAX}");
        return Err(Error::invalid("duration_hours", format!("1..{HOURS_MAX}"), message));
    }
    let env_id = environment(&cx, place.env_id).await?;
    let asking = Asking { requested_role: target_role, reason, duration_minutes: duration_hours * 60 };
    http::asked(&cx, &env_id, asking).await.map(Created)
}

pub async fn list(cx: Call, Query(place): Query<ListPlace>, page: Page) -> Result<Bare<Answer>> {
    let env_id = environment(&cx, place.env_id).await?;
    http::listed(&cx, &env_id, &page).await.map(Bare)
}
