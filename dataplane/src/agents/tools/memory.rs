//! `store_memory`, `search_memory`, `load_memory_exact`, `list_memories`, `delete_memory`.

use contract::Timestamp;
use contract::policy::abac::Operation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::budget::Rest;
use super::onward::Onward;
use super::seal::Seal;
use super::{Telling, ToolCall, moment};
use crate::Error;
use crate::agents::last_shown::ShownPosition;
use crate::agents::memory::{
    self, Hit, Memory, MemoryListing, MemoryReach, MemorySeed, NewMemory, Recall, Search, Stats, Stored,
};
use crate::agents::triggers::{self, TriggerContent, TriggerSource};
use crate::limits::invalid;
use crate::pipeline::{CallerContext, ToolAction};
use crate::storage::branches::Writing;

#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredMemory {
    #[serde(flatten)]
    stored: Stored,
    /// Ids of the triggers that have fired.
    triggers_fired: Vec<String>,
}

impl Telling for StoredMemory {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundMemories {
    results: Vec<FoundMemory>,
    /// With the same call it gives the results behind these; null behind the last.
    next_cursor: Option<String>,
    #[serde(skip)]
    onward: Onward<ShownPosition>,
}

impl Telling for FoundMemories {
    const LIST: Option<&'static str> = Some("results");
    const BARE: bool = true;

    fn rest(&self, shown: usize) -> Option<Rest> {
        self.onward.rest(shown)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundMemory {
    #[serde(flatten)]
    memory: ShownMemory,
    /// How well it fits, 0 to 1; results stand in its order.
    score: f64,
    /// The cosine behind it.
    similarity_score: f64,
    score_parts: ScoreParts,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ScoreParts {
    semantic: f64,
    lexical: f64,
    recency: f64,
    importance: f64,
}

/// A memory as it is shown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownMemory {
    memory_id: String,
    memory_key: Option<String>,
    agent_id: String,
    session_id: Option<String>,
    namespace: String,
    memory_type: String,
    content: String,
    value: Option<Value>,
    metadata: Map<String, Value>,
    importance: f64,
    branch_id: Option<String>,
    version: i64,
    supersedes: Option<String>,
    created_at: String,
    /// When another version took its place; null for the live one.
    valid_to: Option<String>,
    expires_at: Option<String>,
    /// `ready`: it is found by its vector too; `pending` or `failed`: by its words alone.
    embedding_status: &'static str,
}

impl Telling for ShownMemory {}

impl ShownMemory {
    fn of(call: &ToolCall, memory: Memory) -> Self {
        Self {
            embedding_status: call.memories.embedder().status(&memory.vector),
            memory_id: memory.memory_id,
            memory_key: memory.memory_key,
            agent_id: memory.agent_id,
            session_id: memory.session_id,
            namespace: memory.namespace,
            memory_type: memory.memory_type,
            content: memory.content,
            value: memory.value,
            metadata: memory.metadata,
            importance: memory.importance,
            branch_id: memory.branch_id,
            version: memory.version,
            supersedes: memory.supersedes,
            created_at: moment(memory.created_at),
            valid_to: memory.valid_to.map(moment),
            expires_at: memory.expires_at.map(moment),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryPage {
    memories: Vec<ShownMemory>,
    /// For the next page; null after the last.
    cursor: Option<String>,
    has_more: bool,
}

impl Telling for MemoryPage {
    const LIST: Option<&'static str> = Some("memories");

    fn rest(&self, shown: usize) -> Option<Rest> {
        let last = self.memories.get(shown.checked_sub(1)?)?;
        Some(("cursor", memory::cursor(last.created_at.parse().ok()?, &last.memory_id).into()))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deletion {
    memory_id: String,
    /// `retire`: it ends, and is kept for thirty days; `forget`: it is removed with its versions.
    #[serde(default = "retire")]
    mode: String,
}

fn retire() -> String {
    "retire".to_owned()
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedMemory {
    deleted: bool,
    memory_id: String,
}

impl Telling for DeletedMemory {}

fn tool_action(call: &ToolCall, name: &str, operation: Operation) -> Result<ToolAction, Error> {
    call.action(name, vec![memory::TABLE.to_owned()], operation)
}

fn fresh(call: &ToolCall) -> MemorySeed {
    let now = call.pipeline.clock.now();
    MemorySeed { memory_id: contract::ids::fresh(now, &call.pipeline.entropy), now }
}

pub async fn store(call: ToolCall, new: NewMemory) -> Result<StoredMemory, Error> {
    let (tool_action, fresh) = (tool_action(&call, "store_memory", Operation::Insert)?, fresh(&call));
    let (content, metadata, now) = (new.content.clone(), new.metadata.clone(), fresh.now);
    let own = &call;
    let stored = |standing: CallerContext| async move {
        let _writing = on_branch(own, &standing, new.branch_id.as_deref(), now).await?;
        let stored = own.memories.store(standing.clone(), new, fresh).await?;
        if stored.deduplicated {
            return Ok(((stored, Vec::new()), 1));
        }
        let (content_id, agent_id) = (Some(stored.memory_id.clone()), stored.agent_id.clone());
        let trigger_content = TriggerContent { source: TriggerSource::Memory, content, content_id, agent_id, metadata };
        let fired = triggers::notice((&own.pipeline, &own.triggers), &standing, &trigger_content, now).await;
        Ok(((stored, fired), 1))
    };
    let (stored, triggers_fired) = call.pipeline.act(tool_action, stored).await?;
    Ok(StoredMemory { stored, triggers_fired })
}

/// A key made for an agent leaves nothing on another's branch, which that one could not merge then; and on its own the
/// branch does not end meanwhile.
async fn on_branch(
    call: &ToolCall,
    standing: &CallerContext,
    branch_id: Option<&str>,
    now: Timestamp,
) -> Result<Option<Writing>, Error> {
    let Some(branch_id) = branch_id.filter(|_| MemoryReach::of(standing).bound) else { return Ok(None) };
    let open = call.branches().reached(standing, branch_id, now).await?;
    Ok(Some(open.writing().await?))
}

pub async fn search(call: ToolCall, search: Search) -> Result<FoundMemories, Error> {
    let (tool_action, now) = (tool_action(&call, "search_memory", Operation::Select)?, call.pipeline.clock.now());
    let seal = Seal::of(&call, "query and conditions", &("search_memory", search.question()));
    let begin: ShownPosition = seal.open_at(search.cursor.as_deref())?.unwrap_or_default();
    let behind = begin.clone();
    let found = |standing| async {
        let (hits, more) = call.memories.search(standing, search, behind, now).await?;
        let count = count(&hits);
        Ok(((hits, more), count))
    };
    let (hits, more) = call.pipeline.act(tool_action, found).await?;
    let onward = Onward::new(seal, places(begin, &hits), more);
    let shown = |Hit { memory, fit }: Hit| FoundMemory {
        memory: ShownMemory::of(&call, memory),
        score: fit.score,
        similarity_score: fit.similarity,
        score_parts: ScoreParts {
            semantic: fit.semantic,
            lexical: fit.lexical,
            recency: fit.recency,
            importance: fit.importance,
        },
    };
    Ok(FoundMemories { next_cursor: onward.cursor(), results: hits.into_iter().map(shown).collect(), onward })
}

/// What stands behind each of the hits.
fn places(mut behind: ShownPosition, hits: &[Hit]) -> Vec<ShownPosition> {
    let place = |hit: &Hit| {
        behind = behind.and(&hit.worth());
        behind.clone()
    };
    hits.iter().map(place).collect()
}

pub async fn load_exact(call: ToolCall, recall: Recall) -> Result<ShownMemory, Error> {
    let (tool_action, now) = (tool_action(&call, "load_memory_exact", Operation::Select)?, call.pipeline.clock.now());
    let loaded = |standing| async { Ok((call.memories.recall(standing, recall, now).await?, 1)) };
    Ok(ShownMemory::of(&call, call.pipeline.act(tool_action, loaded).await?))
}

pub async fn list(call: ToolCall, listing: MemoryListing) -> Result<MemoryPage, Error> {
    let (tool_action, now) = (tool_action(&call, "list_memories", Operation::Select)?, call.pipeline.clock.now());
    let listed = |standing| async {
        let (memories, more) = call.memories.list(standing, listing, now).await?;
        let count = count(&memories);
        Ok(((memories, more), count))
    };
    let (memories, has_more) = call.pipeline.act(tool_action, listed).await?;
    let last = memories.last().filter(|_| has_more);
    let cursor = last.map(|last| memory::cursor(last.created_at, &last.memory_id));
    Ok(MemoryPage {
        memories: memories.into_iter().map(|memory| ShownMemory::of(&call, memory)).collect(),
        cursor,
        has_more,
    })
}

pub async fn delete(call: ToolCall, deletion: Deletion) -> Result<DeletedMemory, Error> {
    let forget = match deletion.mode.as_str() {
        "retire" => false,
        "forget" => true,
        _ => return Err(invalid("mode", "mode is retire or forget")),
    };
    let (tool_action, now) = (tool_action(&call, "delete_memory", Operation::Delete)?, call.pipeline.clock.now());
    let memory_id = deletion.memory_id;
    let gone = |standing| async { Ok((call.memories.delete(standing, &memory_id, forget, now).await?, 1)) };
    call.pipeline.act(tool_action, gone).await?;
    Ok(DeletedMemory { deleted: true, memory_id })
}

/// How memories are found in this environment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EmbeddingStats {
    /// Who makes the vectors: `hash-v2`, the built-in embedder, which finds by similar words; or `model:` and a model's
    /// name, which finds by meaning.
    embedder: String,
    dimensions: usize,
    /// What a cosine is worth, piecewise linear.
    calibration: Vec<CalibrationPoint>,
    ready: u64,
    /// Found by their words alone, until their vectors are made.
    pending: u64,
    /// Found by their words alone: the model takes no such text.
    failed: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CalibrationPoint {
    cosine: f64,
    score: f64,
}

impl Telling for EmbeddingStats {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counting {
    /// Only memories of this namespace.
    namespace: Option<String>,
}

pub async fn embedding_stats(call: ToolCall, Counting { namespace }: Counting) -> Result<EmbeddingStats, Error> {
    let (tool_action, now) = (tool_action(&call, "embedding_stats", Operation::Select)?, call.pipeline.clock.now());
    let counted = |standing| async { Ok((call.memories.stats(standing, namespace, now).await?, 1)) };
    let counted = call.pipeline.act(tool_action, counted).await?;
    let Stats { embedder, dimensions, calibration, ready, pending, failed } = counted;
    let calibration = calibration.iter().map(|&(cosine, score)| CalibrationPoint { cosine, score }).collect();
    Ok(EmbeddingStats { embedder, dimensions, calibration, ready, pending, failed })
}

fn count<T>(found: &[T]) -> u64 {
    u64::try_from(found.len()).unwrap_or(u64::MAX)
}
