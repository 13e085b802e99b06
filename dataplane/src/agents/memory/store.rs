//! The table of memories. SQL, and nothing but SQL. A version is written with the end of the one
//! before it, in one transaction.

use chrono::Duration;
use contract::Timestamp;
use contract::policy::abac::Operation;
use engine::Value;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::embedder::Embedder;
use super::index::Index;
use super::{KEPT_DAYS, Memory, MemoryListing, MemoryReach, NewMemory, Recall, TABLE};
use crate::Error;
use crate::agents::listing_cursor;
use crate::encode::cell::Cell;
use crate::pipeline::CallerContext;
use crate::storage::system_tables::{
    self, BoundStatement, ChangeRecord, at, batches, broken, column, optional, records, text,
};

const COLUMNS: &str = "to_json({memory: {memory_id: memory_id, agent_id: agent_id, made_by: made_by, session_id: session_id, \
    namespace: namespace, memory_key: memory_key, memory_type: memory_type, content: content, value: value, \
    metadata: metadata, importance: importance, branch_id: branch_id, version: version, supersedes: supersedes, \
    vector: {'by': embedder_id, is_there: octet_length(embedding) > 0}, created_at: epoch_us(valid_from), \
    valid_to: epoch_us(valid_to), expires_at: epoch_us(expires_at)}, digest: content_sha256})::varchar";
pub const LIVE: &str = "valid_to is null and (expires_at is null or expires_at > $1)";
const INSERT: &str = "insert into raw._svc_memory.memories values \
    ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, null, $18, $19)";

/// A memory, and the digest of what it says.
#[derive(Deserialize)]
pub struct DigestedMemory {
    pub memory: Memory,
    pub digest: String,
}

/// SHA-256 of what a memory says, with its value.
pub fn digest(content: &str, value: Option<&serde_json::Value>) -> String {
    let mut digest = Sha256::new();
    digest.update(content);
    digest.update([0]);
    digest.update(value.map(ToString::to_string).unwrap_or_default());
    hex::encode(digest.finalize())
}

/// The live version of a key of this agent.
pub async fn live_key(
    standing: &CallerContext,
    agent_id: &str,
    namespace: &str,
    key: &str,
    branch_id: Option<&str>,
    now: Timestamp,
) -> Result<Option<DigestedMemory>, Error> {
    let sql = format!(
        "select {COLUMNS} from raw._svc_memory.memories where {LIVE} \
         and agent_id = $2 and namespace = $3 and memory_key = $4 and branch_id is not distinct from $5::varchar"
    );
    let params = vec![at(now), text(agent_id), text(namespace), text(key), optional(branch_id)];
    Ok(kept(standing, sql, params).await?.pop())
}

/// A live memory without a key that says the same.
pub async fn live_duplicate(
    standing: &CallerContext,
    agent_id: &str,
    new: &NewMemory,
    digest: &str,
    now: Timestamp,
) -> Result<Option<DigestedMemory>, Error> {
    let sql = format!(
        "select {COLUMNS} from raw._svc_memory.memories where {LIVE} and memory_key is null \
         and agent_id = $2 and namespace = $3 and branch_id is not distinct from $4::varchar and content_sha256 = $5"
    );
    let params = vec![at(now), text(agent_id), text(&new.namespace), optional(new.branch_id.as_deref()), text(digest)];
    Ok(kept(standing, sql, params).await?.pop())
}

pub async fn by_id(standing: &CallerContext, memory_id: &str, now: Timestamp) -> Result<Option<Memory>, Error> {
    let sql = format!("select {COLUMNS} from raw._svc_memory.memories where {LIVE} and memory_id = $2");
    let found = kept(standing, sql, vec![at(now), text(memory_id)]).await?.pop();
    Ok(found.map(|kept| kept.memory))
}

pub async fn by_ids(standing: &CallerContext, ids: &[String]) -> Result<Vec<Memory>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql =
        format!("select {COLUMNS} from raw._svc_memory.memories where memory_id in (select unnest($1::varchar[]))");
    let found = kept(standing, sql, vec![Value::List(ids.iter().map(|id| text(id)).collect())]).await?;
    Ok(found.into_iter().map(|kept| kept.memory).collect())
}

/// The version that was asked for: the live one, a number, or the one of a moment.
pub async fn recalled(
    standing: &CallerContext,
    reach: &MemoryReach,
    recall: &Recall,
    now: Timestamp,
) -> Result<Option<Memory>, Error> {
    let mut params = vec![at(now)];
    let mut conditions = vec!["$1 is not null".to_owned()];
    let mut add = |condition: &str, value: Value| {
        params.push(value);
        conditions.push(format!("{condition} ${}", params.len()));
    };
    match (&recall.key, &recall.memory_id) {
        (Some(key), _) => {
            add("memory_key =", text(key));
            add("agent_id =", text(&reach.agent_id));
            add("namespace =", text(&recall.namespace));
            add("branch_id is not distinct from", optional(recall.branch_id.as_deref()));
        }
        (None, id) => add("memory_id =", text(id.as_deref().unwrap_or_default())),
    }
    if reach.bound {
        add("agent_id =", text(&reach.agent_id));
    }
    match (recall.version, recall.moment()?) {
        (Some(version), _) => add("version =", Value::BigInt(version)),
        (None, Some(micros)) => {
            add("valid_from <=", Value::TimestampTz(micros));
            add("coalesce(valid_to, 'infinity'::timestamptz) >", Value::TimestampTz(micros));
        }
        (None, None) if recall.key.is_some() => conditions.push(LIVE.to_owned()),
        (None, None) => conditions.push("(expires_at is null or expires_at > $1)".to_owned()),
    }
    let sql = format!(
        "select {COLUMNS} from raw._svc_memory.memories where {} order by version desc limit 1",
        conditions.join(" and ")
    );
    Ok(kept(standing, sql, params).await?.pop().map(|kept| kept.memory))
}

/// A page, the newest first; and whether there are more.
pub async fn page(
    standing: &CallerContext,
    listing: &MemoryListing,
    agent: Option<&str>,
    now: Timestamp,
) -> Result<(Vec<Memory>, bool), Error> {
    let (micros, id) = listing_cursor::read(listing.cursor.as_deref())?;
    let wanted = i64::try_from(listing.limit).unwrap_or(i64::MAX).saturating_add(1);
    let sql = format!(
        "select {COLUMNS} from raw._svc_memory.memories where {LIVE} \
         and ($2::varchar is null or agent_id = $2) and ($3::varchar is null or namespace = $3) \
         and ($4::varchar is null or memory_type = $4) and ($5::varchar is null or starts_with(memory_key, $5)) \
         and ($6::varchar is null or session_id = $6) and branch_id is not distinct from $7::varchar \
         and ($8::timestamptz is null or (valid_from, memory_id) < ($8::timestamptz, $9::varchar)) \
         order by valid_from desc, memory_id desc limit $10"
    );
    let params = vec![
        at(now),
        optional(agent),
        optional(listing.namespace.as_deref()),
        optional(listing.memory_type.as_deref()),
        optional(listing.key_prefix.as_deref()),
        optional(listing.session_id.as_deref()),
        optional(listing.branch_id.as_deref()),
        micros.map_or(Value::Null, Value::TimestampTz),
        optional(id.as_deref()),
        Value::BigInt(wanted),
    ];
    let found = kept(standing, sql, params).await?;
    let more = found.len() > listing.limit;
    Ok((found.into_iter().take(listing.limit).map(|kept| kept.memory).collect(), more))
}

/// Every live memory, as search wants it.
pub async fn index(standing: &CallerContext, embedder: &Embedder, now: Timestamp) -> Result<Index, Error> {
    let sql = format!("select {COLUMNS}, embedding, embedder_id from raw._svc_memory.memories where {LIVE}");
    let mut index = Index::default();
    for batch in batches(standing, (sql, vec![at(now)])).await? {
        for row in 0..batch.num_rows() {
            let memory = system_tables::record::<DigestedMemory>(&batch, row)?.memory;
            let vector = match (column(&batch, 1, row), column(&batch, 2, row)) {
                (Cell::Blob(bytes), Cell::Text(by)) => embedder.read(bytes, by, &memory.content),
                _ => return Err(broken("a vector")),
            };
            index.add(&memory, vector);
        }
    }
    Ok(index)
}

/// Writes a version, ends the one before, and drops what ended long ago.
pub async fn write(
    standing: &CallerContext,
    memory: &Memory,
    replaced: Option<&Memory>,
    vector: Vec<u8>,
    digest: &str,
) -> Result<(), Error> {
    let mut steps: Vec<BoundStatement> = Vec::new();
    if let Some(replaced) = replaced {
        let sql = "update raw._svc_memory.memories set valid_to = $1 where memory_id = $2";
        steps.push((sql.to_owned(), vec![at(memory.created_at), text(&replaced.memory_id)]));
    }
    steps.push((INSERT.to_owned(), inserted(memory, vector, digest)));
    let past = memory.created_at - Duration::days(KEPT_DAYS);
    let sql = "delete from raw._svc_memory.memories where valid_to < $1 or expires_at < $1";
    steps.push((sql.to_owned(), vec![at(past)]));
    let change = ChangeRecord { table: TABLE, operation: Operation::Insert, at: memory.created_at };
    system_tables::write(standing, change, steps).await
}

fn inserted(memory: &Memory, vector: Vec<u8>, digest: &str) -> Vec<Value> {
    vec![
        text(&memory.memory_id),
        text(&memory.agent_id),
        optional(memory.session_id.as_deref()),
        text(&memory.namespace),
        optional(memory.memory_key.as_deref()),
        text(&memory.memory_type),
        text(&memory.content),
        memory.value.as_ref().map_or(Value::Null, |value| Value::Text(value.to_string())),
        Value::Text(serde_json::Value::Object(memory.metadata.clone()).to_string()),
        Value::Double(memory.importance),
        optional(memory.branch_id.as_deref()),
        Value::Blob(vector),
        text(&memory.vector.by),
        text(digest),
        Value::BigInt(memory.version),
        optional(memory.supersedes.as_deref()),
        at(memory.created_at),
        memory.expires_at.map_or(Value::Null, at),
        optional(memory.made_by.as_deref()),
    ]
}

/// Ends a memory; or removes it with every version of its key.
pub async fn delete(standing: &CallerContext, memory: &Memory, forget: bool, now: Timestamp) -> Result<(), Error> {
    let step = if forget {
        let sql = "delete from raw._svc_memory.memories where memory_id = $1 or (memory_key = $2::varchar \
            and agent_id = $3 and namespace = $4 and branch_id is not distinct from $5::varchar)";
        let params = vec![
            text(&memory.memory_id),
            optional(memory.memory_key.as_deref()),
            text(&memory.agent_id),
            text(&memory.namespace),
            optional(memory.branch_id.as_deref()),
        ];
        (sql.to_owned(), params)
    } else {
        let sql = "update raw._svc_memory.memories set valid_to = $1 where memory_id = $2 and valid_to is null";
        (sql.to_owned(), vec![at(now), text(&memory.memory_id)])
    };
    system_tables::write(standing, ChangeRecord { table: TABLE, operation: Operation::Delete, at: now }, vec![step])
        .await
}

async fn kept(standing: &CallerContext, sql: String, params: Vec<Value>) -> Result<Vec<DigestedMemory>, Error> {
    records(standing, (sql, params)).await
}
