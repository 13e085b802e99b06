//! Memories of agents, over REST: the same calls as the memory tools.
//!
//! Nothing is remembered here. Each request becomes a call of the tool in the environment's data
//! plane, for the caller that the guard has let in, and its result is told in the shape of this
//! surface. The environment is the key's, else `?env_id=`, else the organization's only one. Members read;
//! who stores or ends a memory here does so for any agent, and so is a developer at least.

use contract::{Access, EnvId, OrgId, Scope, Timestamp};
use platform::Result;
use platform::http::call::Call;
use platform::http::json::{Created, Json, Query};
use platform::http::link::{Address, Linked};
use platform::http::routes::Routes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::agents::agent_tools::{REFUSALS, ToolPlace, arguments_of, tool};

pub fn routes() -> Routes {
    const MEMORIES: &str = "/v1/organizations/{org_id}/agent-memory";
    const SEARCH: &str = "/v1/organizations/{org_id}/agent-memory/search";
    const STATS: &str = "/v1/organizations/{org_id}/agent-memory/embedding-stats";
    const MEMORY: &str = "/v1/organizations/{org_id}/agent-memory/{memory_id}";
    Routes::new()
        .post(MEMORIES, Access::Developer, Scope::Agent, store)
        .says("Stores a memory for an agent; what is stored is found by the next search.")
        .get(MEMORIES, Access::Member, Scope::Agent, list)
        .of_pages()
        .says("Lists memories, the newest first; the header `Link` leads to the next page.")
        .get(SEARCH, Access::Member, Scope::Agent, search)
        .says(
            "Finds memories by similar words, and by meaning where a model makes their vectors; the best score first.",
        )
        .get(STATS, Access::Member, Scope::Agent, stats)
        .of_pages()
        .says("Tells who makes the vectors of memories, what a cosine is worth, and how many memories have theirs.")
        .delete(MEMORY, Access::Developer, Scope::Agent, delete)
        .says("Ends a memory.")
        .all_ours()
        .all_refuse(REFUSALS)
}

/// "`{agent_id, content, memory_type="observation"}`", and what the tool takes besides.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewMemory {
    agent_id: String,
    content: String,
    #[serde(default = "observation")]
    memory_type: String,
    memory_key: Option<String>,
    importance: Option<f64>,
    namespace: Option<String>,
    metadata: Option<Value>,
    branch_id: Option<String>,
}

fn observation() -> String {
    "observation".to_owned()
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MemoryListing {
    env_id: Option<EnvId>,
    /// Only one agent's memories.
    agent_id: Option<String>,
    namespace: Option<String>,
    memory_type: Option<String>,
    branch_id: Option<String>,
    /// 1 to 200; 50 if absent.
    limit: Option<u32>,
    /// From the address of the next page, in the header `Link` of the page before.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MemorySearch")]
struct Search {
    env_id: Option<EnvId>,
    query: String,
    top_k: Option<u32>,
    agent_id: Option<String>,
    namespace: Option<String>,
    branch_id: Option<String>,
}

/// A memory as this surface shows it.
#[derive(Debug, Serialize, JsonSchema)]
struct Memory {
    id: String,
    org_id: OrgId,
    agent_id: String,
    content: String,
    memory_type: String,
    created_at: String,
    /// `ready`: it is found by its vector too; `pending` or `failed`: by its words alone.
    embedding_status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

/// A bare list of them.
#[derive(Debug, Serialize, JsonSchema)]
struct Memories(Vec<Memory>);

impl Memories {
    fn of(cx: &Call, told: Vec<ToolMemory>) -> Self {
        Self(told.into_iter().map(|told| told.shown(cx.org_id())).collect())
    }
}

/// A memory as the tools show it.
#[derive(Debug, Deserialize)]
struct ToolMemory {
    memory_id: String,
    agent_id: String,
    content: String,
    memory_type: String,
    created_at: String,
    branch_id: Option<String>,
    score: Option<f64>,
    embedding_status: String,
}

impl ToolMemory {
    fn shown(self, org_id: &OrgId) -> Memory {
        Memory {
            id: self.memory_id,
            org_id: org_id.clone(),
            agent_id: self.agent_id,
            content: self.content,
            memory_type: self.memory_type,
            created_at: self.created_at,
            embedding_status: self.embedding_status,
            branch_id: self.branch_id,
            score: self.score,
        }
    }
}

/// A memory that has ended.
#[derive(Debug, Serialize, JsonSchema)]
struct DeletedMemory {
    id: String,
    deleted: bool,
    deleted_at: Timestamp,
}

async fn store(cx: Call, Query(place): Query<ToolPlace>, Json(new): Json<NewMemory>) -> Result<Created<Memory>> {
    #[derive(Deserialize)]
    struct StoredMemory {
        memory_id: String,
        agent_id: String,
        created_at: String,
        embedding_status: String,
    }
    let arguments = arguments_of(&new, &["agent_id"], json!({}));
    let NewMemory { agent_id, content, memory_type, branch_id, .. } = new;
    let StoredMemory { memory_id, agent_id, created_at, embedding_status } =
        tool(&cx, place.env_id, "store_memory", Some(agent_id), arguments).await?;
    let told =
        ToolMemory { memory_id, agent_id, content, memory_type, created_at, branch_id, score: None, embedding_status };
    Ok(Created(told.shown(cx.org_id())))
}

async fn list(cx: Call, address: Address, Query(wanted): Query<MemoryListing>) -> Result<Linked<Memories>> {
    #[derive(Deserialize)]
    struct ToolMemoryPage {
        memories: Vec<ToolMemory>,
        cursor: Option<String>,
    }
    let arguments = arguments_of(&wanted, &["env_id"], json!({}));
    let page: ToolMemoryPage = tool(&cx, wanted.env_id, "list_memories", None, arguments).await?;
    let next = page.cursor.map(|cursor| address.after(&cursor));
    Ok(Linked { list: Memories::of(&cx, page.memories), next })
}

async fn search(cx: Call, Query(wanted): Query<Search>) -> Result<Json<Memories>> {
    #[derive(Deserialize)]
    struct FoundMemories {
        results: Vec<ToolMemory>,
    }
    let arguments = arguments_of(&wanted, &["env_id"], json!({}));
    let found: FoundMemories = tool(&cx, wanted.env_id, "search_memory", None, arguments).await?;
    Ok(Json(Memories::of(&cx, found.results)))
}

/// How the memories of an environment are found.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct EmbeddingStats {
    /// `hash-v2`, the built-in embedder, which finds by similar words; or `model:` and a model's name, which finds by
    /// meaning.
    embedder: String,
    dimensions: u32,
    /// What a cosine is worth as a score, piecewise linear.
    calibration: Vec<CalibrationPoint>,
    ready: u64,
    /// Found by their words alone, until their vectors are made.
    pending: u64,
    /// Found by their words alone: the model takes no such text.
    failed: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct CalibrationPoint {
    cosine: f64,
    score: f64,
}

async fn stats(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<EmbeddingStats>> {
    Ok(Json(tool(&cx, place.env_id, "embedding_stats", None, json!({})).await?))
}

async fn delete(cx: Call, Query(place): Query<ToolPlace>) -> Result<Json<DeletedMemory>> {
    #[derive(Deserialize)]
    struct Gone {
        memory_id: String,
        deleted: bool,
    }
    let memory_id: String = cx.id("memory_id")?;
    let Gone { memory_id, deleted } =
        tool(&cx, place.env_id, "delete_memory", None, json!({"memory_id": memory_id})).await?;
    Ok(Json(DeletedMemory { id: memory_id, deleted, deleted_at: cx.now() }))
}
