//! The authorities of this cluster: kept in Secrets, made when they are absent, rotated in time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::Entropy;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ApiResource;
use kube::{Api, Client, ResourceExt};
use rcgen::KeyPair;
use serde_json::{Value, json};

use super::secret::{self, Data};
use super::{AUTHORITY_LIFE, Keys, Pair, Signer, Step, Trust, issue, make};
use crate::Error;
use crate::cluster::write;
use crate::context::{Context, Written};
use crate::error::AuthorityError;
use crate::objects::place::Place;
use crate::stores::Item;
use crate::stores::read::label;

/// Authorities that are kept in memory; beyond, they are read again.
const KEPT_MAX: usize = 4_096;

/// What signs, by Secret; read once for each version of it.
#[derive(Debug, Default)]
pub struct Signers(Mutex<HashMap<Place, (String, Arc<Keys>)>>);

impl Signers {
    fn kept(&self, place: &Place, version: &str) -> Option<Arc<Keys>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(place).filter(|(of, _)| of == version).map(|(_, keys)| Arc::clone(keys))
    }

    fn keep(&self, place: &Place, version: String, keys: Arc<Keys>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(place.clone(), (version, keys));
    }
}

fn fresh(name: &str, now: Timestamp, entropy: &Entropy) -> Result<Pair, AuthorityError> {
    make(name, now, AUTHORITY_LIFE, &KeyPair::generate()?, entropy.bytes())
}

/// A Secret as it is in the cluster.
pub async fn read(client: &Client, place: &Place) -> Result<Option<Secret>, kube::Error> {
    Api::<Secret>::namespaced(client.clone(), place.namespace()).get_opt(place.name()).await
}

fn body(metadata: &ObjectMeta, kind: &str, data: &Data) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": data })
}

/// Writes a Secret that no store knows. One that somebody else keeps something in is left as it is.
pub async fn store_new(
    context: &Context,
    item: &Item,
    metadata: &ObjectMeta,
    kind: &str,
    data: &Data,
) -> Result<(), Error> {
    let place = Place::of_metadata(metadata);
    let (resource, body) = (ApiResource::erase::<Secret>(&()), body(metadata, kind, data));
    match write::create(&context.client, place.namespace(), &resource, &body).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {
            let found = read(&context.client, &place).await?;
            let ours = |secret: &Secret| secret.labels().get(label::MANAGED_BY).is_some_and(|by| by == label::OPERATOR);
            match found {
                Some(secret) if !ours(&secret) => Err(Error::Taken(place.name().to_owned())),
                _ => store(context, item, metadata, kind, data).await.map(|_| ()),
            }
        }
        written => {
            context.expected.note(item, Written::Secret(place), written?.resource_version());
            Ok(())
        }
    }
}

/// Writes a Secret, whole. Keys that are not in `data` any more go.
pub async fn store(
    context: &Context,
    item: &Item,
    metadata: &ObjectMeta,
    kind: &str,
    data: &Data,
) -> Result<String, Error> {
    let body = body(metadata, kind, data);
    let (namespace, name) = (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
    let resource = ApiResource::erase::<Secret>(&());
    let written = write::apply(&context.client, &namespace, &resource, &name, &body).await?;
    let version = written.resource_version().unwrap_or_default().to_owned();
    context.expected.note(item, Written::Secret(Place::new(&namespace, &name)), Some(&version));
    Ok(version)
}

/// Type of a Secret that holds a certificate and its key.
pub const TLS: &str = "kubernetes.io/tls";

/// The authority in a Secret, to sign with.
pub async fn load(context: &Context, place: &Place) -> Result<Arc<Keys>, Error> {
    let known = context.stores.secrets.resource_version(place);
    let version = known.ok_or(Error::Waiting("the authority has not been made yet"))?;
    if let Some(keys) = context.signers.kept(place, &version) {
        return Ok(keys);
    }
    let secret = read(&context.client, place).await?.ok_or(Error::Waiting("the authority has just gone"))?;
    let version = secret.resource_version().unwrap_or_default();
    let keys = Arc::new(secret::keys(&secret.data.unwrap_or_default())?);
    context.signers.keep(place, version, Arc::clone(&keys));
    Ok(keys)
}

/// Signs a certificate with a key of its own.
pub fn sign(context: &Context, keys: &Keys, names: &[String], life: Duration) -> Result<Pair, Error> {
    let signer = Signer::of(&keys.current)?;
    let key = KeyPair::generate().map_err(AuthorityError::from)?;
    Ok(issue(&signer, names, context.now(), life, &key, context.entropy.bytes())?)
}

/// Makes the authority if there is none, and takes the next step of its rotation when it is due.
/// Returns when to look again.
pub async fn ensure(context: &Context, item: &Item, metadata: &ObjectMeta, name: &str) -> Result<Timestamp, Error> {
    let place = Place::of_metadata(metadata);
    let known = context.stores.secrets.get(&place);
    let now = context.now();
    let keys = match &known {
        Some(known) if known.authority.is_some() => load(context, &place).await?.as_ref().clone(),
        // not seen: it may still be there, without our label
        _ => match read(&context.client, &place).await? {
            Some(secret) => secret::keys(&secret.data.unwrap_or_default())?,
            None => Keys { current: fresh(name, now, &context.entropy)?, trust: Trust::Alone },
        },
    };
    let step = keys.step(now)?;
    let (keys, changed) = match step {
        Step::Wait(_) => (keys, false),
        step => {
            tracing::info!(?place, ?step, "an authority is being replaced");
            (keys.stepped(step, fresh(name, now, &context.entropy)?, now), true)
        }
    };
    if changed || known.is_none() {
        let version = store(context, item, metadata, TLS, &secret::data(&keys)).await?;
        context.signers.keep(&place, version, Arc::new(keys.clone()));
    }
    match keys.step(now)? {
        Step::Wait(at) => Ok(at),
        _ => Ok(now),
    }
}
