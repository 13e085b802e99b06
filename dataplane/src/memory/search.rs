//! Search: filter first, then the two hundred nearest by meaning and by words, fused.

use std::collections::{BTreeSet, HashMap, HashSet};

use contract::Timestamp;

use super::index::{Entry, Index};
use super::words::terms;
use super::{Memory, Search, Visibility, embedding, score, store};
use crate::Error;
use crate::pipeline::Standing;

/// How many of each order are fused.
const NEAREST: usize = 200;

/// A memory that was found, with how well it fits.
#[derive(Debug, Clone)]
pub struct Hit {
    pub memory: Memory,
    pub fit: Fit,
}

/// How well a memory fits; all from 0 to 1, but the similarity, which is a cosine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    pub score: f64,
    pub similarity: f64,
    pub semantic: f64,
    pub lexical: f64,
    pub recency: f64,
    pub importance: f64,
}

/// Ids of what fits best, the best first.
pub fn find(index: &Index, search: &Search, agent: Option<&str>, now: Timestamp) -> Vec<(String, Fit)> {
    let Ok(visibility) = search.visibility() else { return Vec::new() };
    let mut passing = index.passing(|entry| passes(entry, search, agent, &visibility, now));
    hide(&mut passing, &visibility);
    let vector = embedding::embed(&search.query);
    let wanted: Vec<String> = terms(&search.query).collect();
    let by_words = index.by_words(&wanted);
    let cosines: Vec<f64> = passing.iter().map(|(_, entry)| f64::from(entry.likeness(&vector))).collect();
    let semantic = best(cosines.iter().copied().enumerate());
    let with_words = passing.iter().enumerate().filter_map(|(at, (place, _))| Some((at, *by_words.get(place)?)));
    let lexical = best(with_words);
    let candidates: BTreeSet<usize> = semantic.keys().chain(lexical.keys()).copied().collect();
    let mut found = Vec::new();
    for at in candidates {
        let (Some((_, entry)), Some(similarity)) = (passing.get(at), cosines.get(at).copied()) else { continue };
        let (meaning, share) = (score::calibrated(similarity), entry.share(&wanted));
        let fit = Fit {
            score: meaning.max(share),
            similarity,
            semantic: meaning,
            lexical: share,
            recency: score::recency(now - entry.created_at),
            importance: entry.importance,
        };
        if fit.score > 0.0 && fit.score >= search.min_score.unwrap_or(0.0) {
            let fused = score::fused(semantic.get(&at).copied()) + score::fused(lexical.get(&at).copied());
            found.push((score::weighed(fused, entry.importance, fit.recency), entry.memory_id.clone(), fit));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    found.truncate(search.top_k);
    found.into_iter().map(|(_, memory_id, fit)| (memory_id, fit)).collect()
}

/// The memories themselves, in the order they were found in.
pub async fn read(standing: &Standing, found: Vec<(String, Fit)>) -> Result<Vec<Hit>, Error> {
    let ids: Vec<String> = found.iter().map(|(memory_id, _)| memory_id.clone()).collect();
    let read = store::by_ids(standing, &ids).await?;
    let mut memories: HashMap<_, _> = read.into_iter().map(|memory| (memory.memory_id.clone(), memory)).collect();
    let hits = found.into_iter().filter_map(|(id, fit)| Some(Hit { memory: memories.remove(&id)?, fit }));
    Ok(hits.collect())
}

fn passes(entry: &Entry, search: &Search, agent: Option<&str>, visibility: &Visibility, now: Timestamp) -> bool {
    let is = |wanted: Option<&str>, own: &str| wanted.is_none_or(|wanted| wanted == own);
    let branch = entry.branch_id.as_deref();
    let visible = match visibility {
        Visibility::MainOnly => branch.is_none(),
        Visibility::BranchLocal(wanted) => branch == Some(wanted),
        Visibility::BranchWithFallback(wanted) => branch.is_none() || branch == Some(wanted),
    };
    visible
        && entry.is_live(now)
        && is(agent, &entry.agent_id)
        && is(search.namespace.as_deref(), &entry.namespace)
        && is(search.memory_type.as_deref(), &entry.memory_type)
        && search.min_importance.is_none_or(|least| entry.importance >= least)
        && search.filters.iter().all(|(name, wanted)| entry.metadata.get(name) == Some(wanted))
}

/// "branch first, then mainline": what the branch has under a key hides the mainline's.
fn hide(passing: &mut Vec<(usize, &Entry)>, visibility: &Visibility) {
    if !matches!(visibility, Visibility::BranchWithFallback(_)) {
        return;
    }
    let key = |entry: &Entry| Some((entry.agent_id.clone(), entry.namespace.clone(), entry.memory_key.clone()?));
    let on_branch: HashSet<_> =
        passing.iter().filter(|(_, entry)| entry.branch_id.is_some()).filter_map(|(_, entry)| key(entry)).collect();
    passing.retain(|(_, entry)| entry.branch_id.is_some() || key(entry).is_none_or(|key| !on_branch.contains(&key)));
}

/// The place of each of the best in their order; what is worth nothing has none.
fn best(worths: impl Iterator<Item = (usize, f64)>) -> HashMap<usize, usize> {
    let order = |one: &(usize, f64), other: &(usize, f64)| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0));
    let mut worths: Vec<_> = worths.filter(|(_, worth)| *worth > 0.0).collect();
    if worths.len() > NEAREST {
        worths.select_nth_unstable_by(NEAREST, order); // to sort them all would be most of a search
        worths.truncate(NEAREST);
    }
    worths.sort_by(order);
    worths.into_iter().enumerate().map(|(place, (at, _))| (at, place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::embedding::embed;
    use proptest::prelude::*;
    use serde_json::{Map, json};

    const TEXTS: [&str; 6] = [
        "orders arrive from the north",
        "invoices are sent by mail",
        "the cluster was upgraded",
        "orders are paid by invoice",
        "mail from the north",
        "upgrades of orders",
    ];

    fn memory(place: usize, kind: &str, branch: Option<String>, importance: f64, text: &str) -> Memory {
        Memory {
            memory_id: format!("m{place}"),
            agent_id: format!("a{}", place % 2),
            session_id: None,
            namespace: "default".to_owned(),
            memory_key: Some(format!("k{}", place % 3)),
            memory_type: kind.to_owned(),
            content: text.to_owned(),
            value: None,
            metadata: Map::new(),
            importance,
            branch_id: branch,
            version: 1,
            supersedes: None,
            created_at: chrono::DateTime::UNIX_EPOCH,
            valid_to: None,
            expires_at: None,
        }
    }

    fn made() -> impl Strategy<Value = Vec<(usize, bool, bool, f64)>> {
        prop::collection::vec((0..TEXTS.len(), any::<bool>(), any::<bool>(), 0.0..1.0_f64), 0..40)
    }

    proptest! {
        /// Whatever is found passes the filter, fits at all, and is in order; whatever has a word of
        /// the query and passes is found.
        #[test]
        fn what_is_found_is_what_a_look_at_each_would_find(made in made(), removed in 0..40_usize, least in 0.0..1.0_f64) {
            let mut index = Index::default();
            let mut all = Vec::new();
            for (place, (text, fact, branch, importance)) in made.into_iter().enumerate() {
                let kind = if fact { "fact" } else { "note" };
                let memory = memory(place, kind, branch.then(|| "b".to_owned()), importance, TEXTS[text]);
                index.add(&memory, embed(&memory.content));
                all.push(memory);
            }
            index.remove(&format!("m{removed}"));
            all.retain(|memory| memory.memory_id != format!("m{removed}"));
            let search: Search = serde_json::from_value(
                json!({"query": "orders by mail", "top_k": 100, "memory_type": "fact", "min_importance": least}),
            ).unwrap();
            let found = find(&index, &search, Some("a1"), chrono::DateTime::UNIX_EPOCH);
            let wanted = |memory: &&Memory| memory.memory_type == "fact" && memory.importance >= least
                && memory.agent_id == "a1" && memory.branch_id.is_none();
            let passing: HashSet<_> = all.iter().filter(wanted).map(|memory| memory.memory_id.clone()).collect();
            for (id, fit) in &found {
                prop_assert!(passing.contains(id));
                prop_assert!(fit.score > 0.0 && fit.score <= 1.0);
            }
            let found: HashSet<_> = found.into_iter().map(|(id, _)| id).collect();
            for memory in all.iter().filter(wanted) {
                if memory.content.contains("orders") || memory.content.contains("mail") {
                    prop_assert!(found.contains(&memory.memory_id), "{}", memory.content);
                }
            }
        }
    }

    #[test]
    fn packing_changes_nothing_that_is_found() {
        let mut index = Index::default();
        for place in 0..3_000 {
            let memory = memory(place, "fact", None, 0.5, TEXTS[place % TEXTS.len()]);
            index.add(&memory, embed(&memory.content));
        }
        let search: Search = serde_json::from_value(json!({"query": "invoices by mail", "top_k": 5})).unwrap();
        (6..3_000).for_each(|place| index.remove(&format!("m{place}")));
        let found = find(&index, &search, None, chrono::DateTime::UNIX_EPOCH);
        assert_eq!((index.len(), found.first().map(|(id, _)| id.as_str())), (6, Some("m1")));
    }
}
