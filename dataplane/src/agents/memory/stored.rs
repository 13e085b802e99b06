//! A memory that was stored, or was there already, as whoever stores it is told.

use contract::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::agents::moment;

/// What storing came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stored {
    pub memory_id: String,
    pub agent_id: String,
    #[serde(serialize_with = "as_moment")]
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_key: Option<String>,
    pub version: i64,
    /// False for a new version of a key, and for what was there already.
    pub created: bool,
    /// The same was there already.
    pub deduplicated: bool,
    /// Another memory that says nearly the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similar_memory_id: Option<String>,
    /// `ready`, or `pending` or `failed`: the next search finds it by its words alone.
    pub embedding_status: &'static str,
}

fn as_moment<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&moment(*at))
}
