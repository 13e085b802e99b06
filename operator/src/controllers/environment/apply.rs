//! Carries a plan out: what everything else needs first, the workload last.
//!
//! Whatever fails or never happens is seen by the next plan; there is nothing to undo and nothing
//! to remember but what was written and not yet seen.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::{build, certificates};
use crate::Error;
use crate::authority::{Pair, secret, signers};
use crate::cluster::write::{self, Objects};
use crate::context::Context;
use crate::controllers::release;
use crate::objects::child::{Key, Kind};
use crate::objects::namespaced_name::NamespacedName;
use crate::objects::observed::Observed;
use crate::objects::plan::{Authority, CertificateOrder, Delete, Finalizer, Plan, Write};
use crate::stores::{Item, WrittenObject};

/// The error of a plan, and the child at which it stopped.
#[derive(Debug)]
pub struct ApplyFailure {
    /// Absent: before the first child.
    pub at: Option<Key>,
    pub error: Error,
}

pub async fn apply(context: &Context, observed: &Observed, plan: &Plan) -> Result<(), ApplyFailure> {
    // what has nothing to do takes no time, and would only hide what has
    let acts = plan.finalizer == Finalizer::Add || !plan.writes.is_empty() || !plan.deletes.is_empty();
    let _step = acts.then(|| context.step("Environment", "apply"));
    let item = Item::Environment(NamespacedName::of(observed.environment.as_ref()));
    if plan.finalizer == Finalizer::Add {
        finalizer(context, observed, &item, true).await.map_err(|error| ApplyFailure { at: None, error })?;
    }
    let of = |turn: ApplyStage| plan.writes.iter().filter(move |write| ApplyStage::of(write, observed) == turn);
    // side by side: there are a dozen at most, and the client has its limits
    let mut running = FuturesUnordered::new();
    for write in of(ApplyStage::First) {
        running.push(one(context, observed, &item, write));
    }
    while let Some(done) = running.next().await {
        done?;
    }
    for write in of(ApplyStage::Workload) {
        one(context, observed, &item, write).await?;
    }
    for order in &plan.deletes {
        let failed = |error| ApplyFailure { at: Some(order.key.clone()), error };
        delete(context, observed, order).await.map_err(failed)?;
    }
    for write in of(ApplyStage::Growth) {
        one(context, observed, &item, write).await?;
    }
    Ok(())
}

/// The stage of a plan in which a write is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApplyStage {
    First,
    Workload,
    /// Of a volume that is there: nothing waits for it, and a cluster may refuse it again and again.
    Growth,
}

impl ApplyStage {
    fn of(write: &Write, observed: &Observed) -> Self {
        let key = write.key();
        match key.kind {
            Kind::Deployment | Kind::VolumeSnapshot => Self::Workload,
            Kind::PersistentVolumeClaim if observed.children.iter().any(|child| child.key() == key) => Self::Growth,
            _ => Self::First,
        }
    }
}

/// Removing it is the last thing that is done about an environment.
pub async fn finalizer(context: &Context, observed: &Observed, item: &Item, ours: bool) -> Result<(), Error> {
    let environment = observed.environment.as_ref();
    let fields = json!({ "finalizers": write::finalizers(environment, ours) });
    match write::metadata(&context.client, environment, fields).await {
        Err(kube::Error::Api(status)) if status.code == 404 && !ours => Ok(()),
        written => {
            context.expected.note(item, WrittenObject::Itself, written?.resource_version());
            Ok(())
        }
    }
}

async fn one(context: &Context, observed: &Observed, item: &Item, write: &Write) -> Result<(), ApplyFailure> {
    let key = write.key();
    tracing::debug!(environment = observed.environment.name_any(), child = %key, "writes");
    carry_out(context, observed, item, write).await.map_err(|error| ApplyFailure { at: Some(key), error })
}

async fn carry_out(context: &Context, observed: &Observed, item: &Item, write: &Write) -> Result<(), Error> {
    let key = write.key();
    let objects = Objects::new(&context.client, observed.environment.namespace(), key.kind.resource());
    let written = match write {
        Write::Issue(order) => return issue(context, item, observed, order).await,
        Write::Apply(child) => set(&objects, &key.name, &child.json()?).await?,
        Write::Strip { version, patch, .. } => objects.strip(&key.name, version, patch).await?,
        Write::Disown { uid, .. } => {
            let labels: serde_json::Map<_, _> =
                build::OURS.into_iter().map(|name| (name.to_owned(), Value::Null)).collect();
            let fields = json!({ "metadata": { "uid": uid, "ownerReferences": null, "labels": labels } });
            objects.merge(&key.name, &fields).await?;
            return Ok(());
        }
        Write::Scale { uid, replicas, .. } => {
            let fields = json!({ "metadata": { "uid": uid }, "spec": { "replicas": replicas } });
            objects.merge(&key.name, &fields).await?
        }
    };
    let place = NamespacedName::new(&observed.environment.namespace().unwrap_or_default(), &key.name);
    context.expected.note(item, WrittenObject::Child(key.kind, place), written.resource_version());
    Ok(())
}

/// Applied; where somebody else's entries of a list stand in the way, which an apply leaves alone,
/// the lists are replaced first.
async fn set(objects: &Objects<'_>, name: &str, object: &Value) -> Result<write::Written, Error> {
    match objects.apply(name, object).await {
        Err(kube::Error::Api(status)) if status.code == 422 => {
            if objects.merge(name, object).await.is_err() {
                return Err(kube::Error::Api(status).into());
            }
            Ok(objects.apply(name, object).await?)
        }
        written => Ok(written?),
    }
}

async fn issue(context: &Context, item: &Item, observed: &Observed, order: &CertificateOrder) -> Result<(), Error> {
    let namespace = order.metadata.namespace.clone().unwrap_or_default();
    let authority = match &order.authority {
        Authority::Internal => release::authority(&context.release),
        Authority::Organization(name) => NamespacedName::new(&namespace, &format!("{name}-ca")),
    };
    let keys = context.signers.load(&authority).await?;
    let pair = match present(context, order).await? {
        Some(pair) => pair,
        None => context.signers.sign(&keys, &order.dns_names, order.lifetime)?,
    };
    let data = secret::leaf_data(&pair, &keys.bundle());
    let name = order.metadata.name.as_deref().unwrap_or_default();
    if certificates::secret(observed, name).is_none() {
        return context.secrets.store_new(item, &order.metadata, signers::TLS, &data).await;
    }
    context.secrets.store(item, &order.metadata, signers::TLS, &data).await.map(|_| ())
}

/// The certificate that is good and stays.
async fn present(context: &Context, order: &CertificateOrder) -> Result<Option<Pair>, Error> {
    if !order.keep_certificate {
        return Ok(None);
    }
    let found = context.secrets.read(&NamespacedName::of_metadata(&order.metadata)).await?;
    // gone or damaged meanwhile: a new one then
    Ok(found.and_then(|found| secret::leaf(&found.data.unwrap_or_default()).ok()))
}

async fn delete(context: &Context, observed: &Observed, order: &Delete) -> Result<(), Error> {
    let Delete { key: Key { kind, name }, uid, why } = order;
    tracing::info!(environment = observed.environment.name_any(), child = %order.key, why, "deletes");
    let objects = Objects::new(&context.client, observed.environment.namespace(), kind.resource());
    Ok(objects.delete(name, uid).await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::environment::tests::{environment, observed};

    #[test]
    fn a_volume_is_made_before_and_grows_after_everything_else() {
        let mut observed = observed(environment(&json!({})));
        let plan = crate::controllers::environment::plan::plan(&observed);
        let turn = |kind, observed: &Observed| {
            let write = plan.writes.iter().find(|write| write.key().kind == kind).unwrap();
            ApplyStage::of(write, observed)
        };
        assert_eq!(turn(Kind::PersistentVolumeClaim, &observed), ApplyStage::First);
        let child = |write: &Write| if let Write::Apply(child) = write { Some(child.clone()) } else { None };
        observed.children = plan.writes.iter().filter_map(child).collect();
        assert_eq!(turn(Kind::PersistentVolumeClaim, &observed), ApplyStage::Growth);
        assert_eq!(turn(Kind::ConfigMap, &observed), ApplyStage::First);
        assert_eq!(turn(Kind::Deployment, &observed), ApplyStage::Workload);
    }
}
