//! How much of a statement is walked.
//!
//! A small text can stand for much: what is walked twice inside of what is walked twice, or as many columns as another
//! relation has, often. Whatever is looked at is counted over the whole statement, and has an end.

use std::cell::Cell;
use std::collections::HashSet;

use super::Base;

/// Columns that may be looked at, by their name, for one statement.
pub(super) const LOOKS_MAX: usize = 50_000_000;
/// What an expression costs, beside what it looks at.
pub(in crate::govern) const EXPRESSION: usize = 10;
/// What a column costs that is made, or copied, and kept.
pub(super) const COLUMN: usize = 100;
/// What a query costs.
pub(super) const QUERY: usize = 100;

#[derive(Debug)]
pub(in crate::govern) struct Work {
    left: Cell<usize>,
}

impl Default for Work {
    fn default() -> Self {
        Self { left: Cell::new(LOOKS_MAX) }
    }
}

impl Work {
    /// Counts it; whether there was so much left.
    pub(in crate::govern) fn spend(&self, looks: usize) -> bool {
        let left = self.left.get().saturating_sub(looks);
        self.left.set(left);
        left > 0
    }

    /// Nothing more is looked at.
    pub(super) fn end(&self) {
        self.left.set(0);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

/// What it costs to keep the masked columns that a value is made of.
pub(super) fn held(reached: &[Base]) -> usize {
    reached.len() * 10
}

/// Masked columns in the order met, each once.
#[derive(Debug, Default)]
pub(super) struct Bases {
    met: Vec<Base>,
    known: HashSet<Base>,
}

impl Bases {
    pub(in crate::govern) fn extend(&mut self, more: &[Base]) {
        for base in more {
            if self.known.insert(*base) {
                self.met.push(*base);
            }
        }
    }

    pub(in crate::govern) fn iter(&self) -> impl Iterator<Item = &Base> {
        self.met.iter()
    }
}
