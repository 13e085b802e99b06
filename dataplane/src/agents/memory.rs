//! Memories of agents: texts with an optional key, kept in the environment's own file and found
//! again by key or by similar words; by meaning, where a model makes their vectors.
//!
//! A memory belongs to an agent: the one its key was made for, else the one that is declared, else
//! the caller itself. A key made for an agent reaches that agent's memories and no others; any other
//! caller may search all of its environment, and change what is theirs (`ownership`). Every change is a new
//! version; the one before gets an end. "Branch visibility modes: `MainOnly`, `BranchLocal`, `BranchWithFallback`, `ExactKey`."
//!
//! The truth is a table that no statement reaches (`store`). Search runs over an index in memory
//! (`index`), made from the table when it is first asked for, and changed with it: what was stored is
//! found by the next search, in the order of the score that is shown. Its words (`words`) are taken apart
//! as those of the question are. Vectors come from `embedding`, which needs nothing but the text; or from a
//! model, where one is set up (`embedder`), and then they may come later (`reembedding`).

mod code;
mod comparing;
mod embedder;
mod embedding;
mod fields;
mod index;
mod likeness;
mod reembedding;
mod score;
mod search;
mod stats;
mod store;
mod stored;
mod words;

use std::sync::Arc;

use contract::{Access, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tokio::task::spawn_blocking;

use crate::Error;
use crate::agents::last_shown::ShownPosition;
use crate::agents::ownership::{Ownership, maker};
use crate::pipeline::CallerContext;
use crate::storage::system_tables::{self, json_text, json_text_or_null};
use embedder::Provenance;
use index::Index;
use search::SearchMeaning;

pub use super::listing_cursor::cursor;
pub use comparing::comparing;
pub use embedder::Embedder;
pub use fields::{MemoryListing, NewMemory, Recall, Search};
pub use likeness::{ComparedText, Likeness};
pub use reembedding::Progress;
pub use search::Hit;
pub use stats::Stats;
pub use stored::Stored;

/// The name that policies have for it.
pub const TABLE: &str = contract::own_tables::MEMORIES;
/// What one environment remembers at most, old versions not counted.
const MEMORIES_MAX: usize = 500_000;
/// How long a version that has ended stays.
const KEPT_DAYS: i64 = 30;

/// One version of a memory, as its record has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Memory {
    pub memory_id: String,
    pub agent_id: String,
    /// Who stored its first version.
    pub made_by: Option<String>,
    pub session_id: Option<String>,
    pub namespace: String,
    pub memory_key: Option<String>,
    pub memory_type: String,
    pub content: String,
    #[serde(deserialize_with = "json_text_or_null")]
    pub value: Option<Value>,
    #[serde(deserialize_with = "json_text")]
    pub metadata: Map<String, Value>,
    pub importance: f64,
    pub branch_id: Option<String>,
    pub version: i64,
    pub supersedes: Option<String>,
    #[serde(with = "chrono::serde::ts_microseconds")]
    pub created_at: Timestamp,
    #[serde(with = "chrono::serde::ts_microseconds_option")]
    pub valid_to: Option<Timestamp>,
    #[serde(with = "chrono::serde::ts_microseconds_option")]
    pub expires_at: Option<Timestamp>,
    /// Whose vector it has.
    pub vector: Provenance,
}

impl Memory {
    fn made(&self) -> Ownership<'_> {
        Ownership { what: "memory", by: self.made_by.as_deref(), agent_id: Some(&self.agent_id) }
    }
}

/// Which branches are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visibility {
    /// "only mainline, where `branch_id` is null"
    MainOnly,
    /// "only this branch"
    BranchLocal(String),
    /// "branch first, then mainline": a key of the branch hides the mainline's.
    BranchWithFallback(String),
}

impl Stored {
    fn of(memory: &Memory, embedding_status: &'static str) -> Self {
        Self {
            memory_id: memory.memory_id.clone(),
            agent_id: memory.agent_id.clone(),
            created_at: memory.created_at,
            memory_key: memory.memory_key.clone(),
            version: memory.version,
            created: false,
            deduplicated: false,
            similar_memory_id: None,
            embedding_status,
        }
    }
}

/// Whose memories a caller reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryReach {
    /// The agent that is written for, and whose keys are looked up.
    pub agent_id: String,
    /// No other agent's memories are seen.
    pub bound: bool,
}

impl MemoryReach {
    pub fn of(standing: &CallerContext) -> Self {
        let declared = standing.agent.id.clone();
        let agent_id = declared.unwrap_or_else(|| standing.caller.actor_id().to_owned());
        Self { agent_id, bound: standing.agent.verified }
    }

    /// The same for whoever leaves something there: for the agent that the key was made for, for oneself and, from a
    /// developer on, for any agent, as over REST; a service account stands under its scopes. Who makes a branch writes,
    /// and is a developer anyway.
    pub fn to_leave(standing: &CallerContext) -> Result<Self, Error> {
        let reach = Self::of(standing);
        let is_own = reach.bound || reach.agent_id == standing.caller.actor_id();
        if is_own || Access::Developer.admits(standing.caller.role) {
            Ok(reach)
        } else {
            Err(Error::NotThatAgent { agent_id: reach.agent_id })
        }
    }

    /// The agent that a search is narrowed to; asking for another than one's own finds nothing to see.
    pub(crate) fn narrowed(&self, asked: Option<String>) -> Result<Option<String>, Error> {
        match asked {
            Some(asked) if self.bound && asked != self.agent_id => {
                Err(Error::PolicyDenied { message: "the key is bound to another agent".to_owned() })
            }
            Some(asked) => Ok(Some(asked)),
            None => Ok(self.bound.then(|| self.agent_id.clone())),
        }
    }
}

/// The memory of one environment.
///
/// Searches run beside each other; whoever changes something is alone.
#[derive(Debug, Clone, Default)]
pub struct Memories {
    held: Arc<RwLock<Option<Index>>>,
    embedder: Embedder,
}

impl Memories {
    pub fn embedded_by(embedder: Embedder) -> Self {
        Self { embedder, ..Self::default() }
    }

    pub fn embedder(&self) -> &Embedder {
        &self.embedder
    }

    /// Stores a memory: a new one, or the next version of its key.
    pub async fn store(&self, standing: CallerContext, new: NewMemory, fresh: MemorySeed) -> Result<Stored, Error> {
        let new = new.checked()?;
        let reach = MemoryReach::to_leave(&standing)?;
        // before anybody waits for the index: a model may take its time
        let embedded = self.embedder.embed(&new.content, standing.deadline).await;
        let mut held = self.held.write().await;
        let index = self.loaded(&mut held, &standing, fresh.now).await?;
        let digest = store::digest(&new.content, new.value.as_ref());
        let before = match &new.memory_key {
            Some(key) => {
                store::live_key(&standing, &reach.agent_id, &new.namespace, key, new.branch_id.as_deref(), fresh.now)
                    .await?
            }
            None => store::live_duplicate(&standing, &reach.agent_id, &new, &digest, fresh.now).await?,
        };
        if let (Some(wanted), current) = (new.if_version, before.as_ref().map_or(0, |kept| kept.memory.version))
            && wanted != current
        {
            return Err(Error::StaleMemory { current });
        }
        if let Some(kept) = before.as_ref().filter(|kept| kept.digest == digest) {
            let status = self.embedder.status(&kept.memory.vector);
            return Ok(Stored { deduplicated: true, ..Stored::of(&kept.memory, status) });
        }
        let replaced = before.filter(|kept| kept.memory.memory_key.is_some()).map(|kept| kept.memory);
        replaced.as_ref().map_or(Ok(()), |replaced| replaced.made().may_change(&standing))?;
        if replaced.is_none() && index.len() >= MEMORIES_MAX {
            return Err(Error::MemoryFull { limit: MEMORIES_MAX });
        }
        let (bytes, by) = self.embedder.kept(&embedded);
        let provenance = Provenance { by, is_there: !bytes.is_empty() };
        let memory = new.memory((&reach.agent_id, maker(&standing)), replaced.as_ref(), provenance, fresh);
        let similar_memory_id =
            embedded.vector().and_then(|vector| index.duplicate(&memory, vector, memory.created_at));
        let written = store::write(&standing, &memory, replaced.as_ref(), bytes, &digest).await;
        let stored = Stored::of(&memory, embedded.status());
        let stored = Stored { created: replaced.is_none(), similar_memory_id, ..stored };
        match written {
            Ok(()) => {
                if let Some(replaced) = &replaced {
                    index.remove(&replaced.memory_id);
                }
                index.add(&memory, embedded);
                Ok(stored)
            }
            Err(error) => {
                *held = None; // whether it was committed is not known: made again from the table
                Err(error)
            }
        }
    }

    /// A page of the memories that fit a text best, the best first, and whether there are more.
    pub async fn search(
        &self,
        standing: CallerContext,
        search: Search,
        behind: ShownPosition,
        now: Timestamp,
    ) -> Result<(Vec<Hit>, bool), Error> {
        let search = search.checked()?;
        let agent = MemoryReach::of(&standing).narrowed(search.agent_id.clone())?;
        let embedded = self.embedder.embed(&search.query, standing.deadline).await;
        let meant = SearchMeaning { vector: embedded.vector().cloned(), calibration: self.embedder.calibration() };
        let index = self.shared(&standing, now).await?;
        // A look at every memory: too long for a thread that others wait for.
        let found = move || search::find(&index, &search, &behind, &meant, agent.as_deref(), now);
        let (found, more) = spawn_blocking(found).await.map_err(|_| Error::ShuttingDown)??;
        Ok((search::read(&standing, found).await?, more))
    }

    /// The one memory of a key or an id: no search, and no fallback to the mainline.
    pub async fn recall(&self, standing: CallerContext, recall: Recall, now: Timestamp) -> Result<Memory, Error> {
        let recall = recall.checked()?;
        let reach = MemoryReach::of(&standing);
        store::recalled(&standing, &reach, &recall, now).await?.ok_or(Error::MemoryNotFound)
    }

    /// A page of memories, the newest first, and whether there are more.
    pub async fn list(
        &self,
        standing: CallerContext,
        listing: MemoryListing,
        now: Timestamp,
    ) -> Result<(Vec<Memory>, bool), Error> {
        let listing = listing.checked()?;
        let agent = MemoryReach::of(&standing).narrowed(listing.agent_id.clone())?;
        store::page(&standing, &listing, agent.as_deref(), now).await
    }

    /// Ends a memory, or with `forget` removes it and every earlier version.
    pub async fn delete(
        &self,
        standing: CallerContext,
        memory_id: &str,
        forget: bool,
        now: Timestamp,
    ) -> Result<(), Error> {
        let agent = MemoryReach::of(&standing).narrowed(None)?;
        let mut held = self.held.write().await;
        let kept = store::by_id(&standing, memory_id, now).await?;
        let kept = kept.filter(|memory| agent.as_ref().is_none_or(|agent| *agent == memory.agent_id));
        let memory = kept.ok_or(Error::MemoryNotFound)?;
        memory.made().may_change(&standing)?;
        match store::delete(&standing, &memory, forget, now).await {
            Ok(()) => {
                if let Some(index) = held.as_mut() {
                    index.remove(&memory.memory_id);
                }
                Ok(())
            }
            Err(error) => {
                *held = None;
                Err(error)
            }
        }
    }
}

impl Memories {
    /// What was remembered on a branch that has ended is found no more.
    pub async fn left(&self, branch_id: &str) {
        if let Some(index) = self.held.write().await.as_mut() {
            index.leave(branch_id);
        }
    }

    /// Nothing is stored meanwhile.
    pub async fn alone(&self) -> ExclusiveIndex {
        ExclusiveIndex(Arc::clone(&self.held).write_owned().await)
    }

    async fn loaded<'a>(
        &self,
        held: &'a mut Option<Index>,
        standing: &CallerContext,
        now: Timestamp,
    ) -> Result<&'a mut Index, Error> {
        let index = match held.take() {
            Some(index) => index,
            None => store::index(standing, &self.embedder, now).await?,
        };
        Ok(held.insert(index))
    }

    /// The index as it is now; nothing is changed while it is held.
    async fn shared(&self, standing: &CallerContext, now: Timestamp) -> Result<Shared, Error> {
        let held = Arc::clone(&self.held).read_owned().await;
        if let Ok(index) = OwnedRwLockReadGuard::try_map(held, Option::as_ref) {
            return Ok(index);
        }
        let mut held = Arc::clone(&self.held).write_owned().await;
        self.loaded(&mut held, standing, now).await?;
        OwnedRwLockReadGuard::try_map(held.downgrade(), Option::as_ref).map_err(|_| system_tables::broken("no index"))
    }
}

type Shared = OwnedRwLockReadGuard<Option<Index>, Index>;

/// The memories of an environment, for one who changes many of them.
#[derive(Debug)]
pub struct ExclusiveIndex(OwnedRwLockWriteGuard<Option<Index>>);

impl ExclusiveIndex {
    /// What there is now is found out by the next search.
    pub fn changed(mut self) {
        *self.0 = None;
    }
}

/// The id and time of a new version.
#[derive(Debug, Clone)]
pub struct MemorySeed {
    pub memory_id: String,
    pub now: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_agent_reaches_its_own_memories_alone() {
        let bound = MemoryReach { agent_id: "a".to_owned(), bound: true };
        let free = MemoryReach { agent_id: "a".to_owned(), bound: false };
        let asked = |text: &str| Some(text.to_owned());
        assert_eq!(bound.narrowed(None).unwrap(), asked("a"));
        assert_eq!(bound.narrowed(asked("a")).unwrap(), asked("a"));
        assert!(bound.narrowed(asked("b")).is_err());
        assert_eq!(free.narrowed(None).unwrap(), None);
        assert_eq!(free.narrowed(asked("b")).unwrap(), asked("b"));
    }
}
