//! A thousand environments move to a new version.

use std::collections::BTreeSet;

use crds::{CollectorSecret, Environment, SecretKey};
use serde_json::{Value, json};

use super::fixtures::release;
use crate::controllers::environment::fleet::{Member, Movement, may_move};
use crate::objects::observed::Release;
use crate::objects::pods::Pods;
use crate::objects::rollout::Rollout;
use crate::objects::source::DeployedSource;
use crate::stores::{Dictionaries, KnownEnvironment};

fn fleet(size: usize) -> Vec<Member> {
    // an order that has nothing to do with how they are listed
    let uid = |number: usize| format!("{:08x}", (number * 2_654_435_761) % 4_294_967_296);
    (0..size).map(|number| Member { uid: uid(number), state: Movement::Waiting }).collect()
}

/// Lets those move that may. How many are on their way.
fn admit(fleet: &mut [Member], rollout: &Rollout) -> usize {
    let admitted = may_move(fleet, rollout);
    for member in fleet.iter_mut().filter(|it| it.state == Movement::Waiting && admitted.contains(&it.uid)) {
        member.state = Movement::Moving;
    }
    fleet.iter().filter(|it| matches!(it.state, Movement::Moving | Movement::Failed)).count()
}

fn arrived(fleet: &[Member]) -> usize {
    fleet.iter().filter(|it| it.state == Movement::Arrived).count()
}

#[test]
fn never_more_than_allowed_are_on_their_way_and_all_arrive() {
    let (mut fleet, rollout) = (fleet(1_000), Rollout::default());
    let mut waves = BTreeSet::new();
    while arrived(&fleet) < fleet.len() {
        assert!((1..=rollout.max_in_flight).contains(&admit(&mut fleet, &rollout)));
        let next = fleet.iter().position(|it| it.state == Movement::Moving).unwrap();
        if !fleet.iter().any(|it| it.state == Movement::Waiting) || arrived(&fleet) < 10 {
            waves.insert(arrived(&fleet));
        }
        fleet[next].state = Movement::Arrived;
    }
    assert!(waves.contains(&0) && waves.contains(&9));
}

#[test]
fn a_wave_opens_when_the_one_before_has_arrived() {
    let (mut fleet, rollout) = (fleet(1_000), Rollout { max_in_flight: 1_000, waves: vec![1, 10] });
    for size in [10, 100, 1_000] {
        admit(&mut fleet, &rollout);
        let told = fleet.iter().filter(|it| it.state != Movement::Waiting).count();
        assert_eq!(told, size);
        fleet.iter_mut().filter(|it| it.state == Movement::Moving).for_each(|it| it.state = Movement::Arrived);
    }
}

#[test]
fn one_that_fails_halts_the_fleet_until_it_arrives() {
    let (mut fleet, rollout) = (fleet(1_000), Rollout::default());
    admit(&mut fleet, &rollout);
    let first = fleet.iter().position(|it| it.state == Movement::Moving).unwrap();
    fleet[first].state = Movement::Failed;
    fleet.iter_mut().filter(|it| it.state == Movement::Moving).for_each(|it| it.state = Movement::Arrived);
    assert_eq!(admit(&mut fleet, &rollout), 1, "the failed one alone");
    fleet[first].state = Movement::Arrived;
    assert_eq!(admit(&mut fleet, &rollout), rollout.max_in_flight);
}

#[test]
fn those_on_their_way_may_go_on_when_the_limit_falls() {
    let mut fleet = fleet(100);
    let wide = Rollout { max_in_flight: 20, waves: vec![] };
    admit(&mut fleet, &wide);
    let narrow = Rollout { max_in_flight: 1, ..wide };
    assert_eq!(may_move(&fleet, &narrow).len(), 20);
}

/// Where one stands that runs 1.0.0 and is valid, after a change to it, on the way to 1.1.0.
fn stands(told: bool, change: impl FnOnce(&mut Value)) -> Option<Movement> {
    stands_after(&Release { version: "1.1.0".to_owned(), ..release() }, told, change)
}

/// The same on the way to another release; it runs what the fixture's would have it run.
fn stands_after(target: &Release, told: bool, change: impl FnOnce(&mut Value)) -> Option<Movement> {
    let mut object = json!({
        "metadata": {"name": "acme-sales", "namespace": "n", "uid": "u", "annotations": {}},
        "spec": {"organizationRef": {"name": "acme"}, "slug": "sales", "name": "Sales", "dataPlane": {}},
        "status": {"version": "1.0.0", "image": release().source.image, "conditions": [
            {"type": "SpecValid", "status": "True", "reason": "AsSpecified", "message": "",
             "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    });
    change(&mut object);
    let environment: Environment = serde_json::from_value(object).unwrap();
    let known = KnownEnvironment::new(&environment, &Dictionaries::default()).unwrap();
    let ran = DeployedSource { source: release().source, tag: "1.0.0".to_owned() };
    let tag = environment.spec.data_plane.version.unwrap_or_else(|| target.version.clone());
    let deployed = if told { DeployedSource { source: target.source.clone(), tag } } else { ran };
    Movement::of(&known, Some(&deployed), target)
}

#[test]
fn nobody_waits_for_one_that_cannot_move() {
    assert_eq!(stands(false, |_| {}), Some(Movement::Waiting));
    assert_eq!(stands(true, |_| {}), Some(Movement::Moving));
    assert_eq!(stands(true, |it| it["status"]["version"] = json!("1.1.0")), Some(Movement::Arrived));
    let late = |it: &mut Value| it["status"]["conditions"][0]["reason"] = json!("RolloutTimedOut");
    assert_eq!(stands(true, late), Some(Movement::Failed));
    let idle: [fn(&mut Value); 6] = [
        |it| it["status"]["conditions"][0]["status"] = json!("False"),
        |it| it["metadata"]["annotations"]["sluice.dev/paused"] = json!("true"),
        |it| it["metadata"]["annotations"]["sluice.dev/dry-run"] = json!("true"),
        |it| it["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        |it| it["spec"]["suspended"] = json!(true),
        |it| it["spec"]["dataPlane"]["version"] = json!("1.2.0"),
    ];
    for (number, change) in idle.into_iter().enumerate() {
        assert_eq!(stands(false, change), None, "{number}");
    }
    let held = |it: &mut Value| it["metadata"]["annotations"]["sluice.dev/paused"] = json!("true");
    assert_eq!(stands(true, held), Some(Movement::Moving), "it is on its way all the same");
}

#[test]
fn what_the_installation_gives_is_a_move_of_the_fleet_also_for_one_that_chose_its_version() {
    let changes: [fn(&mut Release); 6] = [
        |it| it.source.image.name = "mirror.example/sluice/dataplane".to_owned(),
        |it| it.source.image.pull_policy = "Always".to_owned(),
        |it| it.source.image.pull_secrets.push("another".to_owned()),
        |it| it.source.secrets.model = Some(SecretKey { name: "model".to_owned(), key: "key".to_owned() }),
        |it| it.source.pods = Pods::parse(r#"{"labels": {"team": "data"}}"#).unwrap(),
        |it| {
            let (name, headers_key) = ("watch".to_owned(), Some("headers".to_owned()));
            it.source.secrets.collector = Some(CollectorSecret { name, headers_key, ca_key: None });
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut target = Release { version: "1.0.0".to_owned(), ..release() };
        assert_eq!(stands_after(&target, false, |_| {}), Some(Movement::Arrived));
        change(&mut target);
        for pinned in [Value::Null, json!("1.0.0")] {
            let pin = |it: &mut Value| it["spec"]["dataPlane"] = json!({"version": pinned});
            let stands = |told, more: fn(&mut Value)| {
                stands_after(&target, told, |it| {
                    pin(it);
                    more(it);
                })
            };
            assert_eq!(stands(false, |_| {}), Some(Movement::Waiting), "{number} {pinned}");
            assert_eq!(stands(true, |_| {}), Some(Movement::Moving), "{number} {pinned}");
            let late = |it: &mut Value| it["status"]["conditions"][0]["reason"] = json!("RolloutTimedOut");
            assert_eq!(stands(true, late), Some(Movement::Failed), "{number} {pinned}");
        }
        let source = target.source.clone();
        let arrived = stands_after(&target, true, |it| {
            (it["status"]["image"], it["status"]["secrets"]) = (json!(source.image), json!(source.secrets));
            it["status"]["pods"] = json!(source.pods.text());
        });
        assert_eq!(arrived, Some(Movement::Arrived), "{number}");
    }
}
