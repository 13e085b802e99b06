//! Ids: "Record identifiers are opaque strings." Ours are UUID version 7, so they sort by time.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Entropy, Timestamp};

/// The text of a fresh UUID version 7.
pub fn fresh(now: Timestamp, entropy: &Entropy) -> String {
    let millis = u64::try_from(now.timestamp_millis()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &entropy.bytes::<10>()).into_uuid().to_string()
}

/// The text of a UUID version 4: random in all its bits, for what must not be guessed.
pub fn unguessable(entropy: &Entropy) -> String {
    uuid::Builder::from_random_bytes(entropy.bytes()).into_uuid().to_string()
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(String);

        impl $name {
            pub fn fresh(now: Timestamp, entropy: &Entropy) -> Self {
                Self(fresh(now, entropy))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

ids! {
    OrgId,
    UserId,
    EnvId,
    KeyId,
    PolicyId,
    /// One query through the pipeline; names its audit entry.
    QueryId,
    EventId,
    WebhookId,
    DeliveryId,
    ExportId,
    /// A session of shadow mode.
    ShadowSessionId,
    StorageIntegrationId,
    UploadId,
    ReplayId,
    SessionId,
    /// Capabilities that an agent was granted.
    GrantId,
    /// A request for a role for a while.
    JitRequestId,
    /// Long work that can be looked at and cancelled, such as a load; whoever starts it chooses its id.
    OperationId,
    /// `X-Request-Id`: the caller's own if it is well formed, else ours.
    RequestId,
}

impl RequestId {
    /// The caller's id if it matches `[A-Za-z0-9._-]{1,64}`.
    pub fn accepted(text: &str) -> Option<Self> {
        is_well_formed(text).then(|| Self(text.to_owned()))
    }

    /// `req_` and a UUID.
    pub fn minted(now: Timestamp, entropy: &Entropy) -> Self {
        Self(format!("req_{}", fresh(now, entropy)))
    }
}

impl OperationId {
    /// The caller's id if it matches `[A-Za-z0-9._-]{1,64}`.
    pub fn accepted(text: &str) -> Option<Self> {
        is_well_formed(text).then(|| Self(text.to_owned()))
    }
}

/// Of an id that a caller chooses.
fn is_well_formed(text: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time() {
        let entropy = Entropy::seeded(3);
        let at = |seconds| chrono::DateTime::from_timestamp(seconds, 0).unwrap();
        assert!(OrgId::fresh(at(1_000), &entropy) < OrgId::fresh(at(2_000), &entropy));
    }

    #[test]
    fn an_id_that_a_caller_chooses_is_kept_only_if_it_is_well_formed() {
        assert!(RequestId::accepted("abc.DEF_1-2").is_some());
        assert!(OperationId::accepted("abc.DEF_1-2").is_some());
        for bad in ["", "a b", "ä", "x\ny", &"x".repeat(65)] {
            assert!(RequestId::accepted(bad).is_none(), "{bad:?}");
            assert!(OperationId::accepted(bad).is_none(), "{bad:?}");
        }
    }
}
