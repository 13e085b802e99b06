//! Webhooks: who is told of what happens, how, and what they were told.
//!
//! There are two surfaces. The organization's webhooks hear of what people do ("Webhook delivery"),
//! the others of triggers, billing and system notices ("Delivery contract"). They differ in the
//! types that can be named, the body, the headers and the delays ([`Surface`]); all else is one.
//!
//! What an event tells is written in the transaction that recorded it (`outbox`); from there a
//! queue of its own delivers at least once (`delivery`), and "receivers deduplicate on the event
//! id". A receiver is somewhere that a stranger has named: what may be reached is decided twice, when
//! the URL is given and when its name has become an address (`address`, `egress::client`).

mod delivery;
mod http;
mod notices;
mod outbox;
mod queue;
mod rotation;
#[cfg(test)]
mod rotation_tests;
pub(crate) mod store;
mod surface;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trigger_tests;

use contract::{Access, Code, Scope};
use platform::http::routes::Routes;

pub use delivery::{run_due, work};
pub use outbox::{hears_of_triggers, only_for, tell};
pub use queue::sweep;
pub use surface::Surface;

pub fn routes() -> Routes {
    use Access::Admin;
    use Scope::{WebhookRead, WebhookWrite};
    const ALL: &str = "/v1/organizations/{org_id}/webhooks";
    const ONE: &str = "/v1/organizations/{org_id}/webhooks/{webhook_id}";
    const TEST: &str = "/v1/organizations/{org_id}/webhooks/{webhook_id}/test";
    const ROTATE: &str = "/v1/organizations/{org_id}/webhooks/{webhook_id}/rotate-secret";
    Routes::new()
        .get(ALL, Admin, WebhookRead, http::list)
        .says("Lists the webhooks.")
        .deprecated()
        .succeeded_by("/v1/webhooks")
        .post(ALL, Admin, WebhookWrite, http::create)
        .says("Makes a webhook; the answer alone holds its signing secret.")
        .deprecated()
        .succeeded_by("/v1/webhooks")
        .secret("signing_secret", "delete the webhook and create it anew")
        .put(ONE, Admin, WebhookWrite, http::update)
        .says("Changes what is given of a webhook; a failed one is active again.")
        .versioned()
        .deprecated()
        .succeeded_by("/v1/webhooks")
        .delete(ONE, Admin, WebhookWrite, http::delete)
        .says("Deletes a webhook.")
        .versioned()
        .deprecated()
        .succeeded_by("/v1/webhooks")
        .post(TEST, Admin, WebhookWrite, http::test)
        .says("Sends a test event now.")
        .refuses(&[Code::DeliveryFailed])
        .deprecated()
        .succeeded_by("/v1/webhooks")
        .post(ROTATE, Admin, WebhookWrite, rotation::rotate)
        .says("Gives a webhook another signing secret; until the grace ends the one before signs too.")
        .deprecated()
        .succeeded_by("/v1/webhooks/{webhook_id}/rotate-secret")
        .secret("signing_secret", "rotate it again")
        .ours()
        .post("/v1/webhooks", Admin, WebhookWrite, notices::create)
        .says("Subscribes to notices, signed with a secret of your own.")
        .get("/v1/webhooks", Admin, WebhookRead, notices::list)
        .says("Lists the subscriptions.")
        .delete("/v1/webhooks/{webhook_id}", Admin, WebhookWrite, notices::delete)
        .says("Ends a subscription.")
        .versioned()
        .post("/v1/webhooks/{webhook_id}/rotate-secret", Admin, WebhookWrite, rotation::rotate_own)
        .says("Gives a subscription another secret of yours; until the grace ends the one before signs too.")
        .ours()
        .get("/v1/webhooks/deliveries", Admin, WebhookRead, notices::deliveries)
        .says("Lists the deliveries, newest first.")
        .post("/v1/webhooks/deliveries/{event_id}/replay", Admin, WebhookWrite, notices::replay)
        .says("Delivers an event again to those that did not take it.")
}
