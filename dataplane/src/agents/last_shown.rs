//! The last items that were shown of a list whose order may change: where it goes on behind them.
//!
//! Each is known by its name and by what it was worth. One that is gone or worth something else by then leads nowhere;
//! the one before it does.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

/// How many are kept: a cursor is short.
const KEPT: usize = 4;

/// A digest of the name and of the worth of each, the last one at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastShown(Vec<u64>);

impl LastShown {
    pub fn and(&self, item: &impl Hash) -> Self {
        let mut last = self.0.clone();
        last.push(digest(item));
        last.drain(..last.len().saturating_sub(KEPT));
        Self(last)
    }

    /// The place behind the last of them in the list as it is now; none where none of them is in it.
    pub fn behind<T: Hash>(&self, items: impl Iterator<Item = T>) -> Option<usize> {
        if self.0.is_empty() {
            return Some(0);
        }
        let found = items.enumerate().filter_map(|(place, item)| {
            let digest = digest(&item);
            Some((self.0.iter().position(|shown| *shown == digest)?, place + 1))
        });
        found.max().map(|(_, behind)| behind)
    }
}

/// Where a page of such a list begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPosition {
    /// How many were shown.
    pub shown: usize,
    pub last: LastShown,
}

impl ShownPosition {
    /// Behind this one too.
    pub fn and(&self, item: &impl Hash) -> Self {
        Self { shown: self.shown + 1, last: self.last.and(item) }
    }
}

/// The same in one process, for whose time a cursor is good.
fn digest(item: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    item.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_goes_on_behind_the_last_that_is_still_there() {
        let shown = ["a", "b", "c", "d", "e"].iter().fold(LastShown::default(), |last, item| last.and(item));
        for (now, expected) in [
            (&["a", "b", "c", "d", "e", "f"][..], Some(5)),
            (&["a", "b", "c", "d", "f"], Some(4)),
            (&["new", "a", "c", "f", "g"], Some(3)),
            (&["a", "f"], None),
            (&[], None),
        ] {
            assert_eq!(shown.behind(now.iter()), expected, "{now:?}");
        }
        assert_eq!(LastShown::default().behind(["a"].iter()), Some(0));
    }
}
