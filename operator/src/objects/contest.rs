//! Contested children: a webhook or another controller undoes each repair of the operator.
//!
//! What is not as it should be is set right at once. What is undone again and again is set right with doubling waits,
//! and the status says which field it is and whose: two who undo each other without end wear out the API server, and a
//! workload that is rolled by each of them. Counted are writes to one child while the same is wanted of it. It is kept
//! in memory alone: an operator that begins anew repairs a few times at once, and then knows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::child::Key;
use super::namespaced_name::NamespacedName;

/// Repairs in a row that are made at once.
const AT_ONCE: u32 = 5;
/// One that comes later after the one before is not in a row with it.
const ROW: Duration = Duration::from_mins(1);
const WAIT_FIRST: Duration = Duration::from_secs(1);
const WAIT_LONGEST: Duration = Duration::from_mins(5);
/// A write that a webhook undoes on its way in changes nothing, and so no watch tells of it.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The repairs of one child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contest {
    /// A digest of what is wanted of it.
    wanted: String,
    repairs: u32,
    /// When the last one was made.
    last: Timestamp,
    /// What it set right.
    pub field: String,
    /// Whoever else decides the field, once that was asked.
    pub by: Option<String>,
    /// It was not as it should be at this look.
    differs: bool,
}

impl Contest {
    fn new(wanted: &str, field: &str, now: Timestamp) -> Self {
        let (wanted, field) = (wanted.to_owned(), field.to_owned());
        Self { wanted, repairs: 0, last: now, field, by: None, differs: false }
    }

    fn wait(&self) -> Duration {
        let Some(further) = self.repairs.checked_sub(AT_ONCE) else { return Duration::ZERO };
        WAIT_FIRST.saturating_mul(2_u32.saturating_pow(further.min(30))).min(WAIT_LONGEST)
    }

    /// It has held for so long since the last repair that nobody contests it.
    fn ends(&self) -> Timestamp {
        after(self.last, ROW.max(self.wait() * 2))
    }

    /// A clock that was set back ends it too: nobody knows how long the wait would be.
    fn is_over(&self, now: Timestamp) -> bool {
        now < self.last || self.ends() < now
    }
}

fn after(moment: Timestamp, wait: Duration) -> Timestamp {
    SignedDuration::try_from(wait).ok().and_then(|wait| moment.checked_add(wait).ok()).unwrap_or(moment)
}

/// Whether a repair is made now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairTiming {
    Now,
    Later,
}

/// The repairs of one environment, by child.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contests {
    children: BTreeMap<Key, Contest>,
    /// When it has to be looked at again, as far as this goes.
    pub look_again: Option<Timestamp>,
}

impl Contests {
    /// The contests that count now, without those that are over or of a child that is not wanted.
    pub fn at(&self, now: Timestamp, wanted: &BTreeSet<Key>) -> Self {
        let stands = |(key, contest): &(&Key, &Contest)| wanted.contains(key) && !contest.is_over(now);
        let looked_at = |(key, contest): (&Key, &Contest)| (key.clone(), Contest { differs: false, ..contest.clone() });
        Self { children: self.children.iter().filter(stands).map(looked_at).collect(), look_again: None }
    }

    /// A child is not what is wanted. Counts the repair, if it is made now.
    pub fn repair(&mut self, key: &Key, wanted: &str, field: &str, now: Timestamp) -> RepairTiming {
        let known = self.children.remove(key).filter(|it| it.wanted == wanted);
        let mut contest = known.unwrap_or_else(|| Contest::new(wanted, field, now));
        contest.differs = true;
        if contest.field != field {
            (contest.field, contest.by) = (field.to_owned(), None);
        }
        let due = after(contest.last, contest.wait());
        let turn = if now < due { RepairTiming::Later } else { RepairTiming::Now };
        if turn == RepairTiming::Now {
            (contest.repairs, contest.last) = (contest.repairs.saturating_add(1), now);
        }
        self.soon(if turn == RepairTiming::Now { after(now, LOOK_AGAIN) } else { due });
        self.children.insert(key.clone(), contest);
        turn
    }

    fn soon(&mut self, moment: Timestamp) {
        self.look_again = Some(self.look_again.map_or(moment, |other| other.min(moment)));
    }

    /// Children that somebody else decides too. Said until they have held for a while, so that it is not said and
    /// taken back with each repair.
    pub fn contested(&self) -> impl Iterator<Item = (&Key, &Contest)> {
        self.children.iter().filter(|(_, contest)| contest.repairs >= AT_ONCE)
    }

    pub fn is_contested(&self, key: &Key) -> bool {
        self.contested().any(|(contested, _)| contested == key)
    }

    /// Those among them of which nobody knows whose doing it is, and a look can tell: it stands there now.
    pub(crate) fn unnamed(&self) -> impl Iterator<Item = (&Key, &Contest)> {
        self.contested().filter(|(_, contest)| contest.by.is_none() && contest.differs)
    }

    /// Notes the manager of a contested field.
    pub(crate) fn named(&mut self, key: &Key, field: &str, by: String) {
        if let Some(contest) = self.children.get_mut(key) {
            (contest.field, contest.by) = (field.to_owned(), Some(by));
        }
    }

    /// Looked at again when the last of them may be taken back.
    pub fn wake(&mut self) {
        let ends: Vec<_> = self.contested().map(|(_, contest)| after(contest.ends(), LOOK_AGAIN)).collect();
        for end in ends {
            self.soon(end);
        }
    }

    pub fn message(&self) -> Option<String> {
        let described = |(key, contest): (&Key, &Contest)| {
            let by = contest.by.as_deref().unwrap_or("somebody");
            format!("{} of {key}, by {by}", contest.field)
        };
        let described: Vec<_> = self.contested().map(described).collect();
        let described = (!described.is_empty()).then(|| described.join("; "))?;
        Some(format!(
            "set right again and again, and undone each time: {described}; the operator goes on, at longer and longer intervals"
        ))
    }
}

/// The repairs of every environment.
#[derive(Debug, Default)]
pub struct Contested(RwLock<BTreeMap<NamespacedName, Arc<Contests>>>);

impl Contested {
    pub fn get(&self, place: &NamespacedName) -> Arc<Contests> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(place).cloned().unwrap_or_default()
    }

    /// Nearly every environment has none, and then keeps none.
    pub fn set(&self, place: &NamespacedName, contests: Contests) {
        if contests.children.is_empty() && self.get(place).children.is_empty() {
            return;
        }
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if contests.children.is_empty() {
            all.remove(place);
        } else {
            all.insert(place.clone(), Arc::new(contests));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::child::Kind;

    fn key() -> Key {
        Key { kind: Kind::Deployment, name: "acme-prod".to_owned() }
    }

    fn start() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    fn later(contests: &Contests, now: Timestamp) -> Contests {
        contests.at(now, &BTreeSet::from([key()]))
    }

    /// One who undoes each repair at once, for so long: the seconds at which one was made.
    fn undone_for(seconds: i64, wanted: impl Fn(i64) -> String) -> (Vec<i64>, Contests) {
        let (mut contests, mut repairs) = (Contests::default(), Vec::new());
        for second in 0..seconds {
            let now = start() + SignedDuration::from_secs(second);
            contests = later(&contests, now);
            if contests.repair(&key(), &wanted(second), "spec.x", now) == RepairTiming::Now {
                repairs.push(second);
            }
            let again = contests.look_again.unwrap();
            assert!(now < again && again <= now + SignedDuration::from_mins(5), "{again}");
        }
        (repairs, contests)
    }

    #[test]
    fn a_few_repairs_are_made_at_once_and_further_ones_with_doubling_waits() {
        let (repairs, contests) = undone_for(2_000, |_| "same".to_owned());
        assert_eq!(repairs[..10], [0, 1, 2, 3, 4, 5, 7, 11, 19, 35]);
        let gaps: Vec<_> = repairs.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps.iter().max(), Some(&300), "as often as the longest wait says, for ever");
        assert!(repairs.len() < 20, "{repairs:?}");
        assert!(contests.is_contested(&key()));
    }

    #[test]
    fn what_is_wanted_anew_waits_for_nobody() {
        let (repairs, contests) = undone_for(60, |second| second.to_string());
        assert_eq!(repairs.len(), 60, "each time something else is wanted");
        assert_eq!(contests.message(), None);
    }

    #[test]
    fn one_change_now_and_then_is_no_contest() {
        let mut contests = Contests::default();
        for minute in 0..60 {
            let now = start() + SignedDuration::from_secs(minute * 61);
            contests = later(&contests, now);
            assert_eq!(contests.repair(&key(), "same", "spec.x", now), RepairTiming::Now);
            assert!(!contests.is_contested(&key()));
        }
    }

    #[test]
    fn it_is_said_until_the_child_has_held_for_a_while() {
        let (repairs, contests) = undone_for(8, |_| "same".to_owned());
        let last = start() + SignedDuration::from_secs(*repairs.last().unwrap());
        let held = |seconds| later(&contests, last + SignedDuration::from_secs(seconds));
        assert!(held(60).is_contested(&key()));
        assert_eq!(held(61), Contests::default());
        let mut waking = held(1);
        waking.wake();
        assert_eq!(waking.look_again, Some(last + SignedDuration::from_secs(61)), "then it is over");
        assert_eq!(later(&contests, start() - SignedDuration::from_hours(1)), Contests::default());
        assert_eq!(contests.at(last, &BTreeSet::new()), Contests::default(), "a child that is not wanted any more");
    }

    #[test]
    fn it_is_told_with_its_field_and_whoever_sets_it() {
        let (_, mut contests) = undone_for(6, |_| "same".to_owned());
        assert!(contests.message().unwrap().contains("spec.x of Deployment/acme-prod, by somebody"));
        assert_eq!(contests.unnamed().count(), 1);
        contests.named(&key(), "spec.x", "meddler".to_owned());
        assert!(contests.message().unwrap().contains("spec.x of Deployment/acme-prod, by meddler"));
        assert_eq!(contests.unnamed().count(), 0);
        let now = start() + SignedDuration::from_secs(30);
        contests.repair(&key(), "same", "spec.x", now);
        assert!(contests.message().unwrap().contains("by meddler"), "asked once");
        contests.repair(&key(), "same", "spec.y", now + SignedDuration::from_secs(30));
        assert!(contests.message().unwrap().contains("spec.y of Deployment/acme-prod, by somebody"));
    }

    #[test]
    fn nothing_is_kept_of_those_that_nobody_contests() {
        let (all, place) = (Contested::default(), NamespacedName::new("n", "a"));
        all.set(&place, Contests::default());
        all.set(&place, undone_for(1, |_| String::new()).1);
        assert_eq!(all.get(&place).children.len(), 1);
        all.set(&place, Contests::default());
        assert!(all.0.read().unwrap().is_empty());
    }
}
