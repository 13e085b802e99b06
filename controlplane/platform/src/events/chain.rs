//! The hash chain: `hash = sha256("sluice.audit.v1\n" + previous_hash + "\n" + canonical JSON of
//! the event without its hashes)`, the first `previous_hash` being sixty-four zeros.
//!
//! A bare chain does not show a cut tail or a rewrite of the whole, so the head (sequence, hash)
//! stands in a table of its own under an HMAC whose key the database does not have.

use contract::secrets::hmac_sha256;
use contract::{EnvId, EventId, OrgId, Timestamp};
use futures::TryStreamExt;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use subtle::ConstantTimeEq;

use crate::{Error, Result, execute};

pub(super) const GENESIS: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// An event as it is hashed. Every member counts.
#[derive(Debug, Clone, Serialize)]
pub struct ChainEntry {
    pub sequence: i64,
    pub event_id: EventId,
    pub org_id: OrgId,
    pub environment_id: Option<EnvId>,
    pub event_type: String,
    pub actor_id: String,
    pub actor_email: Option<String>,
    pub actor_role: Option<String>,
    pub source_ip: Option<String>,
    pub resource_type: String,
    pub resource_id: String,
    pub changes: Value,
    pub timestamp: Timestamp,
}

impl ChainEntry {
    fn hash(&self, previous_hash: &str) -> Result<String> {
        let body = serde_json_canonicalizer::to_vec(self).map_err(Error::internal)?;
        let mut digest = Sha256::new();
        digest.update("sluice.audit.v1\n");
        digest.update(previous_hash);
        digest.update("\n");
        digest.update(body);
        Ok(format!("sha256:{}", hex::encode(digest.finalize())))
    }
}

fn seal(key: &[u8], org_id: &OrgId, sequence: i64, hash: &str) -> [u8; 32] {
    hmac_sha256(key, &[format!("sluice.audit.head.v1\n{org_id}\n{sequence}\n{hash}").as_bytes()])
}

/// Appends under the lock of the chain's head; answers the entry with its sequence.
pub(super) async fn append(key: &[u8], tx: &mut PgConnection, mut entry: ChainEntry) -> Result<ChainEntry> {
    let org_id = entry.org_id.clone();
    let genesis_seal = seal(key, &org_id, 0, GENESIS);
    // The first event of a chain makes its head; two firsts meet at the primary key, and wait.
    sqlx::query!(
        "insert into iam_chain_heads (org_id, sequence, hash, mac) values ($1, 0, $2, $3) on conflict do nothing",
        org_id.as_str(),
        GENESIS,
        genesis_seal.as_slice(),
    )
    .execute(&mut *tx)
    .await?;
    let head = sqlx::query!("select sequence, hash from iam_chain_heads where org_id = $1 for update", org_id.as_str())
        .fetch_one(&mut *tx)
        .await?;
    entry.sequence = head.sequence.saturating_add(1);
    let hash = entry.hash(&head.hash)?;
    insert(&mut *tx, &entry, &hash, &head.hash).await?;
    let seal = seal(key, &org_id, entry.sequence, &hash);
    sqlx::query!(
        "update iam_chain_heads set sequence = $2, hash = $3, mac = $4 where org_id = $1",
        org_id.as_str(),
        entry.sequence,
        hash,
        seal.as_slice(),
    )
    .execute(&mut *tx)
    .await?;
    Ok(entry)
}

async fn insert(tx: &mut PgConnection, entry: &ChainEntry, hash: &str, previous_hash: &str) -> Result<()> {
    execute!(
        tx,
        r#"
        insert into iam_events
            (org_id, sequence, event_id, env_id, event_type, actor_id, actor_email, actor_role, source_ip,
             resource_type, resource_id, changes, hash, previous_hash, "timestamp")
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
        "#,
        entry.org_id.as_str(),
        entry.sequence,
        entry.event_id.as_str(),
        entry.environment_id.as_ref().map(EnvId::as_str),
        entry.event_type,
        entry.actor_id,
        entry.actor_email,
        entry.actor_role,
        entry.source_ip,
        entry.resource_type,
        entry.resource_id,
        entry.changes,
        hash,
        previous_hash,
        entry.timestamp,
    )
}

/// The result of a walk along the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainWalk {
    /// Events that fit, from the genesis on.
    pub events_verified: i64,
    pub first_event: Option<(EventId, Timestamp)>,
    pub last_event: Option<(EventId, Timestamp)>,
    pub broken: Option<ChainBreak>,
}

/// The first event that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChainBreak {
    pub event_id: EventId,
    pub expected_hash: String,
    pub actual_hash: String,
    pub timestamp: Timestamp,
}

/// Walks the whole chain in the transaction's snapshot. Wrong are: a sequence that is not the next,
/// a `previous_hash` that is not the hash before, a hash that its content does not give, and an
/// end that is not the sealed head's.
pub async fn verify(key: &[u8], tx: &mut PgConnection, org_id: &OrgId) -> Result<ChainWalk> {
    let head = sqlx::query!("select sequence, hash, mac from iam_chain_heads where org_id = $1", org_id.as_str())
        .fetch_optional(&mut *tx)
        .await?;
    let mut found = ChainWalk { events_verified: 0, first_event: None, last_event: None, broken: None };
    let mut previous = GENESIS.to_owned();
    let mut rows = sqlx::query!(
        r#"
        select sequence, event_id, env_id, event_type, actor_id, actor_email, actor_role, source_ip,
               resource_type, resource_id, changes, hash, previous_hash, "timestamp"
        from iam_events
        where org_id = $1
        order by sequence
        "#,
        org_id.as_str(),
    )
    .fetch(&mut *tx);
    while let Some(row) = rows.try_next().await? {
        let entry = ChainEntry {
            sequence: row.sequence,
            event_id: row.event_id.into(),
            org_id: org_id.clone(),
            environment_id: row.env_id.map(EnvId::from),
            event_type: row.event_type,
            actor_id: row.actor_id,
            actor_email: row.actor_email,
            actor_role: row.actor_role,
            source_ip: row.source_ip,
            resource_type: row.resource_type,
            resource_id: row.resource_id,
            changes: row.changes,
            timestamp: row.timestamp,
        };
        let expected = entry.hash(&previous)?;
        let fits = entry.sequence == found.events_verified.saturating_add(1)
            && row.previous_hash == previous
            && row.hash == expected;
        if !fits {
            // Where the content is right, it is the link that is wrong.
            let (expected_hash, actual_hash) =
                if row.hash == expected { (previous, row.previous_hash) } else { (expected, row.hash) };
            found.broken =
                Some(ChainBreak { event_id: entry.event_id, expected_hash, actual_hash, timestamp: entry.timestamp });
            return Ok(found);
        }
        let mark = (entry.event_id, entry.timestamp);
        found.first_event.get_or_insert_with(|| mark.clone());
        found.last_event = Some(mark);
        found.events_verified = entry.sequence;
        previous = expected;
    }
    drop(rows);
    let (sequence, hash, mac) =
        head.map_or_else(|| (0, GENESIS.to_owned(), None), |head| (head.sequence, head.hash, Some(head.mac)));
    let sealed = mac.as_ref().is_none_or(|mac| bool::from(seal(key, org_id, sequence, &hash).ct_eq(mac)));
    if !sealed {
        // What the head should say cannot be known; the code that would seal it is not shown.
        found.broken = Some(at_the_end(&found, "unknown: the seal of the head is broken".to_owned(), previous));
    } else if sequence != found.events_verified || hash != previous {
        found.broken = Some(at_the_end(&found, hash, previous));
    }
    Ok(found)
}

/// The tail is gone, or the head is not ours: the break is at the last event there is.
fn at_the_end(found: &ChainWalk, expected_hash: String, actual_hash: String) -> ChainBreak {
    let (event_id, timestamp) =
        found.last_event.clone().unwrap_or_else(|| (EventId::from("genesis"), chrono::DateTime::UNIX_EPOCH));
    ChainBreak { event_id, expected_hash, actual_hash, timestamp }
}
