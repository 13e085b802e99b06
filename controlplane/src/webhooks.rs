//! Webhooks: who is told of what happens, how, and what they were told.
//!
//! There are two surfaces. The organization's webhooks hear of what people do ("Webhook delivery"),
//! the others of triggers, billing and system notices ("Delivery contract"). They differ in the
//! types that can be named, the body, the headers and the delays ([`Surface`]); all else is one.
//!
//! What an event tells is written in the transaction that recorded it (`outbox`); from there a
//! queue of its own delivers at least once (`delivery`), and "receivers deduplicate on the event
//! id". A receiver is somewhere that a stranger has named: what may be reached is decided twice, when
//! the URL is given and when its name has become an address (`address`, `courier`).

mod address;
mod courier;
mod delivery;
mod http;
mod notices;
mod outbox;
mod queue;
#[cfg(test)]
mod receiver;
mod store;
mod surface;
#[cfg(test)]
mod tests;

use contract::{Access, Scope};

pub use courier::Courier;
pub use delivery::{run_due, work};
pub use outbox::tell;
pub use queue::sweep;
pub use surface::Surface;

use crate::http::routes::Routes;

pub fn routes() -> Routes {
    use Access::Admin;
    use Scope::{WebhookRead, WebhookWrite};
    const ALL: &str = "/v1/organizations/{org_id}/webhooks";
    const ONE: &str = "/v1/organizations/{org_id}/webhooks/{webhook_id}";
    const TEST: &str = "/v1/organizations/{org_id}/webhooks/{webhook_id}/test";
    Routes::new()
        .get(ALL, Admin, WebhookRead, http::list)
        .deprecated()
        .post(ALL, Admin, WebhookWrite, http::create)
        .deprecated()
        .secret("signing_secret")
        .put(ONE, Admin, WebhookWrite, http::update)
        .deprecated()
        .delete(ONE, Admin, WebhookWrite, http::delete)
        .deprecated()
        .post(TEST, Admin, WebhookWrite, http::test)
        .deprecated()
        .post("/v1/webhooks", Admin, WebhookWrite, notices::create)
        .get("/v1/webhooks", Admin, WebhookRead, notices::list)
        .delete("/v1/webhooks/{webhook_id}", Admin, WebhookWrite, notices::delete)
        .get("/v1/webhooks/deliveries", Admin, WebhookRead, notices::deliveries)
        .post("/v1/webhooks/deliveries/{event_id}/replay", Admin, WebhookWrite, notices::replay)
}
