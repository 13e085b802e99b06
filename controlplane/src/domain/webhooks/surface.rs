//! Differences of the two surfaces, and the states of a webhook and of a delivery.

use std::collections::BTreeSet;

use chrono::Duration;

use platform::events::{EventType, WebhookName};

/// Delays before each attempt. "A non-2xx reply is retried with delays of 1 minute, 5 minutes, 30
/// minutes, 2 hours, 12 hours."
const ORGANIZATION_DELAYS: [Duration; 6] = [
    Duration::zero(),
    Duration::minutes(1),
    Duration::minutes(5),
    Duration::minutes(30),
    Duration::hours(2),
    Duration::hours(12),
];

/// "Attempts at immediate, 30 seconds, 2 minutes, 10 minutes, 30 minutes, 1 hour after the previous
/// (6 attempts)."
const NOTICES_DELAYS: [Duration; 6] = [
    Duration::zero(),
    Duration::seconds(30),
    Duration::minutes(2),
    Duration::minutes(10),
    Duration::minutes(30),
    Duration::hours(1),
];

/// "The name `policy.changed` also appears in a sample subscription": it means the three
/// `policy.*`, and is never sent as a type.
const ANY_POLICY_CHANGE: &str = "policy.changed";
const POLICY_CHANGES: [&str; 3] = ["policy.created", "policy.updated", "policy.deleted"];
/// A notice that a subscription can name, of which no event tells.
const MAINTENANCE: &str = "system.maintenance";

contract::named! {
    /// Which webhooks.
    pub enum Surface {
        /// `/v1/organizations/{org_id}/webhooks`.
        Organization = "organization",
        /// `/v1/webhooks`: "for triggers, billing and system notices".
        Notices = "notices",
    }
}

impl Surface {
    /// "Event types a subscription can name", in the order of their names.
    pub fn types(self) -> Vec<&'static str> {
        let own = match self {
            Self::Organization => ANY_POLICY_CHANGE,
            Self::Notices => MAINTENANCE,
        };
        let told = EventType::ALL.iter().filter_map(|kind| self.name_of(*kind));
        let names: BTreeSet<_> = told.chain([own]).collect();
        names.into_iter().collect()
    }

    /// The type under which it tells of an event, if it does.
    pub fn name_of(self, kind: EventType) -> Option<&'static str> {
        kind.webhook_names().iter().find_map(|name| match (self, name) {
            (Self::Organization, WebhookName::Organization) => Some(kind.as_str()),
            (Self::Notices, WebhookName::Notice(name)) => Some(*name),
            _ => None,
        })
    }

    /// The names of subscriptions that want this type.
    pub fn subscriptions(self, event_type: &str) -> Vec<String> {
        let mut names = vec![event_type.to_owned()];
        if self == Self::Organization && POLICY_CHANGES.contains(&event_type) {
            names.push(ANY_POLICY_CHANGE.to_owned());
        }
        names
    }

    /// Delays before each attempt.
    pub const fn retry_delays(self) -> &'static [Duration; 6] {
        match self {
            Self::Organization => &ORGANIZATION_DELAYS,
            Self::Notices => &NOTICES_DELAYS,
        }
    }

    /// How long after the `attempts`th failed attempt the next one is due; `None` after the last.
    pub fn wait_after(self, attempts: i32) -> Option<Duration> {
        usize::try_from(attempts).ok().and_then(|next| self.retry_delays().get(next)).copied()
    }

    /// "After 5 failed retries the webhook is `failed`"; on the other surface only "the event is
    /// marked failed in the delivery log".
    pub const fn fails_whole(self) -> bool {
        matches!(self, Self::Organization)
    }
}

contract::named! {
    /// "`status` (`active`, `failed`)": a failed one receives nothing.
    pub enum WebhookStatus { Active = "active", Failed = "failed" }
}

contract::named! {
    /// Where one event for one webhook has got to.
    pub enum DeliveryStatus { Pending = "pending", Delivered = "delivered", Failed = "failed" }
}

/// A transition of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookTrigger {
    RetriesExhausted,
    Updated,
    TestSucceeded,
}

impl WebhookStatus {
    /// "`active`, 5 failed retries, `failed`: no deliveries until the endpoint is updated or a test
    /// succeeds."
    pub const fn after(self, trigger: WebhookTrigger) -> Self {
        match (self, trigger) {
            (Self::Active | Self::Failed, WebhookTrigger::RetriesExhausted) => Self::Failed,
            (Self::Active | Self::Failed, WebhookTrigger::Updated | WebhookTrigger::TestSucceeded) => Self::Active,
        }
    }
}

/// A transition of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryTrigger {
    Accepted,
    Exhausted,
    Replayed,
}

impl DeliveryStatus {
    /// `None`: not from here.
    pub const fn after(self, trigger: DeliveryTrigger) -> Option<Self> {
        match (self, trigger) {
            (Self::Pending, DeliveryTrigger::Accepted) => Some(Self::Delivered),
            (Self::Pending, DeliveryTrigger::Exhausted) => Some(Self::Failed),
            (Self::Failed, DeliveryTrigger::Replayed) => Some(Self::Pending),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lists_of_delays_are_the_specifications() {
        let seconds = |surface: Surface| surface.retry_delays().map(|delay| delay.num_seconds());
        assert_eq!(seconds(Surface::Organization), [0, 60, 300, 1_800, 7_200, 43_200]);
        assert_eq!(seconds(Surface::Notices), [0, 30, 120, 600, 1_800, 3_600]);
        for surface in [Surface::Organization, Surface::Notices] {
            assert_eq!((surface.wait_after(5).is_some(), surface.wait_after(6)), (true, None));
        }
    }

    #[test]
    fn a_delivery_moves_as_the_table_says_and_no_other_way() {
        use DeliveryStatus::{Delivered, Failed, Pending};
        use DeliveryTrigger::{Accepted, Exhausted, Replayed};
        let table = [
            (Pending, [Some(Delivered), Some(Failed), None]),
            (Delivered, [None, None, None]),
            (Failed, [None, None, Some(Pending)]),
        ];
        for (from, to) in table {
            assert_eq!([Accepted, Exhausted, Replayed].map(|trigger| from.after(trigger)), to, "{from:?}");
        }
    }

    #[test]
    fn a_webhook_fails_when_its_retries_are_used_up_and_comes_back_by_update_or_test() {
        use WebhookTrigger::{RetriesExhausted, TestSucceeded, Updated};
        for from in WebhookStatus::ALL {
            let to = [RetriesExhausted, Updated, TestSucceeded].map(|trigger| from.after(trigger).as_str());
            assert_eq!(to, ["failed", "active", "active"], "{from:?}");
        }
    }
}
