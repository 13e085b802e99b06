//! A search among a hundred thousand memories through the protocol of the tools: the median, the 99th
//! percentile, and how often what was meant is among the ten.
//!
//! "100 k memories: search ≤30 ms p99 on two cores." Words are as unevenly used as in any language; a
//! question has five words of one memory, in another order and each in another form.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench fails loudly, and prints is what it does"
)]

#[expect(dead_code, reason = "shared with the tests, which ask for more")]
#[path = "../tests/agents_router.rs"]
mod agents_router;
#[expect(dead_code, reason = "shared with the tests, which ask for more")]
#[path = "../tests/world.rs"]
mod world;

use std::fmt::Write;
use std::time::{Duration, Instant};

use axum::Router;
use contract::Entropy;
use dataplane::testing::demo_key;
use serde_json::json;
use world::World;

const MEMORIES: usize = 100_000;
const TO_A_STATEMENT: usize = 1_000;
const SEARCHES: usize = 500;
const STORED: usize = 100;
const VOCABULARY: f64 = 20_000.0;
const WORDS: usize = 20;
/// Words of a question.
const ASKED: usize = 5;
const SYLLABLES: [&str; 27] = [
    "ba", "ce", "di", "fo", "gu", "hal", "jen", "kim", "lor", "mun", "na", "per", "qui", "ros", "sul", "tam", "ve",
    "wi", "xo", "yun", "zar", "bel", "cor", "dan", "elf", "gra", "hym",
];

fn main() {
    dataplane::server::process::block_on(measured).unwrap();
}

async fn measured() {
    let world = world::world().await;
    let router = agents_router::router(&world);
    let texts = texts();
    remember(&world, &texts).await;
    let began = Instant::now();
    search(&router, "warm").await;
    println!("{MEMORIES} memories, the index made from the table: {:?}", began.elapsed());

    let (mut took, mut found) = (Vec::with_capacity(SEARCHES), 0);
    for number in 0..SEARCHES {
        let meant = texts.get(number * (MEMORIES / SEARCHES)).unwrap();
        let began = Instant::now();
        let ids = search(&router, &question(meant)).await;
        took.push(began.elapsed());
        found += usize::from(ids.contains(&format!("m{}", number * (MEMORIES / SEARCHES))));
    }
    println!("{SEARCHES} searches, one after the other: {}; meant and among the ten: {found}", shown(took));

    let mut took = Vec::with_capacity(STORED);
    for number in 0..STORED {
        let began = Instant::now();
        let arguments = json!({"content": format!("{number} {}", texts.get(number * 7).unwrap())});
        let (stored, is_error) = agents_router::tool(&router, demo_key(), "store_memory", arguments).await;
        took.push(began.elapsed());
        assert!(!is_error, "{stored}");
    }
    println!("{STORED} more stored: {}", shown(took));
    world.stop().await;
}

/// The ids of the ten that fit best.
async fn search(router: &Router, query: &str) -> Vec<String> {
    let (found, is_error) = agents_router::tool(router, demo_key(), "search_memory", json!({"query": query})).await;
    assert!(!is_error, "{found}");
    let hits = found["results"].as_array().unwrap().iter();
    hits.map(|hit| hit["memory_id"].as_str().unwrap().to_owned()).collect()
}

/// Straight into the table, without vectors: the index makes them from the texts.
async fn remember(world: &World, texts: &[String]) {
    for (chunk, texts) in texts.chunks(TO_A_STATEMENT).enumerate() {
        let mut sql = "insert into raw._svc_memory.memories (memory_id, agent_id, namespace, memory_type, content, \
            metadata, importance, embedding, embedder_id, content_sha256, version, valid_from) values "
            .to_owned();
        for (at, text) in texts.iter().enumerate() {
            let place = chunk * TO_A_STATEMENT + at;
            let comma = if at == 0 { "" } else { ", " };
            write!(sql, "{comma}('m{place}', 'a{}', 'default', 'fact', '{text}', '{{}}', 0.5, ''::blob, 'none', 'd{place}', 1, now())", place % 50)
                .unwrap();
        }
        world.behind_our_back(&sql).await;
    }
}

fn texts() -> Vec<String> {
    let entropy = Entropy::seeded(9);
    (0..MEMORIES).map(|_| (0..WORDS).map(|_| word(&entropy)).collect::<Vec<_>>().join(" ")).collect()
}

/// The few are common, the many rare.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between nothing and the vocabulary")]
fn word(entropy: &Entropy) -> String {
    let even = f64::from(u32::from_le_bytes(entropy.bytes())) / f64::from(u32::MAX);
    let mut number = (even.powi(3) * VOCABULARY) as usize;
    let mut word = String::new();
    for _ in 0..3 {
        word.push_str(SYLLABLES.get(number % SYLLABLES.len()).unwrap());
        number /= SYLLABLES.len();
    }
    word
}

fn question(meant: &str) -> String {
    let words: Vec<_> = meant.split(' ').rev().step_by(WORDS / ASKED).map(|word| format!("{word}s")).collect();
    words.join(" ")
}

fn shown(mut took: Vec<Duration>) -> String {
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).copied().unwrap_or_default();
    format!("p50 {:?}, p99 {:?}, longest {:?}", at(50), at(99), took.last().copied().unwrap_or_default())
}
