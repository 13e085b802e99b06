//! Credentials of stores in the snapshot that is kept on disk: sealed, so that a copy of the volume holds none.
//!
//! The key is made of the private key by which the data plane proves itself to the control plane, which is not on the
//! volume. A new certificate opens nothing that was sealed before: the integrations are refused by name until the
//! control plane has sent the snapshot again. All other rules are in force meanwhile.

use std::borrow::Cow;
use std::io;

use contract::storage_integration::StorageCredentials;
use contract::{Entropy, Governance, Keyring, Redacted, StorageIntegration};
use sha2::{Digest, Sha256};

/// Seals credentials for one data plane's disk, and opens them again.
#[derive(Debug, Clone)]
pub struct SnapshotSeal {
    keyring: Keyring,
    entropy: Entropy,
}

impl SnapshotSeal {
    /// By the private key of the data plane's certificate.
    pub fn new(key_pem: &Redacted<String>, entropy: &Entropy) -> Self {
        let key: [u8; 32] = Sha256::digest(key_pem.expose().trim().as_bytes()).into();
        Self { keyring: Keyring::new(key), entropy: entropy.clone() }
    }

    /// Whether the rules show credentials, as a version before this one has written them down.
    pub fn are_shown(rules: &Governance) -> bool {
        integrations(rules).any(|integration| integration.credentials.are_secret())
    }

    /// The rules as they may be written down.
    pub fn sealed<'r>(&self, rules: &'r Governance) -> io::Result<Cow<'r, Governance>> {
        if !Self::are_shown(rules) {
            return Ok(Cow::Borrowed(rules));
        }
        let mut sealed = rules.clone();
        for integration in integrations_mut(&mut sealed).filter(|one| one.credentials.are_secret()) {
            let record = record(rules, &integration.name);
            let secret = Redacted::new(serde_json::to_string(&integration.credentials)?);
            let bytes = self.keyring.seal(&record, &secret, &self.entropy).map_err(io::Error::other)?;
            integration.credentials = StorageCredentials::Sealed { text: hex::encode(bytes) };
        }
        Ok(Cow::Owned(sealed))
    }

    /// The rules as they were. Where credentials stay sealed, they count as those of the version before, so that the
    /// control plane is asked for them again.
    pub fn opened(&self, mut rules: Governance) -> Governance {
        let mut are_open = true;
        let records: Vec<String> = integrations(&rules).map(|one| record(&rules, &one.name)).collect();
        for (integration, record) in integrations_mut(&mut rules).zip(records) {
            let StorageCredentials::Sealed { text } = &integration.credentials else { continue };
            if let Some(credentials) = self.open(&record, text) {
                integration.credentials = credentials;
            } else {
                are_open = false;
                let integration = &integration.name;
                tracing::warn!(%integration, "its credentials on disk are sealed by another key");
            }
        }
        if !are_open {
            rules.version = rules.version.saturating_sub(1);
        }
        rules
    }

    fn open(&self, record: &str, text: &str) -> Option<StorageCredentials> {
        let opened = self.keyring.open(record, &hex::decode(text).ok()?).ok()?;
        serde_json::from_str(opened.expose()).ok()
    }
}

/// All that may have credentials.
fn integrations(rules: &Governance) -> impl Iterator<Item = &StorageIntegration> {
    rules.storage_integrations.iter().chain(&rules.attached).chain(&rules.later_integrations)
}

fn integrations_mut(rules: &mut Governance) -> impl Iterator<Item = &mut StorageIntegration> {
    rules.storage_integrations.iter_mut().chain(&mut rules.attached).chain(&mut rules.later_integrations)
}

/// What is sealed opens for the same environment and integration alone.
fn record(rules: &Governance, name: &str) -> String {
    format!("snapshot:{}:{name}", rules.environment.env_id)
}

#[cfg(test)]
pub mod testing {
    use super::*;

    /// By the private key that is this text.
    pub fn seal(key: &str) -> SnapshotSeal {
        SnapshotSeal::new(&Redacted::new(key.to_owned()), &Entropy::seeded(3))
    }
}

#[cfg(test)]
mod tests {
    use contract::storage_integration::{AccessKey, StorageKind};

    use super::testing::seal;
    use super::*;
    use crate::governance::disk::Disk;
    use crate::testing::governance;

    fn integration(name: &str, credentials: StorageCredentials) -> StorageIntegration {
        StorageIntegration {
            name: name.to_owned(),
            kind: StorageKind::S3 { endpoint: None, region: "eu-west-1".to_owned(), path_style: false },
            allowed_prefixes: vec!["*".to_owned()],
            blocked_prefixes: Vec::new(),
            enabled: true,
            credentials,
        }
    }

    fn rules() -> Governance {
        let key = AccessKey {
            access_key_id: Redacted::new("AKIDSESAME".to_owned()),
            secret_access_key: Redacted::new("open-sesame".to_owned()),
            session_token: Redacted::new(None),
        };
        let storage_integrations = vec![
            integration("lake", StorageCredentials::AccessKey(key.clone())),
            integration("pond", StorageCredentials::Ambient),
        ];
        let kind = StorageKind::Azure { account: "tank1".to_owned(), endpoint: None, path_style: false };
        let later = StorageIntegration { kind, ..integration("tank", StorageCredentials::AccessKey(key)) };
        Governance { version: 7, storage_integrations, later_integrations: vec![later], ..governance() }
    }

    #[test]
    fn what_is_written_down_holds_no_credentials_and_is_opened_whole() {
        let (seal, rules) = (seal("of this data plane"), rules());
        let sealed = seal.sealed(&rules).unwrap().into_owned();
        let text = serde_json::to_string(&sealed).unwrap();
        assert!(!text.contains("SESAME") && !text.contains("open-sesame"), "{text}");
        assert_eq!(sealed.storage_integrations[1], rules.storage_integrations[1]);
        assert_eq!(seal.opened(serde_json::from_str(&text).unwrap()), rules);
        assert!(matches!(seal.sealed(&governance()).unwrap(), Cow::Borrowed(_)));
    }

    #[test]
    fn credentials_that_a_version_before_has_kept_are_sealed_where_they_are_found() {
        let (folder, rules) = (tempfile::tempdir().unwrap(), rules());
        let (disk, file) = (Disk::new(folder.path(), seal("k")), folder.path().join("governance.json"));
        std::fs::write(&file, serde_json::to_vec(&rules).unwrap()).unwrap();
        for _ in 0..2 {
            assert_eq!(disk.load(&rules.environment.env_id).as_ref(), Some(&rules));
            let kept = std::fs::read_to_string(&file).unwrap();
            assert!(!kept.contains("SESAME") && !kept.contains("open-sesame"), "{kept}");
        }
    }

    #[test]
    fn another_key_environment_or_name_opens_nothing_and_the_rules_stay() {
        let (seal, rules) = (seal("of this data plane"), rules());
        let sealed = seal.sealed(&rules).unwrap().into_owned();
        let by_another = testing::seal("of another").opened(sealed.clone());
        let mut renamed = sealed.clone();
        renamed.storage_integrations[0].name = "well".to_owned();
        let mut moved = sealed.clone();
        moved.environment.env_id = "another".into();
        for opened in [by_another, seal.opened(renamed), seal.opened(moved)] {
            assert!(matches!(opened.storage_integrations[0].credentials, StorageCredentials::Sealed { .. }));
            assert_eq!((opened.version, &opened.keys), (6, &rules.keys), "it is asked for again");
        }
        let again = seal.sealed(&sealed).unwrap();
        assert_eq!(*again, sealed, "what is sealed is not sealed twice");
    }
}
