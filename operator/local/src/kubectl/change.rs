//! Commands that change something: one small patch each, under a field manager of their own.

use std::process::ExitCode;
use std::time::Duration;

use crds::{ApiKey, Environment, EnvironmentPhase};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::cluster::{Cluster, within};
use super::error::Error;
use super::{MANAGER, Output, describe};
use crate::progress::say;

#[derive(Debug, clap::Args)]
pub struct Wait {
    /// Return at once, and not when it has happened.
    #[arg(long)]
    no_wait: bool,
    /// Seconds to wait for it.
    #[arg(long, default_value_t = 360, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    timeout: u64,
}

impl Wait {
    fn most(&self) -> Option<Duration> {
        (!self.no_wait).then(|| Duration::from_secs(self.timeout))
    }
}

#[derive(Debug, clap::Args)]
pub struct Switch {
    environment: String,
    #[command(flatten)]
    wait: Wait,
}

impl Switch {
    /// Suspends, or resumes.
    pub async fn turn(self, cluster: &Cluster, suspended: bool, output: Output) -> Result<ExitCode, Error> {
        let name = &self.environment;
        let patch = Patch::Merge(json!({"spec": {"suspended": suspended}}));
        let changed: Environment =
            within(cluster.api().patch(name, &manager(), &patch), &format!("environment {name}")).await?;
        let word = if suspended { "suspended" } else { "resumed" };
        let Some(most) = self.wait.most() else {
            return done(
                output,
                &format!("environment {name} will be {word}"),
                &json!({"environment": name, "suspended": suspended}),
            );
        };
        let generation = changed.metadata.generation.unwrap_or_default();
        let reached = |environment: &Environment| has_turned(environment, generation, suspended);
        cluster.wait_for(name, most, word, reached).await?;
        done(output, &format!("environment {name} {word}"), &json!({"environment": name, "suspended": suspended}))
    }
}

/// The operator has seen this generation, and carried it out.
fn has_turned(environment: &Environment, generation: i64, suspended: bool) -> bool {
    let status = environment.status.clone().unwrap_or_default();
    let seen = status.observed_generation.is_some_and(|observed| observed >= generation);
    let phase = status.phase;
    seen && if suspended { phase == Some(EnvironmentPhase::Suspended) } else { describe::is_ready(environment) }
}

/// As `kubectl rollout restart` does it: the pod template gets a time that the operator does not own.
pub async fn restart(cluster: &Cluster, name: &str, now: Timestamp, output: Output) -> Result<ExitCode, Error> {
    cluster.get::<Environment>(name).await?;
    let annotations = json!({"kubectl.kubernetes.io/restartedAt": now.to_string()});
    let patch = Patch::Merge(json!({"spec": {"template": {"metadata": {"annotations": annotations}}}}));
    let what = format!("deployment {name}");
    let _: Deployment = within(cluster.api().patch(name, &manager(), &patch), &what).await?;
    done(
        output,
        &format!("environment {name} is being restarted"),
        &json!({"environment": name, "restartedAt": now.to_string()}),
    )
}

#[derive(Debug, clap::Args)]
pub struct Rotate {
    /// The `ApiKey` resource.
    api_key: String,
    /// Hours that the old value stays valid; as the resource says unless given, and 72 where it does not.
    #[arg(long, value_parser = clap::value_parser!(i32).range(0..=168))]
    grace_period_hours: Option<i32>,
    #[command(flatten)]
    wait: Wait,
}

impl Rotate {
    pub async fn run(self, cluster: &Cluster, now: Timestamp, output: Output) -> Result<ExitCode, Error> {
        let name = &self.api_key;
        let key: ApiKey = cluster.get(name).await?;
        let Some(secret) = key.spec.secret_ref.as_ref() else {
            let why = "it has no secretRef to put a new value into; it was made over REST: rotate it there";
            return Err(Error::Unusable(format!("apikey {name}: {why}")));
        };
        let id = rotation(&key, now);
        let what = format!("apikey {name}");
        let patch = Patch::Merge(asks(&key, &id, self.grace_period_hours));
        let changed: ApiKey = within(cluster.api().patch(name, &manager(), &patch), &what).await?;
        let grace = changed.spec.rotation.as_ref().map_or(0, |rotation| rotation.grace_period_hours);
        let mut words = "will be put";
        if let Some(most) = self.wait.most() {
            let carried_out = |key: &ApiKey| {
                key.status.as_ref().and_then(|status| status.rotation_id.as_ref()).is_some_and(|done| *done == id)
            };
            cluster.wait_for(name, most, "rotated", carried_out).await?;
            words = "is";
        }
        let text = format!("a new value {words} in secret {}; the old one opens for {grace} more hours", secret.name);
        done(output, &text, &json!({"apiKey": name, "rotation": id, "secret": secret.name, "gracePeriodHours": grace}))
    }
}

/// An id that the key does not have.
fn rotation(key: &ApiKey, now: Timestamp) -> String {
    let id = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let taken = key.spec.rotation.as_ref().is_some_and(|rotation| rotation.id == id);
    if taken { format!("{id}-2") } else { id }
}

/// With the version that was read: two people who rotate at once are told, not surprised.
fn asks(key: &ApiKey, id: &str, grace: Option<i32>) -> Value {
    let rotation = match grace {
        Some(hours) => json!({"id": id, "gracePeriodHours": hours}),
        None => json!({"id": id}),
    };
    json!({"metadata": {"resourceVersion": key.resource_version()}, "spec": {"rotation": rotation}})
}

fn manager() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

fn done(output: Output, text: &str, value: &Value) -> Result<ExitCode, Error> {
    say(&output.pick(|| text.to_owned(), || value.clone())?);
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(observed: i64, phase: &str, ready: &str) -> Environment {
        let condition = json!({
            "type": "Ready", "status": ready, "reason": "AsSpecified", "message": "", "observedGeneration": observed,
            "lastTransitionTime": "2026-11-21T00:00:00Z",
        });
        serde_json::from_value(json!({
            "apiVersion": "sluice.dev/v1alpha1", "kind": "Environment", "metadata": {"name": "a-b", "generation": 3},
            "spec": {"organizationRef": {"name": "a"}, "slug": "b", "name": "B"},
            "status": {"observedGeneration": observed, "phase": phase, "conditions": [condition]},
        }))
        .unwrap()
    }

    fn key(rotation: Option<&str>) -> ApiKey {
        let rotation = rotation.map(|id| json!({"id": id}));
        serde_json::from_value(json!({
            "apiVersion": "sluice.dev/v1alpha1", "kind": "ApiKey", "metadata": {"name": "ci", "resourceVersion": "7"},
            "spec": {"environmentRef": {"name": "a-b"}, "name": "ci", "scopes": ["query:read"], "rotation": rotation},
        }))
        .unwrap()
    }

    #[test]
    fn a_switch_has_turned_when_the_operator_says_so_of_this_generation() {
        assert!(has_turned(&environment(3, "suspended", "False"), 3, true));
        assert!(!has_turned(&environment(2, "suspended", "False"), 3, true));
        assert!(!has_turned(&environment(3, "active", "True"), 3, true));
        assert!(has_turned(&environment(3, "active", "True"), 3, false));
        assert!(!has_turned(&environment(2, "active", "True"), 3, false));
        assert!(!has_turned(&environment(3, "suspended", "False"), 3, false));
    }

    #[test]
    fn a_rotation_has_an_id_of_its_own_even_twice_in_a_second() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(rotation(&key(None), now), "1970-01-01T00:00:00Z");
        assert_eq!(rotation(&key(Some("1970-01-01T00:00:00Z")), now), "1970-01-01T00:00:00Z-2");
    }

    #[test]
    fn a_rotation_keeps_the_grace_unless_it_is_told_one() {
        let plain = json!({"metadata": {"resourceVersion": "7"}, "spec": {"rotation": {"id": "x"}}});
        assert_eq!(asks(&key(None), "x", None), plain);
        assert_eq!(asks(&key(None), "x", Some(0))["spec"]["rotation"]["gracePeriodHours"], 0);
    }
}
