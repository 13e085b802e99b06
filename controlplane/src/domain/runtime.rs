//! The governed runtime, `/v2`: work that agents do under leases, and the record of it.
//!
//! "The `/v2` endpoints are enabled by the flag `SVC_V2_RUNTIME_ENABLED` set to true; when off,
//! they return 404." "Runtime data lives in a relational schema named `svc_runtime`."
//!
//! Everything belongs to an organization, and what is another's is absent. Members read; owners,
//! admins and developers write, and keys with `agent:*`. Times are the database's (`clock`), and a
//! change and its workflow event are one transaction. Whoever changes a task or its attempts locks
//! the task first, then the attempt.

mod actor;
mod artifacts;
mod attempts;
mod change;
mod clock;
mod decisions;
mod events;
mod explain;
mod fields;
mod gates;
pub mod hidden;
mod invocations;
mod listing;
mod notifications;
mod people;
mod recovery;
mod releases;
mod reviews;
mod routing;
pub mod sql;
pub mod sweeper;
mod tasks;
mod views;

use platform::http::routes::Routes;

/// Every path of the runtime begins so.
pub const PREFIX: &str = "/v2/";

pub use attempts::HEARTBEAT;

pub fn routes() -> Routes {
    Routes::new()
        .and(tasks::routes())
        .and(attempts::routes())
        .and(decisions::routes())
        .and(invocations::routes())
        .and(artifacts::routes())
        .and(events::routes())
        .and(reviews::routes())
        .and(releases::routes())
        .and(recovery::routes())
        .and(explain::routes())
        .and(gates::routes())
        .and(routing::routes())
        .and(views::routes())
}

#[cfg(test)]
mod history;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod walk;
