//! Which environments may move to the release's version of the data plane, or to whatever else the installation gives
//! to its pods ([`crate::objects::source`]): a few at a time.
//!
//! "Moves only under the rollout values: waves (1 % → 10 % → 100 %), max N in flight, halt on first
//! failure." Decided for all at once by one pure function, so that reconciles that run side by side
//! agree: the order of the fleet is fixed, and whoever is not done yet keeps its place in it.

use std::collections::BTreeSet;

use crate::objects::observed::Release;
use crate::objects::rollout::Rollout;
use crate::objects::source::DeployedSource;
use crate::stores::KnownEnvironment;

/// An environment that takes part in a rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its uid, which also gives its place: unrelated to who owns it.
    pub uid: String,
    pub state: Movement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// At another version, or started from elsewhere.
    Waiting,
    /// Its Deployment has the new version, its pods do not yet.
    Moving,
    /// Its Deployment has the new version, and its pods did not come up in time.
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
    /// Where an environment stands on its way to what the release says; `deployed`: what its pods are to be started
    /// from. Nothing of one that does not take part, for nobody waits for it: it never ran, is switched off or going,
    /// cannot be moved, or is on its way to a version that it chose itself.
    pub fn of(environment: &KnownEnvironment, deployed: Option<&DeployedSource>, release: &Release) -> Option<Self> {
        let runs = environment.version.as_deref()?;
        let own_way = environment.pinned.as_deref().is_some_and(|pinned| pinned != runs);
        if environment.suspended || environment.deleting || own_way {
            return None;
        }
        let target = environment.pinned.as_deref().unwrap_or(&release.version);
        if runs == target && environment.source.as_deref() == Some(&release.source) {
            return Some(Self::Arrived);
        }
        let is_deployed = deployed.is_some_and(|deployed| deployed.tag == target && deployed.source == release.source);
        match (is_deployed, environment.is_late) {
            (true, true) => Some(Self::Failed),
            (true, false) => Some(Self::Moving),
            (false, _) => environment.follows.then_some(Self::Waiting),
        }
    }
}
