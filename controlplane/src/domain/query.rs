//! Queries: authenticated here, run in the environment's data plane.
//!
//! The control plane never parses SQL; all it can do with a text is to lay it out (`layout`). It
//! checks the body's form, says who is asking
//! (`X-Sluice-Caller`, never the credential), and streams the answer back, trailers included.
//! A data plane that has certainly heard nothing is tried for five seconds (`attempts`); one that
//! does not answer is `SVC_ERR_502_PROXY_UNREACHABLE`; after several in a row the circuit opens: `SVC_ERR_503_CIRCUIT_OPEN`, "default cooldown 30 seconds; `Retry-After`".

mod answer;
mod attempts;
mod catalogue;
mod explain;
mod followed_load;
mod forward;
mod layout;
mod load;
mod stage_files;

use contract::wire::{Format, QueryBody, SQL_BYTES_MAX, TIMEOUT_MS_MAX};
use contract::{Access, Code, Heal, Scope, StandardStrings};
use platform::http::call::Call;
use platform::http::json::Json;
use platform::http::routes::Routes;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

pub use explain::test;
pub use forward::{ForwardedQuery, caller, send, told_of, told_to_us};

use answer::{ArrowRows, RowsAnswer};

/// What a statement may fail of, besides what every request may.
pub const REFUSALS: &[Code] = &[
    Code::BadSql,
    Code::PolicyDenied,
    Code::TableNotFound,
    Code::QueryTimeout,
    Code::Conflict,
    Code::UnsupportedSql,
    Code::QuotaExceeded,
    Code::EngineCrash,
    Code::ProxyUnreachable,
    Code::CircuitOpen,
];

pub fn routes() -> Routes {
    Routes::new()
        .post("/v1/environments/{env_id}/query", Access::Member, Scope::QueryRead, query)
        .says("Runs a statement in the environment; answers rows as JSON, CSV or an Arrow stream. An answer that fails on its way breaks its transfer.")
        .keyed()
        .refuses(REFUSALS)
        .post("/v1/environments/{env_id}/query/arrow", Access::Member, Scope::QueryRead, arrow)
        .says("Runs a statement; answers rows as an Arrow stream in base64.")
        .keyed()
        .refuses(REFUSALS)
        .post("/v1/environments/{env_id}/tables/{name}/load", Access::Member, Scope::QueryWrite, load::load)
        .ours()
        .says("Loads the file that is the body into the table `name` or `schema.name`: all of it, or nothing. One that names its operation can be followed and cancelled. Developers and above may.")
        .refuses(REFUSALS)
        .and(of_stages())
        .post("/v1/environments/{env_id}/transpile", Access::Member, Scope::QueryRead, explain::transpile)
        .ours()
        .says("Tells what a statement becomes in the engine's dialect, without running it; owners and admins see the policies in it.")
        .refuses(REFUSALS)
        .post("/v1/transpile", Access::Member, Scope::QueryRead, explain::ready)
        .ours()
        .says("The same for the environment of the key, with the statement as the data plane takes it in `sql`.")
        .refuses(REFUSALS)
        .post("/v1/environments/{env_id}/format", Access::Member, Scope::QueryRead, layout::format)
        .ours()
        .says("Lays a statement out for reading; it means the same.")
        .get("/v1/environments/{env_id}/catalogue", Access::Member, Scope::QueryRead, catalogue::catalogue)
        .ours()
        .of_pages()
        .says("Lists the columns that you may see, by schema, table and place; each row is schema, table, column and type.")
        .refuses(REFUSALS)
}

/// The path of a file stands in one part of the address, its slashes as `%2F`.
fn of_stages() -> Routes {
    Routes::new()
        .get("/v1/environments/{env_id}/stages/{stage}/files", Access::Member, Scope::QueryRead, stage_files::list)
        .ours()
        .says("Lists files of the stage `name`, `schema.name`, `~` or `%table` by path, at most 10,000; `prefix` is how their paths begin.")
        .refuses(REFUSALS)
        .get("/v1/environments/{env_id}/stages/{stage}/files/{path}", Access::Member, Scope::QueryRead, stage_files::get)
        .ours()
        .says("Sends a file of a stage as it is. The slashes of its path are written as %2F.")
        .refuses(REFUSALS)
        .put("/v1/environments/{env_id}/stages/{stage}/files/{path}", Access::Member, Scope::QueryWrite, stage_files::put)
        .ours()
        .says("Puts the file that is the body into a stage, whole, in place of one of that path. Developers and above may.")
        .refuses(REFUSALS)
        .delete("/v1/environments/{env_id}/stages/{stage}/files/{path}", Access::Member, Scope::QueryWrite, stage_files::remove)
        .ours()
        .says("Removes a file of a stage. Developers and above may.")
        .refuses(REFUSALS)
}

async fn query(cx: Call, Json(body): Json<QueryBody>) -> Result<RowsAnswer> {
    within_limits(&body)?;
    if matches!(body.format, Format::Arrow) {
        has_arrow(&cx)?;
    }
    forward::forward(&cx, "query", &body).await.map(RowsAnswer)
}

/// Body of `POST /v1/environments/{env_id}/query/arrow`: "`sql` string required".
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ArrowQuery")]
#[serde(deny_unknown_fields)]
struct ArrowBody {
    sql: String,
    agent_id: Option<String>,
    agent_framework: Option<String>,
    timeout_ms: Option<u64>,
    /// A statement that fails is healed no further than this, and never further than the environment's `settings.heal`.
    heal: Option<Heal>,
    /// What a backslash in a string is: `on` (default), an ordinary character; `off`, an escape, as in the warehouse.
    standard_conforming_strings: Option<StandardStrings>,
}

async fn arrow(cx: Call, Json(body): Json<ArrowBody>) -> Result<ArrowRows> {
    let ArrowBody { sql, agent_id, agent_framework, timeout_ms, heal, standard_conforming_strings } = body;
    let body = QueryBody {
        sql,
        agent_id,
        agent_framework,
        timeout_ms,
        heal,
        standard_conforming_strings,
        ..QueryBody::default()
    };
    within_limits(&body)?;
    has_arrow(&cx)?;
    forward::forward(&cx, "query/arrow", &body).await.map(ArrowRows)
}

fn within_size(sql: &str) -> Result<()> {
    if sql.len() > SQL_BYTES_MAX {
        return Err(Error::QueryTooLarge);
    }
    if sql.trim().is_empty() {
        return Err(Error::invalid("sql", "required", "`sql` is empty"));
    }
    Ok(())
}

fn within_limits(body: &QueryBody) -> Result<()> {
    within_size(&body.sql)?;
    if body.timeout_ms.is_some_and(|timeout_ms| !(1..=TIMEOUT_MS_MAX).contains(&timeout_ms)) {
        let message = format!("`timeout_ms` is from 1 to {TIMEOUT_MS_MAX}");
        return Err(Error::invalid("timeout_ms", format!("1..{TIMEOUT_MS_MAX}"), message));
    }
    Ok(())
}

/// "Arrow endpoints: Cloud and Enterprise tiers."
fn has_arrow(cx: &Call) -> Result<()> {
    if cx.tier.has_arrow() { Ok(()) } else { Err(Error::ArrowNotInTier { tier: cx.tier }) }
}

#[cfg(test)]
pub mod tests;
