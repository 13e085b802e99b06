//! The table of steps. SQL, and nothing but SQL: it inserts and reads.

use contract::Timestamp;
use contract::policy::abac::Operation;
use engine::Value;
use serde::Deserialize;

use super::chain::{ChainVerdict, Check};
use super::{History, Session, TABLE, Thought};
use crate::Error;
use crate::agents::listing_cursor;
use crate::pipeline::CallerContext;
use crate::storage::system_tables::{self, ChangeRecord, at, optional, records, text};

const COLUMNS: &str = "to_json({trace_id: trace_id, session_id: session_id, agent_id: agent_id, \
    step_number: step_number, step_type: step_type, content: content, input: input, output: output, \
    model_name: model_name, token_count: token_count, latency_ms: latency_ms, importance: importance, \
    metadata: metadata, prev_hash: prev_hash, hash: hash, created_at: epoch_us(created_at)})::varchar";
const INSERT: &str = "insert into raw._svc_thoughts.steps values \
    ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
/// Steps that are checked at a time.
const CHECKED_AT_ONCE: usize = 1_000;

/// The last step of a session, and who took the first.
#[derive(Deserialize)]
pub struct SessionHead {
    pub step_number: i64,
    pub hash: String,
    pub began_by: String,
}

pub async fn head(standing: &CallerContext, session_id: &str) -> Result<Option<SessionHead>, Error> {
    let sql = "select to_json({step_number: max(step_number), hash: arg_max(hash, step_number), \
        began_by: arg_min(agent_id, step_number)})::varchar \
        from raw._svc_thoughts.steps where session_id = $1 having count(*) > 0";
    Ok(records(standing, (sql.to_owned(), vec![text(session_id)])).await?.pop())
}

/// Whether the session has a step of this id.
pub async fn has(standing: &CallerContext, session_id: &str, trace_id: &str) -> Result<bool, Error> {
    let sql = "select to_json(count(*) > 0)::varchar from raw._svc_thoughts.steps \
        where session_id = $1 and trace_id = $2";
    let found = records(standing, (sql.to_owned(), vec![text(session_id), text(trace_id)])).await?.pop();
    Ok(found.unwrap_or_default())
}

/// Writes steps down in one transaction.
pub async fn insert(standing: &CallerContext, thoughts: &[Thought], now: Timestamp) -> Result<(), Error> {
    if thoughts.is_empty() {
        return Ok(());
    }
    let change = ChangeRecord { table: TABLE, operation: Operation::Insert, at: now };
    let steps = thoughts.iter().map(|thought| (INSERT.to_owned(), values(thought))).collect();
    system_tables::write(standing, change, steps).await
}

fn values(thought: &Thought) -> Vec<Value> {
    let json = |value: &Option<serde_json::Value>| optional(value.as_ref().map(ToString::to_string).as_deref());
    let count = |count: Option<i64>| count.map_or(Value::Null, Value::BigInt);
    vec![
        text(&thought.trace_id),
        text(&thought.session_id),
        text(&thought.agent_id),
        Value::BigInt(thought.step_number),
        text(&thought.step_type),
        text(&thought.content),
        json(&thought.input),
        json(&thought.output),
        optional(thought.model_name.as_deref()),
        count(thought.token_count),
        count(thought.latency_ms),
        Value::Double(thought.importance),
        Value::Text(serde_json::Value::Object(thought.metadata.clone()).to_string()),
        text(&thought.prev_hash),
        text(&thought.hash),
        at(thought.created_at),
    ]
}

/// Steps of a session in order, from a number on.
pub async fn steps(
    standing: &CallerContext,
    session_id: &str,
    from_step: u32,
    limit: usize,
) -> Result<Vec<Thought>, Error> {
    from(standing, session_id, i64::from(from_step), limit).await
}

async fn from(standing: &CallerContext, session_id: &str, from: i64, limit: usize) -> Result<Vec<Thought>, Error> {
    let sql = format!(
        "select {COLUMNS} from raw._svc_thoughts.steps where session_id = $1 and step_number >= $2 \
         order by step_number limit $3"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let params = vec![text(session_id), Value::BigInt(from), Value::BigInt(limit)];
    records(standing, (sql, params)).await
}

/// Checks a whole session, some steps at a time.
pub async fn verify(standing: &CallerContext, session_id: &str) -> Result<ChainVerdict, Error> {
    let (mut check, mut next) = (Check::new(), i64::MIN);
    loop {
        let thoughts = from(standing, session_id, next, CHECKED_AT_ONCE).await?;
        for thought in &thoughts {
            if !check.step(thought)? {
                return Ok(check.verdict());
            }
        }
        match thoughts.last() {
            Some(last) if thoughts.len() == CHECKED_AT_ONCE => next = last.step_number.saturating_add(1),
            _ => return Ok(check.verdict()),
        }
    }
}

/// A page of sessions, the latest first; and whether there are more.
pub async fn sessions(
    standing: &CallerContext,
    history: &History,
    agent: Option<&str>,
) -> Result<(Vec<Session>, bool), Error> {
    let (micros, id) = listing_cursor::read(history.cursor.as_deref())?;
    let wanted = i64::try_from(history.limit).unwrap_or(i64::MAX).saturating_add(1);
    let sql = "with s as (select session_id, arg_min(agent_id, step_number) as agent_id, \
            min(created_at) as started_at, max(created_at) as last_step_at, count(*) as step_count, \
            arg_max(hash, step_number) as head_hash from raw._svc_thoughts.steps group by session_id) \
        select to_json({session_id: session_id, agent_id: agent_id, started_at: epoch_us(started_at), \
            last_step_at: epoch_us(last_step_at), step_count: step_count, head_hash: head_hash})::varchar from s \
        where ($1::varchar is null or agent_id = $1) and ($2::timestamptz is null or last_step_at >= $2) \
            and ($3::timestamptz is null or (last_step_at, session_id) < ($3::timestamptz, $4::varchar)) \
        order by last_step_at desc, session_id desc limit $5";
    let moment_or_null = |micros: Option<i64>| micros.map_or(Value::Null, Value::TimestampTz);
    let params = vec![
        optional(agent),
        moment_or_null(history.moment()?),
        moment_or_null(micros),
        optional(id.as_deref()),
        Value::BigInt(wanted),
    ];
    let mut found: Vec<Session> = records(standing, (sql.to_owned(), params)).await?;
    let more = found.len() > history.limit;
    found.truncate(history.limit);
    Ok((found, more))
}
