//! Shadow mode: queries are run a second time, and what comes of it is compared with what came of
//! them before: those that an environment runs, sampled as they happen, or those of a log that was
//! uploaded.
//!
//! A session's `source` is `live` (sampled queries run again in the same environment), `env:<env_id>`
//! (they run in another environment of the organization) or `upload` (nothing is sampled). Sampled
//! queries run under their caller's own rights, a log's under those of whoever replays it; nothing
//! that writes is ever replayed. Replays are queries as any other: judged, billed and audited.
//!
//! "A start while a session is active returns 409." A log is replayed within a session.

mod comparing;
mod replaying;
mod report;
mod sampling;
mod sessions;
mod states;
mod store;
#[cfg(test)]
mod tests;
mod uploads;

use contract::{Access, Scope};
use platform::http::routes::Routes;

pub use replaying::{run_due, work};
pub use sampling::sample;
pub use sessions::EndShadowSession;
pub use store::sweep;

pub fn routes() -> Routes {
    use Access::Admin;
    use Scope::{EnvironmentRead, EnvironmentWrite};
    Routes::new()
        .post("/v1/environments/{env_id}/shadow-mode/start", Admin, EnvironmentWrite, sessions::start)
        .says("Starts a session that compares answers with those of a source.")
        .get("/v1/environments/{env_id}/shadow-mode/status", Admin, EnvironmentRead, sessions::status)
        .says("Reads the session that runs, or else the last that did.")
        .post("/v1/environments/{env_id}/shadow-mode/upload", Admin, EnvironmentWrite, uploads::upload)
        .says("Takes a log of queries, one JSON object a line.")
        .post("/v1/environments/{env_id}/shadow-mode/replay", Admin, EnvironmentWrite, uploads::replay)
        .says("Replays an uploaded log.")
        .get("/v1/environments/{env_id}/shadow-mode/report", Admin, EnvironmentRead, report::report)
        .says("Tells what matched, what did not, and how long it took.")
        .post("/v1/environments/{env_id}/shadow-mode/stop", Admin, EnvironmentWrite, sessions::stop)
        .says("Stops the session.")
}
