//! The demo: an organization of tier `enterprise`, its owner, an environment with TPC-H at scale
//! 0.1 and a stage of files, and a key that acts for the owner with every scope. Made once; a later
//! start finds it, and gives the key a new text, because the old one is stored only as a hash.

mod attached;
mod files;

use contract::wire::Who;
use contract::{Scopes, Tier};
use controlplane::domain::tenancy::organizations;
use controlplane::domain::tenancy::organizations::Seeded;
use controlplane::domain::{api_keys, environments};

use crate::Platform;
use crate::client::Failure;
use crate::env_file::Access;

pub use attached::{AttachedError, AttachedPlace};
pub use files::stage;

/// The environment's slug, and so the name of its database.
pub const DATABASE: &str = "demo";
/// Scale factor of the TPC-H tables: about 866,000 rows.
pub const SCALE: f64 = 0.1;
const OWNER: &str = "owner@demo.local";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    State(#[from] crate::state::Error),
    #[error(transparent)]
    ControlPlane(#[from] controlplane::Error),
    #[error("the files of the demo could not be put into its stage: {0}")]
    Files(#[from] Failure),
    #[error("the attached database of the demo has no place: {0}")]
    Attached(#[from] AttachedError),
    #[error("the demo environment did not come up; the log says why")]
    NotUp,
}

/// Makes the demo, or finds it. `trust`: connections to its PostgreSQL wire act as the owner, unasked.
pub async fn prepare(platform: &Platform, trust: bool) -> Result<Access, Error> {
    let app = &platform.control.app;
    let local = &platform.environments;
    let owner_password = local.state.secret("demo_owner_password", || local.means.entropy.base62(20))?;
    let organization = organizations::OrganizationSeed {
        name: "Demo".to_owned(),
        slug: "demo".to_owned(),
        tier: Tier::Enterprise,
        owner_email: OWNER.to_owned(),
        owner_name: "Owner".to_owned(),
        owner_password: owner_password.clone(),
    };
    let Seeded { org_id, owner_id } = organizations::seed(app, &organization).await?;
    let environment =
        environments::EnvironmentSeed { name: "Demo".to_owned(), slug: DATABASE.to_owned(), test_mode: true };
    let env_id = environments::record(app, &org_id, &environment).await?;
    let trusted = Who::Session { user_id: owner_id.clone(), session_id: "local trust".into() };
    local.demo_is(env_id.clone(), trust.then_some(trusted));
    environments::wake(app, &org_id, &env_id).await?;
    environments::provision_all(app).await?;
    let key = api_keys::KeySeed { name: "demo".to_owned(), user_id: Some(owner_id), scopes: Scopes::all() };
    let (key_id, key) = api_keys::seed(app, &env_id, &key).await?;
    // Started again, it serves by the rules that it had before, until it is told of this key.
    if !local.knows(&env_id, &key_id).await {
        return Err(Error::NotUp);
    }
    let pgwire = local.pgwire(&env_id).await.ok_or(Error::NotUp)?;
    let tools = local.tools(&env_id).await.ok_or(Error::NotUp)?;
    Ok(Access {
        http: platform.control.http,
        pgwire,
        tools,
        database: DATABASE.to_owned(),
        org_id,
        env_id,
        owner_email: OWNER.to_owned(),
        owner_password,
        key,
    })
}
