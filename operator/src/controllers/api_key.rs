//! The `ApiKey` controller: gather → ask → apply → publish.
//!
//! The control plane mints, the operator carries: `Put` → the text into the Secret → `Delivered` →
//! the status. A crash between any two of them repeats from `Put`: until it is told that the text
//! was delivered, the control plane mints a fresh one for the same key. The operator never keeps a
//! text, and no text is ever in an `ApiKey`.

mod plan;
mod secret;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crds::{ApiKey, ApiKeyStatus};
use kube::{Resource, ResourceExt};
use serde_json::json;

use self::plan::{KeyAction, KeyOutcome, ObservedKey, SecretState};
use crate::Error;
use crate::cluster::write;
use crate::context::Context;
use crate::control_plane::proto::{DeliveredRequest, Key, PutRequest, RevokeRequest};
use crate::error::Class;
use crate::objects::namespaced_name::NamespacedName;
use crate::stores::{Item, WrittenObject, environment_of};

/// Returns how soon to look again; absent: it is gone.
pub async fn reconcile(context: &Context, place: &NamespacedName) -> Result<Option<Duration>, Error> {
    let item = Item::ApiKey(place.clone());
    context.seen_own_writes(&item)?;
    let Some(observed) = gather(context, place) else { return Ok(None) };
    let outcome = match plan::action(&observed) {
        KeyAction::Adopt => {
            adopt(context, &item, &observed).await?;
            return Ok(Some(Duration::ZERO));
        }
        KeyAction::Revoke => return revoke(context, &observed).await,
        KeyAction::Wait => KeyOutcome::Waits,
        KeyAction::Nothing => KeyOutcome::Known,
        KeyAction::Put { text_wanted } => {
            put(context, &item, &observed, text_wanted).await.unwrap_or_else(KeyOutcome::Failed)
        }
    };
    publish(context, &item, &observed, outcome).await.map(Some)
}

fn gather(context: &Context, place: &NamespacedName) -> Option<ObservedKey> {
    let key = context.stores.api_keys.get(place)?;
    let environment = context.stores.environments.get(&environment_of(&key));
    // to read what a watch brought a moment ago does not fail
    let environment = environment.and_then(|known| known.whole().ok());
    let secret = secret::state(context, &key);
    Some(ObservedKey { environment, secret, now: context.now(), key })
}

/// The finalizer, because a deletion revokes; the environment as owner, so that it goes with it.
async fn adopt(context: &Context, item: &Item, observed: &ObservedKey) -> Result<(), Error> {
    let key = observed.key.as_ref();
    let fields = json!({
        "finalizers": write::finalizers(key, true),
        "ownerReferences": plan::owners(observed),
    });
    let written = write::metadata(&context.client, key, fields).await?;
    context.expected.note(item, WrittenObject::Itself, written.resource_version());
    Ok(())
}

/// Revoked first, then gone. A control plane that is away keeps the resource there.
async fn revoke(context: &Context, observed: &ObservedKey) -> Result<Option<Duration>, Error> {
    let key = observed.key.as_ref();
    if !write::has_finalizer(key) {
        return Ok(None);
    }
    let request = RevokeRequest {
        resource_uid: key.uid().unwrap_or_default(),
        key_id: key.spec.key_id.clone().or_else(|| key.status.as_ref().and_then(|status| status.key_id.clone())),
    };
    {
        let _step = context.step("ApiKey", "revoke");
        match context.control_plane.revoke(request).await {
            // never made: nothing to revoke
            Err(Error::ControlPlane(status)) if status.code() == tonic::Code::NotFound => {}
            other => drop(other?),
        }
    }
    let fields = json!({ "finalizers": write::finalizers(key, false) });
    match write::metadata(&context.client, key, fields).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        other => Ok(other.map(|_| None)?),
    }
}

/// What the control plane says, and the text on its way, if there is one.
async fn put(context: &Context, item: &Item, observed: &ObservedKey, text_wanted: bool) -> Result<KeyOutcome, Error> {
    let key = observed.key.as_ref();
    let taken = match observed.secret {
        SecretState::Taken => true,
        SecretState::Unseen => secret::is_taken(context, key).await?,
        _ => false,
    };
    if text_wanted && taken {
        return Ok(KeyOutcome::SecretTaken);
    }
    let answer = {
        let _step = context.step("ApiKey", "put");
        context.control_plane.put(request(observed, text_wanted)).await?
    };
    let Some(text) = &answer.text else {
        let lost = text_wanted && !answer.key_id.is_empty();
        return Ok(if lost { KeyOutcome::TextLost(answer) } else { finish(context, observed, answer).await? });
    };
    {
        let _step = context.step("ApiKey", "secret");
        secret::store(context, item, key, &answer, text).await?;
    }
    finish(context, observed, answer).await
}

/// Says that the text arrived, unless it was said before.
async fn finish(context: &Context, observed: &ObservedKey, answer: Key) -> Result<KeyOutcome, Error> {
    if !plan::delivery_is_due(observed, &answer) {
        return Ok(KeyOutcome::Answered(answer));
    }
    let request = DeliveredRequest {
        resource_uid: observed.key.uid().unwrap_or_default(),
        rotation_id: plan::rotation(&observed.key),
    };
    let _step = context.step("ApiKey", "delivered");
    Ok(KeyOutcome::Answered(context.control_plane.delivered(request).await?))
}

fn request(observed: &ObservedKey, text_wanted: bool) -> PutRequest {
    let spec = &observed.key.spec;
    PutRequest {
        resource_uid: observed.key.uid().unwrap_or_default(),
        env_id: observed.environment.as_ref().and_then(|it| it.uid()).unwrap_or_default(),
        name: spec.name.clone(),
        scopes: spec.scopes.clone(),
        ip_allowlist: spec.ip_allowlist.clone(),
        expires_in_days: spec.expires_in_days,
        user_id: spec.user_id.clone(),
        key_id: spec.key_id.clone(),
        rotation_id: plan::rotation(&observed.key),
        grace_period_hours: spec.rotation.as_ref().map_or(0, |rotation| rotation.grace_period_hours),
        text_wanted,
    }
}

async fn publish(
    context: &Context,
    item: &Item,
    observed: &ObservedKey,
    outcome: KeyOutcome,
) -> Result<Duration, Error> {
    let key = observed.key.as_ref();
    // what says nothing about the key is not written down
    let silent =
        matches!(&outcome, KeyOutcome::Failed(error) if matches!(error.class(), Class::Standby | Class::Conflict));
    let (status, again) = plan::status(observed, &outcome);
    if !silent && key.status.as_ref() != Some(&status) {
        announce(context, key, &status);
        let written = write::status(&context.client, key, &status).await?;
        context.expected.note(item, WrittenObject::Itself, written.resource_version());
    }
    match outcome {
        KeyOutcome::Failed(error) if error.class() != Class::Invalid => Err(error),
        _ => Ok(again),
    }
}

/// Only what has changed.
fn announce(context: &Context, key: &ApiKey, new: &ApiKeyStatus) {
    let ready = |status: &ApiKeyStatus| {
        let condition = status.conditions.iter().find(|it| it.type_ == crds::ConditionType::Ready);
        condition.map(|it| (it.status, it.reason, it.message.clone()))
    };
    let old = key.status.as_ref().and_then(ready).map(|(status, reason, _)| (status, reason));
    if let Some((status, reason, message)) = ready(new)
        && old != Some((status, reason))
    {
        let warning = status != crds::ConditionStatus::True && reason != crds::Reason::ReferenceNotFound;
        context.events.say(key.object_ref(&()), warning, &format!("{reason:?}"), "Synchronise", &message);
    }
}
