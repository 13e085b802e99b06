//! One environment's snapshot, read from the resource modules in one repeatable-read transaction.
//!
//! Not here: what a snapshot is (`contract::governance`), when it is sent (`publisher`), and how
//! its version grows (the triggers of `0010_governance.sql`, and of each later migration beside its tables).

use contract::governance::HexKey;
use contract::{EnvId, Governance, Keyring};
use platform::Result;
use sqlx::PgPool;

use crate::domain::tenancy::{organizations, users};
use crate::domain::{
    abac_policies, agent_capabilities, api_keys, environments, jit_access, policies, runtime, storage_integrations,
};

/// `None` when there is no such environment.
pub async fn load(pool: &PgPool, keyring: &Keyring, env_id: &EnvId) -> Result<Option<Governance>> {
    let mut tx = pool.begin_with("begin isolation level repeatable read read only").await?;
    let Some((version, org_id, environment)) = environments::governed(&mut tx, env_id).await? else {
        return Ok(None);
    };
    let Some(organization) = organizations::governed(&mut tx, &org_id).await? else {
        return Ok(None);
    };
    let all = storage_integrations::governed(&mut tx, keyring, env_id).await?;
    let (attached, of_files): (_, Vec<_>) = all.into_iter().partition(|integration| integration.kind.is_database());
    let (later_integrations, storage_integrations) =
        of_files.into_iter().partition(|integration| integration.kind.is_later());
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
        storage_integrations,
        attached,
        later_integrations,
    };
    tx.commit().await?;
    Ok(Some(governance))
}

#[cfg(test)]
mod tests;
