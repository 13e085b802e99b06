//! What happens on its own: every [`Job`] there is, with its schedule, and the queue they wait in.
//!
//! A job is a row, written in the transaction of whatever asks for it, picked with `for update
//! skip locked`, woken by NOTIFY and polled as a fallback. It runs at least once: a worker that
//! dies leaves a lock that ends. What fails is tried again after longer and longer waits, and then
//! kept for people to see.
//!
//! Not here: what runs beside each other, webhook deliveries on ladders of their own
//! (`webhooks::work`) and shadow queries (`shadow_mode::work`), and mail, which waits for a mail server
//! (`mails::work`).

use std::time::Duration as Wait;

use chrono::Duration;
use contract::{EnvId, ExportId, JitRequestId, KeyId, ShadowSessionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::domain::accounts::failures::FailedLogin;
use crate::domain::accounts::links::{self, Purpose};
use crate::domain::accounts::sessions;
use crate::domain::api_keys::{expiry, resource};
use crate::domain::audit::exports;
use crate::domain::authentication::sso;
use crate::domain::environments::placement;
use crate::domain::runtime::sweeper;
use crate::domain::{billing, jit_access, policies, shadow_mode, webhooks};
use crate::platform::events::heads;
use crate::platform::http::idempotency;
use crate::platform::http::text::Email;
use crate::platform::mails;
use crate::{App, Result};

#[cfg(test)]
use crate::platform::jobs::worker::run_due;

/// A worker that holds a common job longer is taken for dead.
const LOCK: Duration = Duration::minutes(5);

/// All that happens on its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Job {
    /// Forgets sessions that ended long ago. Hourly.
    SweepSessions,
    /// Forgets answers to repeated requests after a day. Hourly.
    SweepIdempotencyKeys,
    /// Forgets deliveries that ended long ago. Hourly.
    SweepWebhookDeliveries,
    /// Forgets shadow sessions and uploads after a month. Hourly.
    SweepShadowMode,
    /// Times out attempts that nobody keeps alive. Every ten seconds.
    SweepLeases,
    /// Signs the heads of audit chains that have moved. Every minute.
    SignHeads,
    /// Tells organizations that a month has begun. Every minute.
    ResetBillingPeriods,
    /// Forgets links and mails of long ago. Hourly.
    SweepLinks,
    SweepMails,
    SweepSignOns,
    /// Finds out which rules of policies rule something. Every ten seconds.
    CheckBindings,
    /// Mails a link to whoever has an account of this address.
    MailLink {
        purpose: Purpose,
        email: Email,
    },
    /// Records that somebody failed to sign in.
    RecordFailedLogin {
        failed: FailedLogin,
    },
    /// Places the data plane of a new environment.
    ProvisionEnvironment {
        env_id: EnvId,
    },
    /// Ends the data plane of an environment that is suspended or removed.
    RetireEnvironment {
        env_id: EnvId,
    },
    /// Says that a key, or old secrets of it, are about to end.
    KeyExpiring {
        key_id: KeyId,
        ends: Timestamp,
    },
    /// Says that an elevation is over.
    EndElevation {
        request_id: JitRequestId,
    },
    /// Writes an export of an audit trail to the archive.
    ExportAudit {
        export_id: ExportId,
    },
    /// Stops a shadow session whose hours are over.
    EndShadowSession {
        session_id: ShadowSessionId,
    },
    /// Writes the resource of a key that REST has made, rotated or revoked.
    WriteKey {
        key_id: KeyId,
    },
}

impl Job {
    /// Jobs that are always in the queue, and how often they run.
    pub(crate) const PERIODIC: [(Self, Duration); 11] = [
        (Self::SweepSessions, Duration::hours(1)),
        (Self::SweepIdempotencyKeys, Duration::hours(1)),
        (Self::SweepWebhookDeliveries, Duration::hours(1)),
        (Self::SweepShadowMode, Duration::hours(1)),
        (Self::SweepLeases, sweeper::PERIOD),
        (Self::SignHeads, heads::PERIOD),
        (Self::ResetBillingPeriods, billing::PERIOD),
        (Self::SweepLinks, Duration::hours(1)),
        (Self::SweepMails, Duration::hours(1)),
        (Self::SweepSignOns, Duration::hours(1)),
        (Self::CheckBindings, policies::CHECKED_EVERY),
    ];

    pub(crate) async fn run(&self, app: &App) -> Result<()> {
        match self {
            Self::SweepSessions => sessions::sweep(app).await,
            Self::SweepIdempotencyKeys => idempotency::sweep(app).await,
            Self::SweepWebhookDeliveries => webhooks::sweep(app).await,
            Self::SweepShadowMode => shadow_mode::sweep(app).await,
            Self::SweepLeases => sweeper::sweep(app).await,
            Self::SignHeads => heads::sign_moved(app).await,
            Self::ResetBillingPeriods => billing::reset(app).await,
            Self::SweepLinks => links::sweep(app).await,
            Self::SweepMails => mails::sweep(app).await,
            Self::SweepSignOns => sso::sweep(app).await,
            Self::CheckBindings => policies::check_due(app).await,
            Self::MailLink { purpose, email } => links::write(app, *purpose, email).await,
            Self::RecordFailedLogin { failed } => failed.record(app).await,
            Self::ProvisionEnvironment { env_id } => placement::provision(app, env_id).await,
            Self::RetireEnvironment { env_id } => placement::retire(app, env_id).await,
            Self::KeyExpiring { key_id, ends } => expiry::say(app, key_id, *ends).await,
            Self::EndElevation { request_id } => jit_access::say(app, request_id).await,
            Self::ExportAudit { export_id } => exports::write(app, export_id).await,
            Self::EndShadowSession { session_id } => shadow_mode::end(app, session_id).await,
            Self::WriteKey { key_id } => resource::write(app, key_id).await,
        }
    }

    pub(crate) const fn lane(&self) -> Lane {
        match self {
            Self::SweepLeases => Lane::Leases,
            Self::CheckBindings => Lane::Bindings,
            _ => Lane::Common,
        }
    }

    pub(crate) fn period(&self) -> Option<Duration> {
        Self::PERIODIC.iter().find(|(job, _)| job == self).map(|(_, period)| *period)
    }
}

/// Jobs of one lane run one after another, beside those of the others: nothing that takes its time
/// keeps a lost lease from being found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Common,
    Leases,
    /// Data planes are asked, and some do not answer.
    Bindings,
}

impl Lane {
    pub const ALL: [Self; 3] = [Self::Common, Self::Leases, Self::Bindings];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Leases => "leases",
            Self::Bindings => "bindings",
        }
    }

    /// A worker that holds a job longer is taken for dead. A sweep of leases may run twice at once,
    /// and one whose worker died must not keep the next waiting.
    pub(crate) const fn lock(self) -> Duration {
        match self {
            Self::Common | Self::Bindings => LOCK,
            Self::Leases => Duration::seconds(3),
        }
    }

    /// The longest wait after a failure. A sweep that failed has found nothing yet.
    pub(crate) const fn longest_wait(self) -> Duration {
        match self {
            Self::Common | Self::Bindings => Duration::MAX,
            Self::Leases => Duration::seconds(1),
        }
    }

    /// A notification may be missed, and time makes jobs due without one.
    pub(crate) const fn poll(self) -> Wait {
        match self {
            Self::Common | Self::Bindings => Wait::from_secs(5),
            Self::Leases => Wait::from_secs(1),
        }
    }
}

#[cfg(test)]
mod tests;
