//! The Secret that an access key comes from, and whether it holds one.

use contract::Redacted;
use contract::storage_integration::AccessKey;
use platform::resources::{SECRET_ENVIRONMENTS, SECRET_KEYS, SecretRead, SecretValues};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The type of such credentials in the database and on the wire.
pub const KUBERNETES_SECRET: &str = "kubernetes_secret";

const CREDENTIAL_BYTES_MAX: usize = 4_096;
const KEY_BYTES_MAX: usize = 253;

/// The access key of a Secret, or what is wrong with the Secret.
pub type SecretReading = Result<AccessKey, String>;

/// Under which keys of a Secret the parts of an access key are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StorageSecretKeys")]
#[serde(default, deny_unknown_fields)]
pub struct SecretKeys {
    pub access_key_id: String,
    pub secret_access_key: String,
    /// Null: the access key has no session token.
    pub session_token: Option<String>,
}

impl Default for SecretKeys {
    fn default() -> Self {
        Self {
            access_key_id: "access_key_id".to_owned(),
            secret_access_key: "secret_access_key".to_owned(),
            session_token: None,
        }
    }
}

impl SecretKeys {
    /// Each as a Secret may have it.
    pub fn are_fit(&self) -> bool {
        let fits = |key: &String| {
            let is_of_a_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            (1..=KEY_BYTES_MAX).contains(&key.len()) && key.bytes().all(is_of_a_key)
        };
        [Some(&self.access_key_id), Some(&self.secret_access_key), self.session_token.as_ref()]
            .into_iter()
            .flatten()
            .all(fits)
    }

    /// Whether the Secret says so itself. The id and the token are sent as they are with each request: who chooses the
    /// endpoint would be told of whatever else of the Secret stood in their place.
    fn are_said_by(&self, found: &SecretValues) -> bool {
        let usual = Self::default();
        let key = |part: &str| found.keys.get(part).map(String::as_str);
        let token = key("session_token").unwrap_or("session_token");
        self.access_key_id == key("access_key_id").unwrap_or(&usual.access_key_id)
            && self.secret_access_key == key("secret_access_key").unwrap_or(&usual.secret_access_key)
            && self.session_token.as_deref().is_none_or(|named| named == token)
    }
}

/// A Secret beside an environment, and what of it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretSource {
    pub name: String,
    pub keys: SecretKeys,
}

/// A Secret that an integration has, and why it gives no access key where it gives none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "StorageSecret")]
pub struct KeptSecret {
    #[serde(flatten)]
    pub source: SecretSource,
    /// Null: it gives the access key that the integration has.
    pub problem: Option<String>,
}

impl SecretSource {
    /// The access key that the Secret holds for the environment of this name.
    pub fn access_key(&self, read: &SecretRead, environment: &str) -> SecretReading {
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
                 have it say them in its annotation `{SECRET_KEYS}`, as `access_key_id=key`"
            ));
        }
        let token = self.keys.session_token.as_deref().map(|key| self.value(found, key)).transpose()?;
        Ok(AccessKey {
            access_key_id: self.value(found, &self.keys.access_key_id)?,
            secret_access_key: self.value(found, &self.keys.secret_access_key)?,
            session_token: Redacted::new(token.map(|token| token.expose().clone())),
        })
    }

    fn value(&self, found: &SecretValues, key: &str) -> Result<Redacted<String>, String> {
        let name = &self.name;
        let Some(value) = found.values.get(key) else {
            return Err(format!("the Secret `{name}` has no key `{key}`: add it, or say another in `keys`"));
        };
        if !is_credential(value.expose()) {
            return Err(format!(
                "`{key}` of the Secret `{name}` is not 1 to {CREDENTIAL_BYTES_MAX} visible ASCII characters: mend it"
            ));
        }
        Ok(value.clone())
    }
}

/// Whether it can be a part of an access key.
fn is_credential(text: &str) -> bool {
    (1..=CREDENTIAL_BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn values(environments: &[&str], values: &[(&str, &str)]) -> SecretRead {
        SecretRead::There(SecretValues {
            environments: environments.iter().map(|name| (*name).to_owned()).collect(),
            keys: BTreeMap::new(),
            values: values.iter().map(|(key, value)| ((*key).to_owned(), Redacted::new((*value).to_owned()))).collect(),
        })
    }

    #[test]
    fn no_part_is_taken_of_a_key_that_the_secret_does_not_say_it_is_under() {
        let whole = [("access_key_id", "AKID"), ("secret_access_key", "hush"), ("session_token", "token")];
        let SecretRead::There(found) = values(&["acme-dev"], &whole) else { panic!("a Secret") };
        let given = |id: &str, secret: &str, token: Option<&str>, said: &[(&str, &str)]| {
            let (access_key_id, secret_access_key) = (id.to_owned(), secret.to_owned());
            let keys = SecretKeys { access_key_id, secret_access_key, session_token: token.map(str::to_owned) };
            let said = said.iter().map(|(part, key)| ((*part).to_owned(), (*key).to_owned())).collect();
            let read = SecretRead::There(SecretValues { keys: said, ..found.clone() });
            SecretSource { name: "lake".to_owned(), keys }.access_key(&read, "acme-dev")
        };
        let (id, secret, token) = ("access_key_id", "secret_access_key", "session_token");
        assert!(given(id, secret, None, &[]).is_ok() && given(id, secret, Some(token), &[]).is_ok());
        // each of these would show the secret to the endpoint
        for (id, secret, token) in [(secret, id, None), (secret, secret, None), (id, secret, Some(secret))] {
            let told = given(id, secret, token, &[]).unwrap_err();
            assert!(told.contains(SECRET_KEYS) && !told.contains("hush"), "{told}");
        }
        let said = [(id, "session_token"), (secret, "access_key_id")];
        assert!(given("session_token", "access_key_id", None, &said).is_ok());
        assert!(given(id, secret, None, &said).is_err(), "it says others");
    }

    #[test]
    fn a_secret_gives_its_access_key_to_the_environments_that_it_names_and_else_says_why_not() {
        let source = SecretSource { name: "lake".to_owned(), keys: SecretKeys::default() };
        let whole = [("access_key_id", "AKID"), ("secret_access_key", "hush")];
        let key = source.access_key(&values(&["acme-dev"], &whole), "acme-dev").unwrap();
        assert_eq!((key.access_key_id.expose().as_str(), key.secret_access_key.expose().as_str()), ("AKID", "hush"));
        let problem = |read: &SecretRead| source.access_key(read, "acme-dev").unwrap_err();
        assert!(problem(&SecretRead::Absent).contains("no Secret `lake`"));
        assert!(problem(&SecretRead::Denied).contains("does not let the control plane read the Secret `lake`"));
        for others in [&["acme-prod"][..], &[], &["acme-dev-2"], &["*"]] {
            let said = problem(&values(others, &whole));
            assert!(said.contains("`acme-dev`") && said.contains(SECRET_ENVIRONMENTS), "{said}");
        }
        assert!(problem(&values(&["acme-dev"], &whole[..1])).contains("no key `secret_access_key`"));
        let spoilt = [("access_key_id", "AKID"), ("secret_access_key", "hush\n")];
        let said = problem(&values(&["acme-dev"], &spoilt));
        assert!(said.contains("visible ASCII") && !said.contains("hush"), "{said}");
    }
}
