//! Search: filter first, then the two hundred nearest by their vectors and as many by their words, the best score first.
//!
//! Behind those two hundred all that pass are looked at. The order is the same: whoever is not among the nearest of
//! either kind has no place there, and so comes last among equal scores.

use std::collections::{BTreeSet, HashMap, HashSet};

use contract::Timestamp;

use super::code::Code;
use super::index::{Entry, Index};
use super::score::Calibration;
use super::words::terms;
use super::{Memory, Search, Visibility, score, store};
use crate::Error;
use crate::agents::last_shown::ShownPosition;
use crate::model::vector::Vector;
use crate::pipeline::CallerContext;

/// How many of each order are looked at: more than one page has, so that none with a better score is left out.
const NEAREST: usize = 200;
/// How many of those that are nearly the nearest are looked at exactly.
const LOOKED_AT: usize = 2 * NEAREST;

/// A memory that was found, with how well it fits.
#[derive(Debug, Clone)]
pub struct Hit {
    pub memory: Memory,
    pub fit: Fit,
}

impl Hit {
    /// What it is known by in the order of hits.
    pub fn worth(&self) -> (&str, u64) {
        worth(&self.memory.memory_id, self.fit.score)
    }
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

/// The meaning of a search, by the embedder of the index; without a vector it is by words alone.
#[derive(Debug)]
pub struct SearchMeaning {
    pub vector: Option<Vector>,
    pub calibration: &'static Calibration,
}

/// What an item of the order is known by: one that has another score by then stands elsewhere.
fn worth(memory_id: &str, score: f64) -> (&str, u64) {
    (memory_id, score.to_bits())
}

/// Ids of a page of what fits best, the best first, and whether there are more.
pub fn find(
    index: &Index,
    search: &Search,
    behind: &ShownPosition,
    meant: &SearchMeaning,
    agent: Option<&str>,
    now: Timestamp,
) -> Result<(Vec<(String, Fit)>, bool), Error> {
    let is_deep = behind.shown.saturating_add(search.top_k) >= NEAREST;
    let mut found = ordered(index, search, is_deep, meant, agent, now);
    let hits = found.iter().map(|(memory_id, fit)| worth(memory_id, fit.score));
    let why = "the memories that it has shown last have ended or changed since";
    let begin = behind.last.behind(hits).ok_or(Error::CursorOver { why })?;
    let mut page = found.split_off(begin);
    let more = page.len() > search.top_k;
    page.truncate(search.top_k);
    Ok((page, more))
}

/// Ids of what fits best, the best first: all that fit, or those among which the first two hundred are.
fn ordered(
    index: &Index,
    search: &Search,
    all: bool,
    meant: &SearchMeaning,
    agent: Option<&str>,
    now: Timestamp,
) -> Vec<(String, Fit)> {
    let Ok(visibility) = search.visibility() else { return Vec::new() };
    let mut passing = index.passing(|entry| passes(entry, search, agent, &visibility, now));
    hide(&mut passing, &visibility);
    let mut wanted = terms(&search.query);
    wanted.sort_unstable();
    wanted.dedup();
    let by_words = index.by_words(&wanted);
    let cosine = |entry: &Entry| meant.vector.as_ref().and_then(|vector| entry.likeness(vector)).map_or(0.0, f64::from);
    let exactly = |at: usize| passing.get(at).map_or(0.0, |(_, entry)| cosine(entry));
    let code = Code::of(meant.vector.as_ref());
    let rough = passing.iter().enumerate().map(|(at, (place, _))| (at, index.roughly(*place, &code)));
    let semantic = best(first(rough.collect(), LOOKED_AT).into_iter().map(|(at, _)| (at, exactly(at))));
    let with_words =
        passing.iter().enumerate().filter_map(|(at, (place, _))| Some((at, by_words.get(*place)?.order())));
    let lexical = best(with_words);
    let nearest = semantic.keys().chain(lexical.keys()).copied();
    let candidates: BTreeSet<usize> = if all { (0..passing.len()).collect() } else { nearest.collect() };
    let mut found = Vec::new();
    for at in candidates {
        let Some((place, entry)) = passing.get(at) else { continue };
        let similarity = cosine(entry);
        let has = by_words.get(*place).copied().unwrap_or_default();
        let (meaning, share) = (score::calibrated(meant.calibration, similarity), has.share(wanted.len()));
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
    found.sort_by(|one, other| {
        let by_score = other.2.score.total_cmp(&one.2.score);
        by_score.then_with(|| other.0.total_cmp(&one.0)).then_with(|| one.1.cmp(&other.1))
    });
    found.into_iter().map(|(_, memory_id, fit)| (memory_id, fit)).collect()
}

/// The memories themselves, in the order they were found in.
pub async fn read(standing: &CallerContext, found: Vec<(String, Fit)>) -> Result<Vec<Hit>, Error> {
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
    let on_branch: HashSet<_> =
        passing.iter().filter(|(_, entry)| entry.branch_id.is_some()).filter_map(|&(_, entry)| key(entry)).collect();
    if !on_branch.is_empty() {
        passing
            .retain(|(_, entry)| entry.branch_id.is_some() || key(entry).is_none_or(|key| !on_branch.contains(&key)));
    }
}

fn key(entry: &Entry) -> Option<(&str, &str, &str)> {
    Some((&entry.agent_id, &entry.namespace, entry.memory_key.as_deref()?))
}

/// The place of each of the best in their order; what is worth nothing has none.
fn best(worths: impl Iterator<Item = (usize, f64)>) -> HashMap<usize, usize> {
    let worths = first(worths.filter(|(_, worth)| *worth > 0.0).collect(), NEAREST);
    worths.into_iter().enumerate().map(|(place, (at, _))| (at, place)).collect()
}

/// So many of the most worth, in their order.
fn first(mut worths: Vec<(usize, f64)>, count: usize) -> Vec<(usize, f64)> {
    let order = |one: &(usize, f64), other: &(usize, f64)| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0));
    if worths.len() > count {
        worths.select_nth_unstable_by(count, order); // to sort them all would be most of a search
        worths.truncate(count);
    }
    worths.sort_by(order);
    worths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::memory::embedder::{EmbeddingOutcome, Provenance};
    use crate::agents::memory::embedding::embed;
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
            made_by: None,
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
            vector: Provenance::default(),
        }
    }

    fn meant(query: &str) -> SearchMeaning {
        SearchMeaning { vector: Some(embed(query)), calibration: &score::BUILT_IN }
    }

    fn first_page(index: &Index, search: &Search, meant: &SearchMeaning, agent: Option<&str>) -> Vec<(String, Fit)> {
        find(index, search, &ShownPosition::default(), meant, agent, chrono::DateTime::UNIX_EPOCH).unwrap().0
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
                index.add(&memory, EmbeddingOutcome::Ready(embed(&memory.content)));
                all.push(memory);
            }
            index.remove(&format!("m{removed}"));
            all.retain(|memory| memory.memory_id != format!("m{removed}"));
            let search: Search = serde_json::from_value(
                json!({"query": "orders by mail", "top_k": 100, "memory_type": "fact", "min_importance": least}),
            ).unwrap();
            let found = first_page(&index, &search, &meant("orders by mail"), Some("a1"));
            let wanted = |memory: &&Memory| memory.memory_type == "fact" && memory.importance >= least
                && memory.agent_id == "a1" && memory.branch_id.is_none();
            let passing: HashSet<_> = all.iter().filter(wanted).map(|memory| memory.memory_id.clone()).collect();
            for (id, fit) in &found {
                prop_assert!(passing.contains(id));
                prop_assert!(fit.score > 0.0 && fit.score <= 1.0);
            }
            prop_assert!(found.is_sorted_by(|(_, one), (_, other)| one.score >= other.score), "{found:?}");
            let found: HashSet<_> = found.into_iter().map(|(id, _)| id).collect();
            for memory in all.iter().filter(wanted) {
                if memory.content.contains("orders") || memory.content.contains("mail") {
                    prop_assert!(found.contains(&memory.memory_id), "{}", memory.content);
                }
            }
        }
    }

    #[test]
    fn what_has_no_vector_is_found_by_its_words_and_compared_with_nothing() {
        let mut index = Index::default();
        for (place, embedded) in
            [EmbeddingOutcome::Pending, EmbeddingOutcome::Failed, EmbeddingOutcome::Ready(embed(TEXTS[0]))]
                .into_iter()
                .enumerate()
        {
            index.add(&memory(place, "fact", None, 0.5, TEXTS[0]), embedded);
        }
        let search: Search = serde_json::from_value(json!({"query": TEXTS[0]})).unwrap();
        let found = first_page(&index, &search, &meant(TEXTS[0]), None);
        let similarity = |id: &str| found.iter().find(|(found, _)| found == id).unwrap().1.similarity;
        assert_eq!((found.len(), found[0].0.as_str()), (3, "m2"));
        assert!(similarity("m0").abs() < 1e-9 && similarity("m1").abs() < 1e-9 && similarity("m2") > 0.99);
        index.embed("m0", EmbeddingOutcome::Ready(embed(TEXTS[0])));
        let words_alone = SearchMeaning { vector: None, calibration: &score::BUILT_IN };
        let found = first_page(&index, &search, &words_alone, None);
        assert!(found.len() == 3 && found.iter().all(|(_, fit)| fit.similarity.abs() < 1e-9 && fit.score > 0.9));
        let same = memory(9, "fact", None, 0.5, TEXTS[0]);
        let duplicate = index.duplicate(&same, &embed(TEXTS[0]), chrono::DateTime::UNIX_EPOCH);
        assert_eq!(duplicate, None, "m1, of the same agent, has no vector");
    }

    /// By BM25 alone three hundred texts with one rare word each would come before the one that has both.
    #[test]
    fn a_better_score_is_never_left_out() {
        let mut index = Index::default();
        for place in 0..300 {
            index.add(&memory(place, "fact", None, 1.0, "gold gold gold"), EmbeddingOutcome::Pending);
        }
        let long = format!("coffee is paid in gold {}", "by nobody whom anybody has ever seen here ".repeat(30));
        index.add(&memory(300, "fact", None, 0.0, &long), EmbeddingOutcome::Pending);
        let search: Search = serde_json::from_value(json!({"query": "coffee gold", "top_k": 3})).unwrap();
        let meant = SearchMeaning { vector: None, calibration: &score::BUILT_IN };
        let found = first_page(&index, &search, &meant, None);
        let scores: Vec<_> = found.iter().map(|(id, fit)| (id.starts_with("m300"), fit.score)).collect();
        assert_eq!(scores, [(true, 1.0), (false, 0.5), (false, 0.5)]);
    }

    #[test]
    fn packing_changes_nothing_that_is_found() {
        let mut index = Index::default();
        for place in 0..3_000 {
            let memory = memory(place, "fact", None, 0.5, TEXTS[place % TEXTS.len()]);
            index.add(&memory, EmbeddingOutcome::Ready(embed(&memory.content)));
        }
        let search: Search = serde_json::from_value(json!({"query": "invoices by mail", "top_k": 5})).unwrap();
        (6..3_000).for_each(|place| index.remove(&format!("m{place}")));
        let found = first_page(&index, &search, &meant("invoices by mail"), None);
        assert_eq!((index.len(), found.first().map(|(id, _)| id.as_str())), (6, Some("m1")));
    }

    /// All that fit, page by page.
    fn paged(
        index: &mut Index,
        search: &Search,
        mut each: impl FnMut(&mut Index, &[(String, Fit)]),
    ) -> Vec<(String, f64)> {
        let (mut all, mut behind) = (Vec::new(), ShownPosition::default());
        loop {
            let meant = SearchMeaning { vector: None, calibration: &score::BUILT_IN };
            let (page, more) = find(index, search, &behind, &meant, None, chrono::DateTime::UNIX_EPOCH).unwrap();
            behind = page.iter().fold(behind, |behind, (id, fit)| behind.and(&worth(id, fit.score)));
            all.extend(page.iter().map(|(id, fit)| (id.clone(), fit.score)));
            if !more {
                return all;
            }
            each(index, &page);
        }
    }

    #[test]
    fn page_by_page_everything_that_fits_comes_once_in_the_order_of_its_score() {
        for top_k in [7, 40, 100] {
            let mut index = Index::default();
            for place in 0..700 {
                let text = ["gold", "gold and coffee", "coffee", "tea"][place % 4];
                index.add(&memory(place, "fact", None, 0.5, text), EmbeddingOutcome::Pending);
            }
            let search: Search = serde_json::from_value(json!({"query": "coffee gold", "top_k": top_k})).unwrap();
            let all = paged(&mut index, &search, |_, _| ());
            let ids: HashSet<_> = all.iter().map(|(id, _)| id).collect();
            assert_eq!((all.len(), ids.len()), (525, 525), "by {top_k}");
            assert!(all.is_sorted_by(|(_, one), (_, other)| one >= other), "by {top_k}");
        }
    }

    #[test]
    fn what_comes_or_goes_meanwhile_lets_nothing_come_twice_or_be_lost() {
        let mut index = Index::default();
        for place in 0..120 {
            index.add(&memory(place, "fact", None, 0.5, "gold"), EmbeddingOutcome::Pending);
        }
        let search: Search = serde_json::from_value(json!({"query": "gold", "top_k": 10})).unwrap();
        let mut pages = 0;
        let all = paged(&mut index, &search, |index, page| {
            pages += 1;
            index.add(&memory(1_000 + pages, "fact", None, 1.0, "gold gold"), EmbeddingOutcome::Pending);
            index.remove(&page.last().unwrap().0);
        });
        let ids: HashSet<_> = all.iter().map(|(id, _)| id.clone()).collect();
        assert_eq!(ids.len(), all.len(), "none twice");
        assert!((0..120).all(|place| ids.contains(&format!("m{place}"))), "none lost");
        index.add(&memory(2_000, "fact", None, 0.5, "gold"), EmbeddingOutcome::Pending);
        let behind = ShownPosition::default().and(&worth("m0", 0.25));
        let meant = SearchMeaning { vector: None, calibration: &score::BUILT_IN };
        let refused = find(&index, &search, &behind, &meant, None, chrono::DateTime::UNIX_EPOCH);
        assert!(matches!(refused, Err(Error::CursorOver { .. })), "what it has shown is worth something else");
    }
}
