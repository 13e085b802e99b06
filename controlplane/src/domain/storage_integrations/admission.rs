//! Validation of a storage integration: its name, its prefixes, and how far the operator lets it reach.

use contract::Redacted;
use contract::storage_integration::{ANY_PREFIX, AccessKey, DatabaseUser, Location, StorageCredentials, StorageKind};
use platform::egress::storage_endpoint;
use platform::{App, Error, Result};

use super::azure;
use super::credentials::CredentialsInput;
use super::postgres;
use super::store::KeptIntegration;

const NAME_BYTES_MAX: usize = 128;
const REGION_BYTES_MAX: usize = 64;
const PREFIXES_MAX: usize = 50;
const PREFIX_BYTES_MAX: usize = 512;
const SECRET_BYTES_MAX: usize = 4_096;

/// A name as a statement writes it without quotes.
pub fn name(given: String) -> Result<String> {
    let begins = given.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let fits = given.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if begins && fits && given.len() <= NAME_BYTES_MAX {
        return Ok(given);
    }
    let message =
        format!("`name` is 1 to {NAME_BYTES_MAX} letters from a to z, digits and `_`, and begins with no digit");
    Err(Error::invalid("name", format!("1..{NAME_BYTES_MAX}"), message))
}

/// A store that speaks as S3 does.
pub fn s3(app: &App, endpoint: Option<String>, region: Option<String>, path_style: bool) -> Result<StorageKind> {
    let endpoint = endpoint.filter(|given| !given.is_empty());
    let hosts = &app.config().storage.storage_hosts;
    let endpoint = endpoint.map(|given| storage_endpoint::admit(&given, hosts)).transpose()?;
    let region = region.unwrap_or_default();
    let fits = region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if region.is_empty() || region.len() > REGION_BYTES_MAX || !fits {
        return Err(Error::invalid("region", "a region", "`region` is the name of a region, such as eu-central-1"));
    }
    Ok(StorageKind::S3 { endpoint, region, path_style })
}

/// A folder of the machine, within the one that the operator names.
pub fn file(app: &App, folder: Option<String>) -> Result<StorageKind> {
    let config = app.config();
    let absent = || {
        let message = "`kind` `file` is off on this installation: use `s3`, or let whoever runs it name a folder";
        Error::invalid("kind", "s3", message)
    };
    let named = config.storage.storage_folder.as_deref().filter(|_| !config.kubernetes).ok_or_else(absent)?;
    let outer = named.to_str().and_then(|path| Location::of_folder(path).ok()).ok_or_else(absent)?;
    let folder = folder.unwrap_or_default();
    let inner = Location::of_folder(&folder).ok().filter(|inner| outer.holds(inner));
    if inner.is_none() || folder.len() > PREFIX_BYTES_MAX {
        let message = "`folder` is an absolute path within the folder that whoever runs the installation has named";
        return Err(Error::invalid("folder", "within the named folder", message));
    }
    Ok(StorageKind::File { folder })
}

/// Whether this installation lets it reach what it names; it may have let more when the integration was made.
pub fn is_within(app: &App, integration: &KeptIntegration) -> bool {
    let storage = &app.config().storage;
    let is_ambient = integration.credential_type == StorageCredentials::Ambient.as_str();
    let reaches = match &integration.kind {
        StorageKind::S3 { endpoint, .. } | StorageKind::Azure { endpoint, .. } => {
            let is_admitted = |given: &String| storage_endpoint::admit(given, &storage.storage_hosts).is_ok();
            endpoint.as_ref().is_none_or(is_admitted)
        }
        StorageKind::File { folder } => file(app, Some(folder.clone())).is_ok(),
        StorageKind::Postgres { host, port, ssl_mode, .. } => postgres::is_within(app, host, *port, *ssl_mode),
    };
    let is_lent = match &integration.kind {
        StorageKind::Azure { account, endpoint, .. } => azure::may_get_token(app, account, endpoint.as_deref()),
        _ => true,
    };
    reaches && (!is_ambient || (storage.storage_ambient && is_lent))
}

/// Prefixes of the kind's locations, each as a URL or `*`.
pub fn prefixes(field: &'static str, kind: &StorageKind, given: Vec<String>) -> Result<Vec<String>> {
    if given.len() > PREFIXES_MAX {
        let message = format!("`{field}` has at most {PREFIXES_MAX} prefixes");
        return Err(Error::invalid(field, format!("0..{PREFIXES_MAX}"), message));
    }
    for (at, prefix) in given.iter().enumerate() {
        let refused =
            |why: String| Error::invalid(format!("{field}[{at}]"), "a prefix", format!("`{field}[{at}]`: {why}"));
        if prefix == ANY_PREFIX {
            continue;
        }
        let location = Location::of(prefix).map_err(|error| refused(error.to_string()))?;
        if location.scheme() != kind.scheme() {
            return Err(refused(format!("begin it with {}, as the kind `{}` has it", kind.scheme(), kind.as_str())));
        }
        if prefix.len() > PREFIX_BYTES_MAX {
            return Err(refused(format!("a prefix has at most {PREFIX_BYTES_MAX} bytes")));
        }
    }
    Ok(given)
}

/// The credentials that are given, if this installation takes them for the kind.
pub fn credentials(app: &App, kind: &StorageKind, given: CredentialsInput) -> Result<StorageCredentials> {
    let refused = |constraint: &'static str, message: &'static str| Error::invalid("credentials", constraint, message);
    match (given, kind) {
        (CredentialsInput::Password { user, password }, StorageKind::Postgres { .. }) => {
            let (user, password) = (word("credentials.user", user)?, word("credentials.password", password)?);
            Ok(StorageCredentials::Password(DatabaseUser { user, password }))
        }
        (CredentialsInput::KubernetesSecret { .. }, StorageKind::Postgres { .. }) => {
            Err(refused("password", "this installation reads no Secret of Kubernetes: send a `password`"))
        }
        (_, StorageKind::Postgres { .. }) => {
            Err(refused("password", "`credentials` of the kind `postgres` are a `password`, with its `user`"))
        }
        (CredentialsInput::Anonymous, _) => Ok(StorageCredentials::Anonymous),
        (_, StorageKind::File { .. }) => {
            Err(refused("anonymous", "`credentials` of the kind `file` are `anonymous`: a folder asks for none"))
        }
        (CredentialsInput::Password { .. }, StorageKind::S3 { .. } | StorageKind::Azure { .. }) => Err(refused(
            "anonymous, ambient, access_key",
            "a `password` is for the kind `postgres`: send an `access_key`",
        )),
        (CredentialsInput::Ambient, StorageKind::Azure { account, endpoint, .. })
            if !azure::may_get_token(app, account, endpoint.as_deref()) =>
        {
            let message = "`ambient` credentials are not sent to an `endpoint` that whoever runs the installation does \
                           not name: leave it out, or send an `access_key`";
            Err(refused("anonymous, access_key, sas_token", message))
        }
        (CredentialsInput::Ambient, StorageKind::S3 { .. } | StorageKind::Azure { .. })
            if app.config().storage.storage_ambient =>
        {
            Ok(StorageCredentials::Ambient)
        }
        (CredentialsInput::Ambient, StorageKind::S3 { .. } | StorageKind::Azure { .. }) => {
            let message = "`ambient` credentials are off on this installation: send an `access_key`";
            Err(refused("anonymous, access_key", message))
        }
        (CredentialsInput::KubernetesSecret { .. }, StorageKind::S3 { .. } | StorageKind::Azure { .. }) => {
            let message = "this installation reads no Secret of Kubernetes: send an `access_key`";
            Err(refused("anonymous, ambient, access_key", message))
        }
        (CredentialsInput::AccessKey { access_key_id, secret_access_key, session_token }, StorageKind::S3 { .. }) => {
            Ok(StorageCredentials::AccessKey(AccessKey {
                access_key_id: secret("credentials.access_key_id", access_key_id)?,
                secret_access_key: secret("credentials.secret_access_key", secret_access_key)?,
                session_token: Redacted::new(
                    session_token
                        .map(|token| secret("credentials.session_token", token))
                        .transpose()?
                        .map(|token| token.expose().clone()),
                ),
            }))
        }
        (CredentialsInput::SasToken { .. }, StorageKind::S3 { .. }) => Err(refused(
            "anonymous, ambient, access_key",
            "a `sas_token` is for the kind `azure`: send an `access_key`",
        )),
        (CredentialsInput::SasToken { sas_token }, StorageKind::Azure { .. }) => {
            azure::sas_token(secret("credentials.sas_token", sas_token)?).map(StorageCredentials::SasToken)
        }
        (
            CredentialsInput::AccessKey { access_key_id, secret_access_key, session_token },
            StorageKind::Azure { account, .. },
        ) => {
            let key = secret("credentials.secret_access_key", secret_access_key)?;
            let key = azure::access_key(account, &access_key_id, key, session_token.is_some())?;
            Ok(StorageCredentials::AccessKey(key))
        }
    }
}

/// What PostgreSQL takes as the name of a user or as a password.
fn word(field: &'static str, given: String) -> Result<Redacted<String>> {
    if (1..=SECRET_BYTES_MAX).contains(&given.len()) && !given.chars().any(char::is_control) {
        return Ok(Redacted::new(given));
    }
    let message = format!("`{field}` is of 1 to {SECRET_BYTES_MAX} bytes, without control characters");
    Err(Error::invalid(field, format!("1..{SECRET_BYTES_MAX}"), message))
}

fn secret(field: &'static str, given: String) -> Result<Redacted<String>> {
    if (1..=SECRET_BYTES_MAX).contains(&given.len()) && given.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Redacted::new(given));
    }
    let message = format!("`{field}` is 1 to {SECRET_BYTES_MAX} visible ASCII characters");
    Err(Error::invalid(field, format!("1..{SECRET_BYTES_MAX} visible ASCII characters"), message))
}
