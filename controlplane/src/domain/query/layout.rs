//! A statement laid out for reading. It runs nowhere, and no data plane is asked.

use std::sync::Arc;

use platform::http::call::Call;
use platform::http::json::Json;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST /v1/environments/{env_id}/format`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Formatting")]
#[serde(deny_unknown_fields)]
pub(super) struct FormatBody {
    /// At most 64 KiB.
    sql: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Formatted {
    sql: String,
}

/// A long text takes tens of milliseconds. Whoever goes while it waits for its place gives that up.
pub(super) async fn format(cx: Call, Json(body): Json<FormatBody>) -> Result<Json<Formatted>> {
    let place = Arc::clone(cx.app.layouts()).acquire_owned().await.map_err(Error::internal)?;
    let sql = Arc::clone(cx.app.shared_sql());
    let work = move || {
        let _until_it_is_done = place;
        sql.layout(&body.sql)
    };
    let laid_out = cx.app.tasks().spawn_blocking(work).await.map_err(Error::internal)?;
    match laid_out {
        Ok(sql) => Ok(Json(Formatted { sql })),
        Err(error) => Err(Error::invalid("sql", "formattable", error)),
    }
}
