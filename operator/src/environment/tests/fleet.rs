//! A thousand environments move to a new version.

use std::collections::BTreeSet;

use crate::environment::fleet::{Member, Movement, Rollout, may_move};

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
