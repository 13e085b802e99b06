//! Access keys that come from a Secret of Kubernetes: read when it is named, and again each minute.
//!
//! The control plane reads them, since credentials travel in its snapshots. A pod that mounts a Secret has it as it was at
//! its start, and the operator would need a way to hand credentials on. Its role lets it get the Secrets that the chart
//! names and no other. A Secret says itself which environments may use it, so that who manages integrations of one cannot
//! take up another's. What is wrong with it is told, and the integration is sent as disabled meanwhile.

mod rereading;
pub mod source;
mod store;

use contract::storage_integration::{AccessKey, StorageKind};
use platform::http::call::Call;
use platform::resources::NamespacedName;
use platform::{App, Error, Result};
use sqlx::PgConnection;

use super::credentials::CredentialsInput;
use super::store::KeptIntegration;
use crate::domain::environments;
use source::{KeptSecret, SecretReading, SecretSource};

pub use rereading::{REREAD_EVERY, reread};

/// A Secret that was named, with the access key that it gives.
pub struct NamedSecret {
    source: SecretSource,
    key: AccessKey,
}

/// Takes a reference to a Secret out of the credentials and reads it; where no Secret is read, it stays there.
pub async fn named(cx: &Call, given: &mut Option<CredentialsInput>) -> Result<Option<NamedSecret>> {
    if cx.app.resources().is_none() || cx.app.config().storage.storage_secrets.is_empty() {
        return Ok(None);
    }
    let (name, keys) = match given.take() {
        Some(CredentialsInput::KubernetesSecret { name, keys }) => (name, keys),
        others => {
            *given = others;
            return Ok(None);
        }
    };
    let keys = keys.unwrap_or_default();
    if !keys.are_fit() {
        let message = "each of `keys` has 1 to 253 letters, digits, `-`, `_` and `.`, as keys of a Secret have";
        return Err(Error::invalid("credentials.keys", "keys of a Secret", message));
    }
    let place = {
        let mut conn = cx.app.pool().acquire().await?;
        environments::resource_place(&mut conn, &cx.env_id()?).await?
    };
    let (_, environment) = place.ok_or(Error::EnvironmentNotFound)?;
    let source = SecretSource { name, keys };
    let key = read(&cx.app, &source, &environment).await?;
    let key = key.map_err(|problem| Error::invalid("credentials", "a Secret that gives an access key", problem))?;
    Ok(Some(NamedSecret { source, key }))
}

/// What the Secret beside the environment gives. An error: the cluster does not tell.
async fn read(app: &App, source: &SecretSource, environment: &NamespacedName) -> Result<SecretReading> {
    let name = &source.name;
    if !app.config().storage.storage_secrets.contains(name) {
        let problem = format!("whoever runs the installation does not name the Secret `{name}`: have them name it");
        return Ok(Err(problem));
    }
    let Some(resources) = app.resources() else {
        return Err(Error::Unavailable("there is no Kubernetes to read Secrets of"));
    };
    let place = NamespacedName { namespace: environment.namespace.clone(), name: name.clone() };
    let read = resources.secret(&place).await?;
    Ok(source.access_key(&read, &environment.name))
}

/// The integration has the access key of the Secret from now on.
pub async fn give(
    app: &App,
    conn: &mut PgConnection,
    integration: &mut KeptIntegration,
    named: NamedSecret,
) -> Result<()> {
    if !matches!(integration.kind, StorageKind::S3 { .. }) {
        let message = "a Secret gives the access key of an integration of the kind `s3` alone";
        return Err(Error::invalid("credentials", "as the kind has them", message));
    }
    let NamedSecret { source, key } = named;
    store::hold(app, conn, integration, KeptSecret { source, problem: None }, Some(&key)).await
}
