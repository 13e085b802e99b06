//! Background jobs: every kind of them, with its schedule.
//!
//! A job is a row, written in the transaction of whatever asks for it, picked with `for update
//! skip locked`, woken by NOTIFY and polled as a fallback. It runs at least once: a worker that
//! dies leaves a lock that ends. What fails is tried again after longer and longer waits, and then
//! kept for people to see.
//!
//! Not here: what runs beside each other, webhook deliveries with delays of their own
//! (`webhooks::work`) and shadow queries (`shadow_mode::work`), and mail, which waits for a mail server
//! (`mails::work`).

use chrono::Duration;
use platform::events::heads;
use platform::http::idempotency;
use platform::jobs::kind::JobKind;
use platform::jobs::lane::Lane;
use platform::jobs::queue;
use platform::mails;
use platform::{App, Result};

use crate::domain::accounts::failures::RecordFailedLogin;
use crate::domain::accounts::links::{self, MailLink};
use crate::domain::accounts::sessions;
use crate::domain::api_keys::expiry::KeyExpiring;
use crate::domain::api_keys::resource::WriteKey;
use crate::domain::audit::exports::ExportAudit;
use crate::domain::authentication::sso;
use crate::domain::environments::placement::{ProvisionEnvironment, RetireEnvironment};
use crate::domain::jit_access::EndElevation;
use crate::domain::runtime::sweeper;
use crate::domain::shadow_mode::EndShadowSession;
use crate::domain::{billing, operations, policies, shadow_mode, storage_integrations, webhooks};
#[cfg(test)]
use platform::jobs::worker::run_lane;

const HOUR: Duration = Duration::hours(1);

/// All that happens on its own: first what is always in the queue, then what is queued on request.
pub static KINDS: &[JobKind] = &[
    // Forgets sessions that ended long ago.
    JobKind::periodic("sweep_sessions", HOUR, |app, _| Box::pin(sessions::sweep(app))),
    // Forgets answers to repeated requests after a day.
    JobKind::periodic("sweep_idempotency_keys", HOUR, |app, _| Box::pin(idempotency::sweep(app))),
    // Forgets deliveries that ended long ago.
    JobKind::periodic("sweep_webhook_deliveries", HOUR, |app, _| Box::pin(webhooks::sweep(app))),
    // Forgets shadow sessions and uploads after a month.
    JobKind::periodic("sweep_shadow_mode", HOUR, |app, _| Box::pin(shadow_mode::sweep(app))),
    // Forgets operations after a day.
    JobKind::periodic("sweep_operations", HOUR, |app, _| Box::pin(operations::sweep(app))),
    // Times out attempts that nobody keeps alive.
    JobKind::periodic("sweep_leases", sweeper::PERIOD, |app, _| Box::pin(sweeper::sweep(app))).in_lane(Lane::Leases),
    // Signs the heads of audit chains that have moved.
    JobKind::periodic("sign_heads", heads::PERIOD, |app, _| Box::pin(heads::sign_moved(app))),
    // Tells organizations that a month has begun.
    JobKind::periodic("reset_billing_periods", billing::PERIOD, |app, _| Box::pin(billing::reset(app))),
    // Forgets links and mails of long ago.
    JobKind::periodic("sweep_links", HOUR, |app, _| Box::pin(links::sweep(app))),
    JobKind::periodic("sweep_mails", HOUR, |app, _| Box::pin(mails::sweep(app))),
    JobKind::periodic("sweep_sign_ons", HOUR, |app, _| Box::pin(sso::sweep(app))),
    // Finds out which rules of policies rule something.
    JobKind::periodic("check_bindings", policies::CHECKED_EVERY, |app, _| Box::pin(policies::check_due(app)))
        .in_lane(Lane::Bindings),
    // Reads Secrets of storage integrations again: an access key may be another by now.
    JobKind::periodic("reread_storage_secrets", storage_integrations::REREAD_EVERY, |app, _| {
        Box::pin(storage_integrations::reread(app))
    })
    .in_lane(Lane::Bindings),
    JobKind::of::<MailLink>(),
    JobKind::of::<RecordFailedLogin>(),
    JobKind::of::<ProvisionEnvironment>(),
    JobKind::of::<RetireEnvironment>(),
    JobKind::of::<KeyExpiring>(),
    JobKind::of::<EndElevation>(),
    JobKind::of::<ExportAudit>(),
    JobKind::of::<EndShadowSession>(),
    JobKind::of::<WriteKey>(),
];

/// Puts the periodic jobs into the queue where they are missing.
pub async fn schedule(app: &App) -> Result<()> {
    queue::schedule(app, KINDS).await
}

/// Runs every job that is due now, lane after lane, and says how many there were.
#[cfg(test)]
pub async fn run_due(app: &App) -> Result<usize> {
    let mut count = 0;
    for lane in Lane::ALL {
        count += run_lane(app, KINDS, lane).await?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests;
