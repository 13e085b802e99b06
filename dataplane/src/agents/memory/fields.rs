//! Arguments about memories, with their limits.

use chrono::Duration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::embedder::Provenance;
use super::{Memory, MemorySeed, Visibility};
use crate::Error;
use crate::limits::{counted, fraction, invalid, moment, named, sized};

const CONTENT_BYTES_MAX: usize = 64 * 1024;
const VALUE_BYTES_MAX: usize = 64 * 1024;
const METADATA_BYTES_MAX: usize = 16 * 1024;
const QUERY_BYTES_MAX: usize = 8 * 1024;
const TOP_K_MAX: usize = 100;
const PAGE_MAX: usize = 200;
const TTL_SECONDS_MAX: i64 = 10 * 365 * 24 * 3_600;
const NAMESPACE: &str = "default";

/// A memory to be stored.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMemory {
    /// What is to be remembered, at most 64 KiB.
    pub content: String,
    /// Names it: storing under the same key again makes the next version.
    pub memory_key: Option<String>,
    /// Any JSON kept beside the content.
    pub value: Option<Value>,
    /// `fact`, `observation`, `instruction`, `preference`, `episode`, `context`, `state` or your own.
    #[serde(default = "fact")]
    pub memory_type: String,
    /// 0 to 1.
    #[serde(default = "middling")]
    pub importance: f64,
    /// Keeps memories apart; `default` if absent.
    #[serde(default = "namespace")]
    pub namespace: String,
    pub session_id: Option<String>,
    /// Members that a search can ask for.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Seconds after which it is forgotten.
    pub ttl_seconds: Option<i64>,
    /// The branch it belongs to; the mainline if absent.
    pub branch_id: Option<String>,
    /// Store only if the key is at this version; 0: only if there is none.
    pub if_version: Option<i64>,
}

/// A search by similar words, and by meaning where a model makes the vectors.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What to look for, in words.
    pub query: String,
    /// Results wanted, 1 to 100.
    #[serde(default = "ten")]
    pub top_k: usize,
    pub memory_type: Option<String>,
    /// Only memories at least so important, 0 to 1.
    pub min_importance: Option<f64>,
    /// Only memories that fit at least so well, 0 to 1.
    pub min_score: Option<f64>,
    pub namespace: Option<String>,
    /// Only one agent's memories.
    pub agent_id: Option<String>,
    /// Members that the metadata must have.
    #[serde(default)]
    pub filters: Map<String, Value>,
    /// `MainOnly`, `BranchLocal` or `BranchWithFallback`; the last if a branch is named, else the first.
    visibility: Option<String>,
    branch_id: Option<String>,
    /// `next_cursor` of the same call, for the results behind those that it has shown.
    pub cursor: Option<String>,
}

/// A look-up by key or id.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recall {
    /// The key of the memory.
    pub key: Option<String>,
    /// Or the id of one version.
    pub memory_id: Option<String>,
    #[serde(default = "namespace")]
    pub namespace: String,
    /// `ExactKey`, the only one there is for a key.
    visibility: Option<String>,
    /// The branch it is looked up in; the mainline if absent. There is no fallback.
    pub branch_id: Option<String>,
    /// An earlier version.
    pub version: Option<i64>,
    /// As it was at this moment, ISO 8601.
    pub as_of: Option<String>,
}

/// A list of memories.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryListing {
    /// Only one agent's memories.
    pub agent_id: Option<String>,
    pub namespace: Option<String>,
    pub memory_type: Option<String>,
    pub key_prefix: Option<String>,
    pub session_id: Option<String>,
    /// The branch whose memories are listed; the mainline's if absent.
    pub branch_id: Option<String>,
    /// 1 to 200.
    #[serde(default = "fifty")]
    pub limit: usize,
    /// From the page before.
    pub cursor: Option<String>,
}

fn fact() -> String {
    "fact".to_owned()
}

fn middling() -> f64 {
    0.5
}

fn namespace() -> String {
    NAMESPACE.to_owned()
}

fn ten() -> usize {
    10
}

fn fifty() -> usize {
    50
}

impl NewMemory {
    pub(super) fn checked(self) -> Result<Self, Error> {
        sized("content", self.content.len(), CONTENT_BYTES_MAX)?;
        if self.content.trim().is_empty() {
            return Err(invalid("content", "content says nothing"));
        }
        if let Some(value) = &self.value {
            sized("value", value.to_string().len(), VALUE_BYTES_MAX)?;
        }
        sized("metadata", Value::Object(self.metadata.clone()).to_string().len(), METADATA_BYTES_MAX)?;
        let optional =
            [("memory_key", &self.memory_key), ("session_id", &self.session_id), ("branch_id", &self.branch_id)];
        optional.into_iter().try_for_each(|(field, text)| text.as_ref().map_or(Ok(()), |text| named(field, text)))?;
        named("memory_type", &self.memory_type)?;
        named("namespace", &self.namespace)?;
        fraction("importance", self.importance)?;
        if self.ttl_seconds.is_some_and(|ttl| !(1..=TTL_SECONDS_MAX).contains(&ttl)) {
            return Err(invalid("ttl_seconds", "ttl_seconds is from 1 second to ten years"));
        }
        if self.if_version.is_some() && self.memory_key.is_none() {
            return Err(invalid("if_version", "if_version needs a memory_key"));
        }
        Ok(self)
    }

    /// The next version of what it replaces, or the first of its own.
    pub(super) fn memory(
        self,
        (agent_id, maker): (&str, &str),
        replaced: Option<&Memory>,
        vector: Provenance,
        fresh: MemorySeed,
    ) -> Memory {
        let made_by = replaced.and_then(|replaced| replaced.made_by.clone());
        Memory {
            memory_id: fresh.memory_id,
            agent_id: agent_id.to_owned(),
            made_by: made_by.or_else(|| Some(maker.to_owned())),
            session_id: self.session_id,
            namespace: self.namespace,
            memory_key: self.memory_key,
            memory_type: self.memory_type,
            content: self.content,
            value: self.value,
            metadata: self.metadata,
            importance: self.importance,
            branch_id: self.branch_id,
            version: replaced.map_or(1, |replaced| replaced.version + 1),
            supersedes: replaced.map(|replaced| replaced.memory_id.clone()),
            created_at: fresh.now,
            valid_to: None,
            expires_at: self.ttl_seconds.map(|ttl| fresh.now + Duration::seconds(ttl)),
            vector,
        }
    }
}

impl Search {
    pub(super) fn checked(self) -> Result<Self, Error> {
        sized("query", self.query.len(), QUERY_BYTES_MAX)?;
        counted("top_k", self.top_k, TOP_K_MAX)?;
        let bounds = [("min_importance", self.min_importance), ("min_score", self.min_score)];
        bounds.into_iter().try_for_each(|(field, bound)| bound.map_or(Ok(()), |bound| fraction(field, bound)))?;
        self.visibility()?;
        Ok(self)
    }

    /// What decides its results and their order: all but which page is wanted.
    pub fn question(&self) -> Value {
        let Self { query, memory_type, min_importance, min_score, namespace, agent_id, filters, .. } = self;
        let (visibility, branch_id) = (&self.visibility, &self.branch_id);
        json!([query, memory_type, min_importance, min_score, namespace, agent_id, filters, visibility, branch_id])
    }

    /// "Default: `BranchWithFallback` with a `branch_id`, else `MainOnly`."
    pub(super) fn visibility(&self) -> Result<Visibility, Error> {
        let branch = self.branch_id.clone();
        match (self.visibility.as_deref(), branch) {
            (None, None) | (Some("MainOnly"), _) => Ok(Visibility::MainOnly),
            (None | Some("BranchWithFallback"), Some(branch)) => Ok(Visibility::BranchWithFallback(branch)),
            (Some("BranchLocal"), Some(branch)) => Ok(Visibility::BranchLocal(branch)),
            (Some("BranchLocal" | "BranchWithFallback"), None) => {
                Err(invalid("branch_id", "this visibility needs a branch_id"))
            }
            (Some(_), _) => {
                Err(invalid("visibility", "visibility of a search is MainOnly, BranchLocal or BranchWithFallback"))
            }
        }
    }
}

impl Recall {
    pub(super) fn checked(self) -> Result<Self, Error> {
        if self.key.is_some() == self.memory_id.is_some() {
            return Err(invalid("key", "either key or memory_id is given"));
        }
        if self.visibility.as_deref().is_some_and(|visibility| visibility != "ExactKey") {
            return Err(invalid("visibility", "visibility of a look-up is ExactKey"));
        }
        self.moment()?;
        Ok(self)
    }

    /// Microseconds of `as_of`.
    pub(super) fn moment(&self) -> Result<Option<i64>, Error> {
        moment("as_of", self.as_of.as_deref())
    }
}

impl MemoryListing {
    pub(super) fn checked(self) -> Result<Self, Error> {
        counted("limit", self.limit, PAGE_MAX)?;
        Ok(self)
    }
}
