//! The Secret that credentials come from, and whether it holds some.

use contract::Redacted;
use contract::storage_integration::{
    AccessKey, DatabaseUser, POSTGRES_PORT, SasToken, StorageCredentials, StorageKind,
};
use platform::resources::{SECRET_ENVIRONMENTS, SECRET_HOSTS, SECRET_KEYS, SecretRead, SecretValues};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::storage_integrations::azure;

/// The type of such credentials in the database and on the wire.
pub const KUBERNETES_SECRET: &str = "kubernetes_secret";

const CREDENTIAL_BYTES_MAX: usize = 4_096;
const KEY_BYTES_MAX: usize = 253;

/// The credentials of a Secret, or what is wrong with the Secret.
pub type SecretReading = Result<StorageCredentials, String>;

/// Under which keys of a Secret the parts of credentials are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StorageSecretKeys")]
#[serde(default, deny_unknown_fields)]
pub struct SecretKeys {
    /// Of an access key; absent, `access_key_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_key_id: Option<String>,
    /// Of an access key; absent, `secret_access_key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_access_key: Option<String>,
    /// Of an access key; absent, it has no session token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_token: Option<String>,
    /// Of `postgres`; absent, `user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Of `postgres`; absent, `password`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Of `azure`, said where the Secret has a shared access signature in place of an access key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sas_token: Option<String>,
}

impl SecretKeys {
    /// The parts of a kind's credentials, each under its own name; none where a Secret gives none of the kind.
    pub fn usual(kind: &StorageKind) -> Option<Self> {
        let own = |part: &str| Some(part.to_owned());
        if kind.is_database() {
            return Some(Self { user: own("user"), password: own("password"), ..Self::default() });
        }
        let (access_key_id, secret_access_key) = (own("access_key_id"), own("secret_access_key"));
        matches!(kind, StorageKind::S3 { .. } | StorageKind::Azure { .. }).then(|| Self {
            access_key_id,
            secret_access_key,
            ..Self::default()
        })
    }

    /// These, and the usual ones where none is said; none where one is said of a part that the kind's do not have.
    pub fn of_kind(self, kind: &StorageKind) -> Option<Self> {
        if self.sas_token.is_some() {
            let alone = Self { sas_token: self.sas_token.clone(), ..Self::default() };
            return (self == alone && matches!(kind, StorageKind::Azure { .. })).then_some(alone);
        }
        let usual = Self::usual(kind)?;
        let is_user = usual.user.is_some();
        let keys = Self {
            access_key_id: self.access_key_id.or(usual.access_key_id),
            secret_access_key: self.secret_access_key.or(usual.secret_access_key),
            session_token: self.session_token,
            user: self.user.or(usual.user),
            password: self.password.or(usual.password),
            sas_token: None,
        };
        let has_key = keys.access_key_id.is_some() || keys.secret_access_key.is_some() || keys.session_token.is_some();
        let has_user = keys.user.is_some() || keys.password.is_some();
        (has_user == is_user && has_key != is_user).then_some(keys)
    }

    /// The name of each part with its key, if it has one.
    fn parts(&self) -> [(&'static str, Option<&String>); 6] {
        [
            ("access_key_id", self.access_key_id.as_ref()),
            ("secret_access_key", self.secret_access_key.as_ref()),
            ("session_token", self.session_token.as_ref()),
            ("user", self.user.as_ref()),
            ("password", self.password.as_ref()),
            ("sas_token", self.sas_token.as_ref()),
        ]
    }

    /// Each as a Secret may have it.
    pub fn are_fit(&self) -> bool {
        let fits = |key: &String| {
            let is_of_a_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            (1..=KEY_BYTES_MAX).contains(&key.len()) && key.bytes().all(is_of_a_key)
        };
        self.parts().into_iter().filter_map(|(_, key)| key).all(fits)
    }

    /// Whether the Secret says so itself. Some parts are sent as they are: who chooses where to would be told of whatever
    /// else of the Secret stood in their place.
    fn are_said_by(&self, found: &SecretValues) -> bool {
        let is_said = |(part, key): (&str, Option<&String>)| {
            let said = found.keys.get(part).map_or(part, String::as_str);
            key.is_none_or(|named| named == said)
        };
        self.parts().into_iter().all(is_said)
    }
}

/// Where a password or a signature is sent as it is, as `host:port`; none of an access key, which only signs.
pub fn host_of(kind: &StorageKind, keys: &SecretKeys) -> Option<String> {
    match kind {
        StorageKind::Postgres { host, port, .. } => Some(format!("{host}:{port}")),
        StorageKind::Azure { account, endpoint, .. } if keys.sas_token.is_some() => {
            azure::place(account, endpoint.as_deref())
        }
        _ => None,
    }
}

/// A Secret beside an environment, and what of it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretSource {
    pub name: String,
    pub keys: SecretKeys,
    /// Where its password or signature is sent, as `host:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// A Secret that an integration has, and why it gives no credentials where it gives none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "StorageSecret")]
pub struct KeptSecret {
    #[serde(flatten)]
    pub source: SecretSource,
    /// Null: it gives the credentials that the integration has.
    pub problem: Option<String>,
}

impl SecretSource {
    /// The credentials that the Secret holds for the environment of this name.
    pub fn credentials(&self, read: &SecretRead, environment: &str) -> SecretReading {
        let name = &self.name;
        let found = match read {
            SecretRead::There(found) => found,
            SecretRead::Absent => {
                return Err(format!("there is no Secret `{name}` beside the environment: make it, or name another"));
            }
            SecretRead::Denied => {
                return Err(format!(
                    "the cluster does not let the control plane read the Secret `{name}`: have whoever runs the \
                     installation permit it"
                ));
            }
        };
        if !found.environments.iter().any(|named| named == environment) {
            return Err(format!(
                "the Secret `{name}` is not for this environment: add `{environment}` to its annotation \
                 `{SECRET_ENVIRONMENTS}`"
            ));
        }
        if !self.keys.are_said_by(found) {
            return Err(format!(
                "the Secret `{name}` does not say that its parts are under these `keys`: say the keys that it says, or \
                 have it say them in its annotation `{SECRET_KEYS}`, as `part=key`"
            ));
        }
        match (&self.keys, &self.host) {
            (SecretKeys { access_key_id: Some(id), secret_access_key: Some(secret), session_token, .. }, None) => {
                self.access_key(found, (id, secret, session_token.as_deref())).map(StorageCredentials::AccessKey)
            }
            (SecretKeys { user: Some(user), password: Some(password), .. }, Some(host)) => {
                self.password(found, (user, password), host).map(StorageCredentials::Password)
            }
            (SecretKeys { sas_token: Some(key), .. }, Some(host)) => {
                self.sas_token(found, key, host).map(StorageCredentials::SasToken)
            }
            _ => Err(format!("it is not known which credentials the Secret `{name}` gives: name it anew")),
        }
    }

    fn access_key(
        &self,
        found: &SecretValues,
        (id, secret, token): (&str, &str, Option<&str>),
    ) -> Result<AccessKey, String> {
        let token = token.map(|key| self.word(found, key)).transpose()?;
        Ok(AccessKey {
            access_key_id: self.word(found, id)?,
            secret_access_key: self.word(found, secret)?,
            session_token: Redacted::new(token.map(|token| token.expose().clone())),
        })
    }

    fn password(
        &self,
        found: &SecretValues,
        (user, password): (&str, &str),
        host: &str,
    ) -> Result<DatabaseUser, String> {
        self.is_for(found, host, POSTGRES_PORT)?;
        Ok(DatabaseUser { user: self.text(found, user)?, password: self.text(found, password)? })
    }

    fn sas_token(&self, found: &SecretValues, key: &str, host: &str) -> Result<SasToken, String> {
        self.is_for(found, host, azure::HTTPS_PORT)?;
        let is_token = |text: &str| is_word(text) && azure::is_sas_token(text);
        let sas_token = self.value(found, key, (is_token, "visible ASCII characters of a shared access signature"))?;
        Ok(SasToken { sas_token })
    }

    /// The Secret names this place: whoever has chosen it could use a password or signature that is sent there.
    fn is_for(&self, found: &SecretValues, host: &str, usual_port: u16) -> Result<(), String> {
        if found.hosts.iter().any(|named| is_host(named, host, usual_port)) {
            return Ok(());
        }
        let name = &self.name;
        Err(format!(
            "the Secret `{name}` does not say that it is for `{host}`: add that to its annotation `{SECRET_HOSTS}`"
        ))
    }

    /// A part of an access key.
    fn word(&self, found: &SecretValues, key: &str) -> Result<Redacted<String>, String> {
        self.value(found, key, (is_word, "visible ASCII characters"))
    }

    /// What PostgreSQL takes as the name of a user or as a password.
    fn text(&self, found: &SecretValues, key: &str) -> Result<Redacted<String>, String> {
        // bytes that are no text were read as the sign that stands for them
        let is_text = |text: &str| !text.chars().any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER);
        self.value(found, key, (is_text, "bytes of text without control characters"))
    }

    fn value(
        &self,
        found: &SecretValues,
        key: &str,
        (fits, form): (impl Fn(&str) -> bool, &str),
    ) -> Result<Redacted<String>, String> {
        let name = &self.name;
        let Some(value) = found.values.get(key) else {
            return Err(format!("the Secret `{name}` has no key `{key}`: add it, or say another in `keys`"));
        };
        let text = value.expose();
        if !(1..=CREDENTIAL_BYTES_MAX).contains(&text.len()) || !fits(text) {
            return Err(format!("`{key}` of the Secret `{name}` is not 1 to {CREDENTIAL_BYTES_MAX} {form}: mend it"));
        }
        Ok(value.clone())
    }
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether the name of a host, with or without the usual port, is this place.
fn is_host(named: &str, place: &str, usual_port: u16) -> bool {
    let usual = place.rsplit_once(':').filter(|(_, port)| port.parse::<u16>() == Ok(usual_port));
    named.eq_ignore_ascii_case(place) || usual.is_some_and(|(host, _)| named.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests;
