//! Credentials that come from a Secret of Kubernetes: read when it is named, and again each minute.
//!
//! The control plane reads them, since credentials travel in its snapshots. A pod that mounts a Secret has it as it was at
//! its start, and the operator would need a way to hand credentials on. Its role lets it get the Secrets that the chart
//! names and no other. A Secret says itself which environments may use it, so that who manages integrations of one cannot
//! take up another's. That of a password or a signature says its hosts as well: either is sent as it is, so who chooses
//! the host would learn it. What is wrong with a Secret is told, and the integration is sent as disabled meanwhile.

mod rereading;
pub mod source;
mod store;

use contract::storage_integration::{StorageCredentials, StorageKind};
use platform::http::call::Call;
use platform::resources::NamespacedName;
use platform::{App, Error, Result};
use sqlx::PgConnection;

use super::credentials::CredentialsInput;
use super::store::KeptIntegration;
use crate::domain::environments;
use source::{KeptSecret, SecretKeys, SecretReading, SecretSource};

pub use rereading::{REREAD_EVERY, reread};

/// A Secret that was named, with the credentials that it gives for a store or database.
pub struct NamedSecret {
    source: SecretSource,
    credentials: StorageCredentials,
    kind: StorageKind,
}

/// Takes a reference to a Secret out of the credentials and reads it; where no Secret is read, it stays there.
pub async fn named(cx: &Call, kind: &StorageKind, given: &mut Option<CredentialsInput>) -> Result<Option<NamedSecret>> {
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
    let keys = keys_of(kind, keys.unwrap_or_default())?;
    let host = source::host_of(kind, &keys);
    let source = SecretSource { name, keys, host };
    let place = {
        let mut conn = cx.app.pool().acquire().await?;
        environments::resource_place(&mut conn, &cx.env_id()?).await?
    };
    let (_, environment) = place.ok_or(Error::EnvironmentNotFound)?;
    let reading = read(&cx.app, &source, &environment).await?;
    let refused = |problem| Error::invalid("credentials", "a Secret that gives credentials", problem);
    Ok(Some(NamedSecret { source, credentials: reading.map_err(refused)?, kind: kind.clone() }))
}

/// The keys that are read, each part's own name where none is said.
fn keys_of(kind: &StorageKind, said: SecretKeys) -> Result<SecretKeys> {
    if !said.are_fit() {
        let message = "each of `keys` has 1 to 253 letters, digits, `-`, `_` and `.`, as keys of a Secret have";
        return Err(Error::invalid("credentials.keys", "keys of a Secret", message));
    }
    if SecretKeys::usual(kind).is_none() {
        let message = format!("no Secret gives the credentials of an integration of the kind `{}`", kind.as_str());
        return Err(Error::invalid("credentials", "as the kind has them", message));
    }
    said.of_kind(kind).ok_or_else(|| {
        let message = format!("`keys` name a part that such credentials of the kind `{}` lack", kind.as_str());
        Error::invalid("credentials.keys", "parts of the kind's credentials", message)
    })
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
    Ok(source.credentials(&read, &environment.name))
}

/// The integration has the credentials of the Secret from now on.
pub async fn give(
    app: &App,
    conn: &mut PgConnection,
    integration: &mut KeptIntegration,
    named: NamedSecret,
) -> Result<()> {
    let NamedSecret { source, credentials, kind } = named;
    if integration.kind != kind {
        // the Secret was asked whether it is for another place
        let message = "the integration was changed meanwhile: read it again, and send the change again";
        return Err(Error::conflict("changed_meanwhile", message));
    }
    store::hold(app, conn, integration, KeptSecret { source, problem: None }, Some(&credentials)).await
}
