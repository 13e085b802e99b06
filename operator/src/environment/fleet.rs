//! Which environments may move to the release's version of the data plane: a few at a time.
//!
//! "Moves only under the rollout values: waves (1 % → 10 % → 100 %), max N in flight, halt on first
//! failure." Decided for all at once by one pure function, so that reconciles that run side by side
//! agree: the order of the fleet is fixed, and whoever is not done yet keeps its place in it.

use std::collections::BTreeSet;

use crate::stores::KnownEnvironment;

/// How fast a fleet moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// Environments that are being moved at the same time.
    pub max_in_flight: usize,
    /// Rising percentages; a wave opens when the one before is done. 100 follows by itself.
    pub waves: Vec<u8>,
}

impl Default for Rollout {
    fn default() -> Self {
        Self { max_in_flight: 10, waves: vec![1, 10, 100] }
    }
}

/// An environment on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its uid, which also gives its place: unrelated to who owns it.
    pub uid: String,
    pub state: Movement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// At another version.
    Waiting,
    /// Told to move, not there yet.
    Moving,
    /// Told to move, and did not come up in time.
    Failed,
    /// There.
    Arrived,
}

/// The uids that may move now, those on their way included.
pub fn may_move(members: &[Member], rollout: &Rollout) -> BTreeSet<String> {
    let mut fleet: Vec<&Member> = members.iter().collect();
    fleet.sort_by(|a, b| a.uid.cmp(&b.uid));
    let begun = |member: &&&Member| matches!(member.state, Movement::Moving | Movement::Failed);
    let mut moving: BTreeSet<String> = fleet.iter().filter(begun).map(|member| member.uid.clone()).collect();
    if fleet.iter().any(|member| member.state == Movement::Failed) {
        return moving;
    }
    let open = open_wave(&fleet, rollout);
    for member in fleet.iter().take(open).filter(|member| member.state == Movement::Waiting) {
        if moving.len() >= rollout.max_in_flight {
            break;
        }
        moving.insert(member.uid.clone());
    }
    moving
}

/// How many of the fleet, from its beginning, the present wave reaches.
fn open_wave(fleet: &[&Member], rollout: &Rollout) -> usize {
    let reach = |percent: u8| (fleet.len() * usize::from(percent.min(100))).div_ceil(100);
    rollout
        .waves
        .iter()
        .map(|percent| reach(*percent))
        .find(|&wave| fleet.iter().take(wave).any(|member| member.state != Movement::Arrived))
        .unwrap_or(fleet.len())
}

impl Movement {
    /// Where an environment stands on its way to `target`; `told`: its pods are to run that. Nothing of one that
    /// does not take part, for nobody waits for it: it chooses its own version, never ran any, is switched off or
    /// going, or cannot be told.
    pub fn of(environment: &KnownEnvironment, told: bool, target: &str) -> Option<Self> {
        let runs = environment.fleet_version.as_deref()?;
        if environment.suspended || environment.deleting {
            return None;
        }
        if runs == target {
            return Some(Self::Arrived);
        }
        match (told, environment.is_late) {
            (true, true) => Some(Self::Failed),
            (true, false) => Some(Self::Moving),
            (false, _) => environment.follows.then_some(Self::Waiting),
        }
    }
}
