//! Answers by what decides them: the one that was asked for longest ago goes first.
//!
//! Others go at once when one is put there, and not later.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{CachedAnswer, Key};

/// Bytes that an answer takes besides its rows and the texts of its key, about: many small ones are bounded by them.
const ANSWER_BYTES: usize = 512;

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
        let bytes = ANSWER_BYTES + answer.bytes + key.sql.len() + key.values.len();
        if bytes > self.bytes_max {
            return self.remove(&key);
        }
        self.asked += 1;
        self.bytes += bytes;
        let (key, asked) = (Arc::new(key), self.asked);
        let kept = KeptAnswer { answer: Arc::new(answer), bytes, asked };
        let earlier = self.answers.insert(Arc::clone(&key), kept);
        // the map still has the key of an earlier one: a second one would not be counted
        let before = earlier.and_then(|earlier| self.forget(&earlier));
        self.order.insert(asked, before.unwrap_or(key));
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

    /// Counts an answer no more that has gone; its key, if that was in the order still.
    fn forget(&mut self, gone: &KeptAnswer) -> Option<Arc<Key>> {
        self.bytes = self.bytes.saturating_sub(gone.bytes);
        self.order.remove(&gone.asked)
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
        let mut answers = KeptAnswers::new(3 * (ANSWER_BYTES + 100));
        answers.insert(key("a"), answer(99));
        answers.insert(key("b"), answer(99));
        answers.insert(key("c"), answer(99));
        assert!(answers.get(&key("a")).is_some());
        answers.insert(key("d"), answer(150));
        let kept = ["a", "b", "c", "d"].map(|sql| answers.get(&key(sql)).is_some());
        assert_eq!((kept, answers.bytes), ([true, false, false, true], 2 * ANSWER_BYTES + 251));
    }

    #[test]
    fn answers_of_no_bytes_are_bounded_too() {
        let mut answers = KeptAnswers::new(10 * ANSWER_BYTES);
        for number in 0..100 {
            answers.insert(key(&number.to_string()), answer(0));
        }
        assert!(answers.answers.len() < 10 && answers.order.len() < 10);
    }

    #[test]
    fn one_that_is_put_there_again_counts_once() {
        let mut answers = KeptAnswers::new(ANSWER_BYTES + 300);
        for bytes in [99, 199, 9] {
            answers.insert(key("a"), answer(bytes));
        }
        assert_eq!((answers.bytes, answers.answers.len(), answers.order.len()), (ANSWER_BYTES + 10, 1, 1));
        let (kept, _) = answers.answers.get_key_value(&key("a")).unwrap();
        assert!(answers.order.values().all(|ordered| Arc::ptr_eq(ordered, kept)), "its key is there once");
        answers.insert(key("a"), answer(300));
        assert_eq!((answers.bytes, answers.answers.len(), answers.order.len()), (0, 0, 0));
    }
}
