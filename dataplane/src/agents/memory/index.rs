//! The live memories as search needs them: a vector of the current embedder each, as soon as there is one, and for
//! each word who has it.
//!
//! Made from the table, never the truth. A memory that ends leaves an empty place; when most places
//! are empty the index is packed.

use std::collections::HashMap;

use contract::Timestamp;
use serde_json::{Map, Value};

use super::Memory;
use super::code::Code;
use super::embedder::EmbeddingOutcome;
use super::embedding::likeness;
use super::words::found_by;
use crate::model::vector::Vector;

/// BM25, as everybody sets it.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Empty places that are borne before it is packed.
const EMPTY_MIN: usize = 1_024;
/// From here on two texts say nearly the same.
const DUPLICATE: f32 = 0.95;

/// The entry of one memory in the index, known without reading it.
#[derive(Debug, Clone)]
pub struct Entry {
    pub memory_id: String,
    pub agent_id: String,
    pub namespace: String,
    pub memory_type: String,
    pub memory_key: Option<String>,
    pub branch_id: Option<String>,
    pub metadata: Map<String, Value>,
    pub importance: f64,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub embedded: EmbeddingOutcome,
    /// What it is found by, each term once with how often it occurs.
    terms: Vec<(String, u32)>,
    /// Of all its terms.
    length: u32,
}

/// How a memory has the terms of a query.
#[derive(Debug, Clone, Copy, Default)]
pub struct Has {
    /// How many of them.
    terms: u32,
    /// By BM25.
    worth: f64,
}

impl Has {
    /// The share of so many terms.
    #[expect(clippy::cast_precision_loss, reason = "a query has few terms")]
    pub fn share(self, asked: usize) -> f64 {
        if asked == 0 { 0.0 } else { f64::from(self.terms) / asked as f64 }
    }

    /// Orders by how many there are, then by BM25; 0 where there are none.
    pub fn order(self) -> f64 {
        f64::from(self.terms) + self.worth / (1.0 + self.worth)
    }
}

/// That a place has a term.
#[derive(Debug, Clone, Copy)]
struct Posting {
    place: usize,
    often: u32,
}

#[derive(Debug, Default)]
pub struct Index {
    entries: Vec<Option<Entry>>,
    /// Of each place, side by side: a search reads all of them.
    codes: Vec<Code>,
    places: HashMap<String, usize>,
    /// For each term the places that have it, in their order.
    postings: HashMap<String, Vec<Posting>>,
    total_length: u64,
}

impl Index {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn add(&mut self, memory: &Memory, embedded: EmbeddingOutcome) {
        self.put(entry(memory, embedded));
    }

    /// A memory that is there has its vector now, or has none.
    pub fn embed(&mut self, memory_id: &str, embedded: EmbeddingOutcome) {
        let Some(place) = self.places.get(memory_id) else { return };
        if let (Some(Some(entry)), Some(code)) = (self.entries.get_mut(*place), self.codes.get_mut(*place)) {
            *code = Code::of(embedded.vector());
            entry.embedded = embedded;
        }
    }

    fn put(&mut self, entry: Entry) {
        let place = self.entries.len();
        for (term, often) in &entry.terms {
            self.postings.entry(term.clone()).or_default().push(Posting { place, often: *often });
        }
        self.total_length += u64::from(entry.length);
        self.places.insert(entry.memory_id.clone(), place);
        self.codes.push(Code::of(entry.embedded.vector()));
        self.entries.push(Some(entry));
    }

    pub fn remove(&mut self, memory_id: &str) {
        let Some(place) = self.places.remove(memory_id) else { return };
        let Some(entry) = self.entries.get_mut(place).and_then(Option::take) else { return };
        self.total_length -= u64::from(entry.length);
        for (term, _) in &entry.terms {
            if let Some(postings) = self.postings.get_mut(term) {
                if let Ok(at) = postings.binary_search_by_key(&place, |posting| posting.place) {
                    postings.remove(at);
                }
                if postings.is_empty() {
                    self.postings.remove(term);
                }
            }
        }
        if self.entries.len() > EMPTY_MIN && self.entries.len() > 2 * self.places.len() {
            self.pack();
        }
    }

    /// Removes what is on this branch.
    pub fn leave(&mut self, branch_id: &str) {
        let of_branch = |entry: &&Entry| entry.branch_id.as_deref() == Some(branch_id);
        let ids: Vec<_> =
            self.entries.iter().flatten().filter(of_branch).map(|entry| entry.memory_id.clone()).collect();
        for id in ids {
            self.remove(&id);
        }
    }

    fn pack(&mut self) {
        let kept = std::mem::take(self);
        kept.entries.into_iter().flatten().for_each(|entry| self.put(entry));
    }

    /// The entries that pass, with their places.
    pub fn passing(&self, passes: impl Fn(&Entry) -> bool) -> Vec<(usize, &Entry)> {
        let live = self.entries.iter().enumerate().filter_map(|(place, entry)| Some((place, entry.as_ref()?)));
        live.filter(|(_, entry)| passes(entry)).collect()
    }

    /// Nearly the cosine of what is at a place.
    pub fn roughly(&self, place: usize, code: &Code) -> f64 {
        self.codes.get(place).map_or(0.0, |own| f64::from(own.likeness(code)))
    }

    /// How each place has the terms of a query, each of which is given once.
    #[expect(clippy::cast_precision_loss, reason = "counts of memories are far below 2^53")]
    pub fn by_words(&self, query: &[String]) -> Vec<Has> {
        let count = self.places.len() as f64;
        let average = (self.total_length as f64 / count.max(1.0)).max(1.0);
        let mut found = vec![Has::default(); self.entries.len()];
        for term in query {
            let Some(postings) = self.postings.get(term) else { continue };
            let have = postings.len() as f64;
            let rarity = (1.0 + (count - have + 0.5) / (have + 0.5)).ln();
            for Posting { place, often } in postings {
                let (Some(Some(entry)), Some(has)) = (self.entries.get(*place), found.get_mut(*place)) else {
                    continue;
                };
                let (often, length) = (f64::from(*often), f64::from(entry.length) / average);
                has.terms += 1;
                has.worth += rarity * often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * length));
            }
        }
        found
    }

    /// A memory of the same agent, namespace and branch that says nearly the same.
    pub fn duplicate(&self, memory: &Memory, vector: &Vector, now: Timestamp) -> Option<String> {
        let same = |entry: &Entry| {
            entry.agent_id == memory.agent_id
                && entry.namespace == memory.namespace
                && entry.branch_id == memory.branch_id
                && entry.memory_id != memory.supersedes.clone().unwrap_or_default()
                && entry.is_live(now)
        };
        let near = self.passing(same).into_iter().filter_map(|(_, entry)| Some((entry.likeness(vector)?, entry)));
        let nearest =
            near.filter(|(likeness, _)| *likeness >= DUPLICATE).max_by(|one, other| one.0.total_cmp(&other.0));
        nearest.map(|(_, entry)| entry.memory_id.clone())
    }
}

impl Entry {
    /// None while it has no vector.
    pub fn likeness(&self, vector: &Vector) -> Option<f32> {
        self.embedded.vector().map(|own| likeness(own, vector))
    }

    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expires_at| now < expires_at)
    }
}

fn entry(memory: &Memory, embedded: EmbeddingOutcome) -> Entry {
    let mut all = found_by(&memory.content);
    all.sort_unstable();
    let length = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let mut counted: Vec<(String, u32)> = Vec::new();
    for term in all {
        match counted.last_mut() {
            Some((known, often)) if *known == term => *often += 1,
            _ => counted.push((term, 1)),
        }
    }
    Entry {
        memory_id: memory.memory_id.clone(),
        agent_id: memory.agent_id.clone(),
        namespace: memory.namespace.clone(),
        memory_type: memory.memory_type.clone(),
        memory_key: memory.memory_key.clone(),
        branch_id: memory.branch_id.clone(),
        metadata: memory.metadata.clone(),
        importance: memory.importance,
        created_at: memory.created_at,
        expires_at: memory.expires_at,
        embedded,
        terms: counted,
        length,
    }
}
