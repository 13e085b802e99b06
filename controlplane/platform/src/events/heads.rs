//! Signed heads: how long a chain was and what its last hash was, at a moment, under a signature
//! that the database cannot make, in the archive, which the database cannot change.
//!
//! A database that is set back to an earlier state fits itself: its chain, its head and the seal of
//! its head are all from then. A head of later says what was there. Heads are signed each minute
//! where a chain has moved, and with every export. One is named by what it says, so that comparing
//! takes one list.

use std::collections::BTreeMap;

use chrono::Duration;
use contract::{EventId, OrgId, Timestamp};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::chain::{self, ChainBreak, ChainWalk};
use crate::archive::Archive;
use crate::crypto::tokens::PKCS8_HEAD;
use crate::{App, Config, Error, Result};

/// "Sign heads each minute."
pub const PERIOD: Duration = Duration::minutes(1);
/// Chains signed at once.
const BATCH: i64 = 200;
const TYPE: &str = "sluice-audit-head+jwt";

/// A signed head: a compact JWS, checked with the installation's audit key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub org_id: OrgId,
    pub sequence: i64,
    pub hash: String,
    pub signed_at: Timestamp,
}

impl Head {
    fn name(&self) -> String {
        let hash = self.hash.strip_prefix("sha256:").unwrap_or(&self.hash);
        format!("{}/{:020}-{hash}", folder(&self.org_id), self.sequence)
    }

    /// What a name says: sequence and hash.
    fn read(name: &str) -> Option<(i64, String)> {
        let (sequence, hash) = name.split_once('-')?;
        Some((sequence.parse().ok()?, format!("sha256:{hash}")))
    }
}

fn folder(org_id: &OrgId) -> String {
    format!("heads/{org_id}")
}

/// The Ed25519 key of `SLUICE_AUDIT_KEY`.
pub struct HeadKey {
    signing: EncodingKey,
    checking: DecodingKey,
}

impl HeadKey {
    pub fn new(config: &Config) -> Result<Self, jsonwebtoken::errors::Error> {
        let seed = config.audit_key.as_ref().map_or_else(|| config.secret_key.audit_seed(), |seed| *seed.expose());
        let signing = EncodingKey::from_ed_der(&[PKCS8_HEAD.as_slice(), &seed].concat());
        let public = jsonwebtoken::jwk::Jwk::from_encoding_key(&signing, Algorithm::EdDSA)?;
        Ok(Self { checking: DecodingKey::from_jwk(&public)?, signing })
    }

    fn sign(&self, head: &Head) -> Result<String> {
        let header = Header { typ: Some(TYPE.to_owned()), ..Header::new(Algorithm::EdDSA) };
        jsonwebtoken::encode(&header, head, &self.signing).map_err(Error::internal)
    }

    /// The head, if it is signed with this key.
    fn check(&self, text: &[u8]) -> Option<Head> {
        let text = std::str::from_utf8(text).ok()?;
        let header = jsonwebtoken::decode_header(text).ok()?;
        let mut rules = Validation::new(Algorithm::EdDSA);
        rules.required_spec_claims.clear(); // a head does not expire, and is for whoever asks
        rules.validate_exp = false;
        rules.validate_aud = false;
        let head = jsonwebtoken::decode::<Head>(text, &self.checking, &rules).ok()?.claims;
        (header.typ.as_deref() == Some(TYPE)).then_some(head)
    }
}

contract::opaque!(HeadKey);

/// Signs the head of every chain that has moved since its last one; nowhere to keep them, no heads.
pub async fn sign_moved(app: &App) -> Result<()> {
    let Some(archive) = app.archive() else {
        return Ok(());
    };
    loop {
        let moved = sqlx::query_scalar!(
            "select org_id from iam_chain_heads where sequence > signed_sequence order by org_id limit $1",
            BATCH,
        );
        let moved = moved.fetch_all(app.pool()).await?;
        if moved.is_empty() {
            return Ok(());
        }
        for org_id in moved {
            sign(app, archive, &org_id.into()).await?;
        }
    }
}

/// Signs the head of one chain as it is now, and answers it with its signature; none without events.
pub async fn sign(app: &App, archive: &Archive, org_id: &OrgId) -> Result<Option<(Head, String)>> {
    let row = sqlx::query!("select sequence, hash from iam_chain_heads where org_id = $1", org_id.as_str());
    let Some(row) = row.fetch_optional(app.pool()).await? else {
        return Ok(None);
    };
    let head = Head { org_id: org_id.clone(), sequence: row.sequence, hash: row.hash, signed_at: app.now() };
    let signed = app.head_key().sign(&head)?;
    archive.put_once(&head.name(), signed.clone().into()).await?;
    sqlx::query!(
        "update iam_chain_heads set signed_sequence = greatest(signed_sequence, $2) where org_id = $1",
        org_id.as_str(),
        head.sequence,
    )
    .execute(app.pool())
    .await?;
    Ok(Some((head, signed)))
}

/// Walks the chain, and compares it with every signed head there is. Of two wrong places the first
/// is told.
pub async fn verify(app: &App, tx: &mut PgConnection, org_id: &OrgId) -> Result<ChainWalk> {
    let walked = chain::verify(&app.keyring().audit_key(), &mut *tx, org_id).await?;
    let Some(archive) = app.archive() else {
        return Ok(walked);
    };
    let heads: BTreeMap<i64, String> =
        archive.names(&folder(org_id)).await?.iter().filter_map(|name| Head::read(name)).collect();
    let hashes = hashes(&mut *tx, org_id, &heads).await?;
    let mut agreed = 0;
    for (sequence, hash) in &heads {
        if hashes.get(sequence) == Some(hash) {
            agreed = *sequence;
            continue;
        }
        let head = Head { org_id: org_id.clone(), sequence: *sequence, hash: hash.clone(), signed_at: app.now() };
        let Some(genuine) = app.head_key().check(&archive.get(&head.name()).await?) else {
            tracing::warn!(org.id = %org_id, head.sequence = sequence, "a head in the archive is not ours");
            continue;
        };
        if (&genuine.org_id, genuine.sequence, &genuine.hash) == (org_id, *sequence, hash) {
            return earlier(tx, walked, &genuine, agreed).await;
        }
    }
    Ok(walked)
}

/// The hashes that the chain has where heads were signed.
async fn hashes(tx: &mut PgConnection, org_id: &OrgId, heads: &BTreeMap<i64, String>) -> Result<BTreeMap<i64, String>> {
    let sequences: Vec<i64> = heads.keys().copied().collect();
    let rows = sqlx::query!(
        "select sequence, hash from iam_events where org_id = $1 and sequence = any ($2)",
        org_id.as_str(),
        &sequences,
    );
    Ok(rows.fetch_all(tx).await?.into_iter().map(|row| (row.sequence, row.hash)).collect())
}

/// What the walk found, or the disagreement with a head where that comes first: at the event of that
/// head, or at the last one there is when the chain does not reach so far.
async fn earlier(tx: &mut PgConnection, walked: ChainWalk, head: &Head, agreed: i64) -> Result<ChainWalk> {
    let rows = sqlx::query!(
        r#"select sequence, event_id, hash, "timestamp" from iam_events
           where org_id = $1 and sequence <= $2 order by sequence desc limit 1"#,
        head.org_id.as_str(),
        head.sequence,
    );
    let at = rows.fetch_optional(tx).await?;
    let position = at.as_ref().map_or(0, |at| at.sequence);
    if walked.broken.is_some() && walked.events_verified < position {
        return Ok(walked);
    }
    let (event_id, actual_hash, timestamp) = at.map_or_else(
        || (EventId::from("genesis"), chain::GENESIS.to_owned(), chrono::DateTime::UNIX_EPOCH),
        |at| (EventId::from(at.event_id), at.hash, at.timestamp),
    );
    let broken = Some(ChainBreak { event_id, expected_hash: head.hash.clone(), actual_hash, timestamp });
    // Cut short, all that is left may be right; written anew, only what an earlier head knows.
    let events_verified = if position < head.sequence { walked.events_verified } else { agreed };
    Ok(ChainWalk { events_verified, broken, ..walked })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::tokens::TokenSigner;

    #[test]
    fn a_head_is_read_from_its_name_and_believed_by_its_signature() {
        let config = Config::new(String::new(), contract::Keyring::new([1; 32]));
        let key = HeadKey::new(&config).unwrap();
        let head = Head {
            org_id: "o".into(),
            sequence: 7,
            hash: format!("sha256:{}", "ab".repeat(32)),
            signed_at: chrono::DateTime::UNIX_EPOCH,
        };
        assert_eq!(Head::read(head.name().rsplit('/').next().unwrap()), Some((7, head.hash.clone())));
        let signed = key.sign(&head).unwrap();
        assert_eq!(key.check(signed.as_bytes()), Some(head.clone()));
        let other = HeadKey::new(&Config::new(String::new(), contract::Keyring::new([2; 32]))).unwrap();
        assert_eq!(other.check(signed.as_bytes()), None);
        let token = TokenSigner::new(&config).unwrap().issue(
            "u".into(),
            "o".into(),
            contract::Role::Owner,
            "s".into(),
            head.signed_at,
        );
        assert_eq!(key.check(token.unwrap().as_bytes()), None);
    }
}
