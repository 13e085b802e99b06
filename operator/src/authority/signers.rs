//! The authorities of this cluster: kept in Secrets, made when they are absent, rotated in time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::Entropy;
use contract::clock::SharedClock;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use rcgen::KeyPair;

use super::{AUTHORITY_LIFE, Keys, Pair, RotationStep, Signer, Trust, issue, make, secret};
use crate::Error;
use crate::error::AuthorityError;
use crate::objects::namespaced_name::NamespacedName;
use crate::stores::{Item, SecretClient, Stores};
use crate::time::timestamp;

/// Type of a Secret that holds a certificate and its key.
pub const TLS: &str = "kubernetes.io/tls";

/// Authorities that are kept in memory; beyond, they are read again.
const KEPT_MAX: usize = 4_096;

/// Loads, signs with and rotates the authorities of this cluster.
pub struct Signers {
    secrets: SecretClient,
    stores: Arc<Stores>,
    clock: SharedClock,
    entropy: Entropy,
    /// What signs, by Secret; read once for each version of it.
    kept: Mutex<HashMap<NamespacedName, (String, Arc<Keys>)>>,
}

impl Signers {
    pub fn new(secrets: SecretClient, stores: Arc<Stores>, clock: SharedClock, entropy: Entropy) -> Self {
        Self { secrets, stores, clock, entropy, kept: Mutex::default() }
    }

    pub fn now(&self) -> Timestamp {
        timestamp(self.clock.now())
    }

    fn kept(&self, place: &NamespacedName, version: &str) -> Option<Arc<Keys>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(place).filter(|(of, _)| of == version).map(|(_, keys)| Arc::clone(keys))
    }

    fn keep(&self, place: &NamespacedName, version: String, keys: Arc<Keys>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(place.clone(), (version, keys));
    }

    fn fresh(&self, name: &str, now: Timestamp) -> Result<Pair, AuthorityError> {
        make(name, now, AUTHORITY_LIFE, &KeyPair::generate()?, self.entropy.bytes())
    }

    /// The authority in a Secret, to sign with.
    pub async fn load(&self, place: &NamespacedName) -> Result<Arc<Keys>, Error> {
        let known = self.stores.secrets.resource_version(place);
        let version = known.ok_or(Error::Waiting("the authority has not been made yet"))?;
        if let Some(keys) = self.kept(place, &version) {
            return Ok(keys);
        }
        let secret = self.secrets.read(place).await?.ok_or(Error::Waiting("the authority has just gone"))?;
        let version = secret.resource_version().unwrap_or_default();
        let keys = Arc::new(secret::keys(&secret.data.unwrap_or_default())?);
        self.keep(place, version, Arc::clone(&keys));
        Ok(keys)
    }

    /// Signs a certificate with a key of its own.
    pub fn sign(&self, keys: &Keys, names: &[String], life: Duration) -> Result<Pair, Error> {
        let signer = Signer::of(&keys.current)?;
        let key = KeyPair::generate().map_err(AuthorityError::from)?;
        Ok(issue(&signer, names, self.now(), life, &key, self.entropy.bytes())?)
    }

    /// Makes the authority if there is none, and takes the next step of its rotation when it is due.
    /// Returns when to look again.
    pub async fn ensure(&self, item: &Item, metadata: &ObjectMeta, name: &str) -> Result<Timestamp, Error> {
        let place = NamespacedName::of_metadata(metadata);
        let known = self.stores.secrets.get(&place);
        let now = self.now();
        let keys = match &known {
            Some(known) if known.authority.is_some() => self.load(&place).await?.as_ref().clone(),
            // not seen: it may still be there, without our label
            _ => match self.secrets.read(&place).await? {
                Some(secret) => secret::keys(&secret.data.unwrap_or_default())?,
                None => Keys { current: self.fresh(name, now)?, trust: Trust::Alone },
            },
        };
        let step = keys.step(now)?;
        let (keys, changed) = match step {
            RotationStep::Wait(_) => (keys, false),
            step => {
                tracing::info!(?place, ?step, "an authority is being replaced");
                (keys.stepped(step, self.fresh(name, now)?, now), true)
            }
        };
        if changed || known.is_none() {
            let version = self.secrets.store(item, metadata, TLS, &secret::data(&keys)).await?;
            self.keep(&place, version, Arc::new(keys.clone()));
        }
        match keys.step(now)? {
            RotationStep::Wait(at) => Ok(at),
            _ => Ok(now),
        }
    }
}
