//! Histories of an environment, and what holds in all of them: a thousand in a test run, ten
//! thousand in a release build (`./dev soak`), which takes no longer.

use crds::{ConditionStatus, ConditionType, DeletionPolicy, EnvironmentPhase};
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;

use super::fixtures::environment;
use super::world::World;
use crate::objects::child::Kind;
use crate::objects::hold::Hold;
use crate::objects::plan::Plan;

#[derive(Debug, Clone)]
enum Act {
    Reconcile,
    /// The operator dies after so many requests.
    Crash(usize),
    Controllers,
    Suspend(bool),
    SuspendOrganization(bool),
    Version(bool),
    /// Whether a successor has a place beside the pod that it replaces.
    Crowd(bool),
    Replicas(i32),
    Size(bool),
    Annotate(&'static str, &'static str),
    Policy(DeletionPolicy),
    Delete,
    Restore,
    Lose(usize),
    Wait(i64),
}

fn act() -> impl Strategy<Value = Act> {
    let policy =
        prop_oneof![Just(DeletionPolicy::Retain), Just(DeletionPolicy::Snapshot), Just(DeletionPolicy::Delete)];
    let annotation = prop_oneof![
        Just(("sluice.dev/confirm-delete", "sales")),
        Just(("sluice.dev/confirm-delete", "other")),
        Just(("sluice.dev/paused", "true")),
        Just(("sluice.dev/dry-run", "true")),
        Just(("", "")),
    ];
    prop_oneof![
        4 => Just(Act::Reconcile),
        2 => (0_usize..14).prop_map(Act::Crash),
        4 => Just(Act::Controllers),
        1 => any::<bool>().prop_map(Act::Suspend),
        1 => any::<bool>().prop_map(Act::SuspendOrganization),
        1 => any::<bool>().prop_map(Act::Version),
        1 => any::<bool>().prop_map(Act::Crowd),
        1 => (0..3).prop_map(Act::Replicas),
        1 => any::<bool>().prop_map(Act::Size),
        2 => annotation.prop_map(|(name, value)| Act::Annotate(name, value)),
        2 => policy.prop_map(Act::Policy),
        2 => Just(Act::Delete),
        1 => Just(Act::Restore),
        1 => (0_usize..10).prop_map(Act::Lose),
        1 => (1_i64..100).prop_map(Act::Wait),
    ]
}

/// The facts of the environment when a plan was made, and the conditions of the plan.
struct Watcher {
    activated: Option<String>,
}

impl Watcher {
    fn check(&mut self, world: &World, before: &crds::Environment, plan: &Plan) -> Result<(), TestCaseError> {
        let deletes_data = plan.deletes.iter().any(|it| it.key.kind == Kind::PersistentVolumeClaim);
        if deletes_data {
            let annotations = before.metadata.annotations.clone().unwrap_or_default();
            prop_assert!(before.metadata.deletion_timestamp.is_some());
            prop_assert_ne!(before.spec.deletion_policy, DeletionPolicy::Retain);
            prop_assert_eq!(annotations.get("sluice.dev/confirm-delete").map(String::as_str), Some("sales"));
            let exported = before.spec.deletion_policy != DeletionPolicy::Snapshot || world.snapshots() > 0;
            prop_assert!(exported);
        }
        if Hold::of(before) != Hold::No {
            prop_assert!(plan.writes.is_empty() && plan.deletes.is_empty());
        }
        // what a plan said and nobody published, nobody has seen
        let published = world.environment.as_ref().and_then(|it| it.status.as_ref()?.phase);
        if published == Some(EnvironmentPhase::Active) {
            self.activated.clone_from(&before.metadata.uid);
        }
        let returned = published == Some(EnvironmentPhase::Provisioning) && self.activated == before.metadata.uid;
        prop_assert!(!returned, "back to provisioning");
        ready_is_true(world, before, plan)
    }
}

/// `Ready` speaks for this generation, and the pods that answer are those that it asks for.
fn ready_is_true(world: &World, before: &crds::Environment, plan: &Plan) -> Result<(), TestCaseError> {
    let ready = plan.status.conditions.iter().find(|it| it.type_ == ConditionType::Ready);
    let Some(ready) = ready.filter(|it| it.status == ConditionStatus::True) else { return Ok(()) };
    prop_assert_eq!(Some(ready.observed_generation), before.metadata.generation);
    prop_assert_eq!(plan.status.observed_generation, before.metadata.generation);
    let serving = world.serving();
    prop_assert_eq!(i32::try_from(serving.len()).ok(), Some(before.spec.data_plane.replicas));
    let version = before.spec.data_plane.version.as_deref().unwrap_or("0.1.0");
    let image = json!(format!("registry.example/sluice/dataplane:{version}"));
    prop_assert!(serving.iter().all(|template| template["spec"]["containers"][0]["image"] == image));
    Ok(())
}

fn perform(world: &mut World, act: &Act, watcher: &mut Watcher) -> Result<(), TestCaseError> {
    match *act {
        Act::Reconcile | Act::Crash(_) => {
            let before = world.environment.clone();
            let requests = if let Act::Crash(requests) = *act { requests } else { usize::MAX };
            if let (Some(before), Some(plan)) = (before, world.reconcile_until(requests)) {
                watcher.check(world, &before, &plan)?;
            }
        }
        Act::Controllers => {
            world.controllers();
        }
        Act::Suspend(to) => world.environment_mut(|it| it.spec.suspended = to),
        Act::SuspendOrganization(to) => world.organization.as_mut().unwrap().spec.suspended = to,
        Act::Version(new) => {
            world.environment_mut(|it| {
                it.spec.data_plane.version = Some(if new { "0.2.0" } else { "0.1.0" }.to_owned());
            });
        }
        Act::Crowd(crowded) => world.no_place = crowded.then_some("0/1 nodes are available: 1 Insufficient memory."),
        Act::Replicas(count) => world.environment_mut(|it| it.spec.data_plane.replicas = count),
        Act::Size(large) => {
            world.environment_mut(|it| it.spec.storage.size.0 = if large { "20Gi" } else { "10Gi" }.to_owned());
        }
        Act::Annotate(name, value) => world.environment_mut(|it| {
            it.metadata.annotations = Some([(name.to_owned(), value.to_owned())].into());
        }),
        Act::Policy(policy) => world.environment_mut(|it| it.spec.deletion_policy = policy),
        Act::Delete => world.delete_environment(),
        Act::Restore => world.restore_environment(),
        Act::Lose(place) => world.lose(place),
        Act::Wait(days) => world.now += SignedDuration::from_hours(24 * days),
    }
    Ok(())
}

const CASES: u32 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn no_history_loses_data_or_lies_and_every_one_settles(acts in proptest::collection::vec(act(), 1..14)) {
        let mut world = World::with(environment(&json!({})));
        let mut watcher = Watcher { activated: None };
        for act in acts {
            let had = world.volume().is_some();
            perform(&mut world, &act, &mut watcher)?;
            let kept = world.volume().is_some() || matches!(act, Act::Reconcile | Act::Crash(_) | Act::Controllers);
            prop_assert!(!had || kept, "{act:?} took the volume");
        }
        world.settle();
        let settled = world.log.len();
        world.reconcile();
        prop_assert_eq!(world.log.len(), settled, "a settled environment is written to");
        if world.environment.is_none() {
            world.controllers();
            let rest = world.remains();
            let data = |kind: &Kind| matches!(kind, Kind::PersistentVolumeClaim | Kind::VolumeSnapshot);
            prop_assert!(rest.iter().all(data), "leaked: {rest:?}");
        }
    }
}
