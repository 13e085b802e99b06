//! One environment's snapshot, read from the rooms in one repeatable-read transaction.
//!
//! Not here: what a snapshot is (`contract::governance`), when it is sent (`publisher`), and how
//! its version grows (the triggers of `0010_governance.sql`, and of each later room beside its tables).
//!
//! A data plane that is sent more than it takes keeps the rules of before, with every key that is revoked
//! from then on: so no room adds more than its share ([`within_share`]).

use contract::governance::HexKey;
use contract::{EnvId, Governance, Keyring};
use sqlx::PgPool;

use crate::domain::tenancy::{organizations, users};
use crate::domain::{abac_policies, agent_capabilities, api_keys, environments, jit_access, policies, runtime};
use crate::{Error, Result};

/// What a data plane takes (`MESSAGE_BYTES_MAX` of its `governance/link.rs`).
pub const SNAPSHOT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What each room may add to it: five do.
pub const SHARE_BYTES_MAX: i64 = 8 * 1024 * 1024;

/// Refuses what leaves `what` above its share, unless it has made it less.
pub fn within_share(what: &str, before: i64, after: i64) -> Result<()> {
    if after <= SHARE_BYTES_MAX || after <= before {
        return Ok(());
    }
    let most = SHARE_BYTES_MAX >> 20;
    Err(Error::conflict("too_large", format!("{what} are at most {most} MiB together: take something away first")))
}

/// `None` when there is no such environment.
pub async fn load(pool: &PgPool, keyring: &Keyring, env_id: &EnvId) -> Result<Option<Governance>> {
    let mut tx = pool.begin_with("begin isolation level repeatable read read only").await?;
    let Some((version, org_id, environment)) = environments::governed(&mut tx, env_id).await? else {
        return Ok(None);
    };
    let Some(organization) = organizations::governed(&mut tx, &org_id).await? else {
        return Ok(None);
    };
    let governance = Governance {
        version,
        environment,
        organization,
        key_pepper: HexKey(keyring.key_pepper()),
        mask_key: HexKey(keyring.mask_key(env_id)),
        members: users::governed(&mut tx, &org_id).await?,
        keys: api_keys::governed(&mut tx, env_id).await?,
        policies: policies::governed(&mut tx, env_id).await?,
        abac_policies: abac_policies::governed(&mut tx, env_id).await?,
        elevations: jit_access::governed(&mut tx, env_id).await?,
        agent_capabilities: agent_capabilities::governed(&mut tx, env_id).await?,
        runtime: runtime::sql::is_on(&mut tx).await?,
    };
    tx.commit().await?;
    Ok(Some(governance))
}

#[cfg(test)]
mod tests;
