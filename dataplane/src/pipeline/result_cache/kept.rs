//! Answers by what decides them: the one that was asked for longest ago goes first.
//!
//! Each is there, and others are gone for it, when it is put there, and not when there is time for that.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{CachedAnswer, Key};

/// Answers of no more than so many bytes.
#[derive(Debug)]
pub(super) struct KeptAnswers {
    bytes_max: usize,
    bytes: usize,
    /// Counts what is asked for.
    asked: u64,
    answers: HashMap<Arc<Key>, KeptAnswer>,
    /// By when each was asked for last.
    order: BTreeMap<u64, Arc<Key>>,
}

#[derive(Debug)]
struct KeptAnswer {
    answer: Arc<CachedAnswer>,
    bytes: usize,
    asked: u64,
}

impl KeptAnswers {
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: 0, asked: 0, answers: HashMap::new(), order: BTreeMap::new() }
    }

    pub fn get(&mut self, key: &Key) -> Option<Arc<CachedAnswer>> {
        let kept = self.answers.get_mut(key)?;
        if let Some(key) = self.order.remove(&kept.asked) {
            self.asked += 1;
            kept.asked = self.asked;
            self.order.insert(kept.asked, key);
        }
        Some(Arc::clone(&kept.answer))
    }

    /// Puts an answer in place of an earlier one; nothing where it alone is too much.
    pub fn insert(&mut self, key: Key, answer: CachedAnswer) {
        let bytes = answer.bytes + key.sql.len() + key.values.len();
        if bytes > self.bytes_max {
            return self.remove(&key);
        }
        self.asked += 1;
        let (key, asked) = (Arc::new(key), self.asked);
        self.order.insert(asked, Arc::clone(&key));
        self.bytes += bytes;
        if let Some(earlier) = self.answers.insert(key, KeptAnswer { answer: Arc::new(answer), bytes, asked }) {
            self.forget(&earlier);
        }
        while self.bytes > self.bytes_max
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(gone) = self.answers.remove(key) {
            self.forget(&gone);
        }
    }

    fn forget(&mut self, gone: &KeptAnswer) {
        self.order.remove(&gone.asked);
        self.bytes = self.bytes.saturating_sub(gone.bytes);
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{Schema, SchemaRef};
    use contract::Role;

    use super::*;

    fn key(sql: &str) -> Key {
        Key { sql: sql.to_owned(), values: String::new(), role: Role::Analyst, rules: 1, definitions: 1 }
    }

    fn answer(bytes: usize) -> CachedAnswer {
        let (columns, batches, tables) = (Vec::new(), Vec::new(), Vec::new());
        CachedAnswer { schema: SchemaRef::new(Schema::empty()), columns, batches, bytes, tables, at: 0 }
    }

    #[test]
    fn an_answer_that_is_asked_for_stays_longer_than_one_that_is_not() {
        let mut answers = KeptAnswers::new(300);
        answers.insert(key("a"), answer(99));
        answers.insert(key("b"), answer(99));
        answers.insert(key("c"), answer(99));
        assert!(answers.get(&key("a")).is_some());
        answers.insert(key("d"), answer(150));
        let kept = ["a", "b", "c", "d"].map(|sql| answers.get(&key(sql)).is_some());
        assert_eq!((kept, answers.bytes), ([true, false, false, true], 251));
    }

    #[test]
    fn one_that_is_put_there_again_counts_once() {
        let mut answers = KeptAnswers::new(300);
        for bytes in [99, 199, 9] {
            answers.insert(key("a"), answer(bytes));
        }
        assert_eq!((answers.bytes, answers.answers.len(), answers.order.len()), (10, 1, 1));
        answers.insert(key("a"), answer(300));
        assert_eq!((answers.bytes, answers.answers.len(), answers.order.len()), (0, 0, 0));
    }
}
