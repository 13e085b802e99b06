//! Where the rest of a list begins: behind the last item that was shown, by what the list is ordered by.
//!
//! Nothing is kept for it. What is added, changed or removed meanwhile is told as it is by then: no item comes twice,
//! and none is lost. A list in an order that may change (columns, hits of a search) goes on behind the last of those
//! shown that stands where it stood; if none of them does, it is refused.

use serde::Serialize;

use super::budget::Rest;
use super::seal::Seal;

/// The positions behind the items of a list.
#[derive(Debug)]
pub(super) struct Onward<K> {
    seal: Seal,
    /// Where the list itself begins, if none of it had room.
    begin: Option<K>,
    /// Of each item.
    places: Vec<K>,
    /// Where the next page begins, if there are more items than these.
    next: Option<K>,
}

impl<K: Serialize + Clone> Onward<K> {
    pub fn new(seal: Seal, places: Vec<K>, more: bool) -> Self {
        let next = places.last().filter(|_| more).cloned();
        Self { seal, begin: None, places, next }
    }

    pub fn beginning_at(self, begin: K) -> Self {
        Self { begin: Some(begin), ..self }
    }

    /// The next page begins behind what was looked at, seen or not.
    pub fn until(self, next: Option<K>) -> Self {
        Self { next, ..self }
    }

    /// Of the next page, if there is one.
    pub fn cursor(&self) -> Option<String> {
        self.next.as_ref().map(|place| self.seal.close_at(place))
    }

    pub fn rest(&self, shown: usize) -> Option<Rest> {
        let place = shown.checked_sub(1).map_or(self.begin.as_ref(), |last| self.places.get(last))?;
        Some(("cursor", self.seal.close_at(place).into()))
    }
}
