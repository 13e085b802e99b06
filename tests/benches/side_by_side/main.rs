//! The cost of governance: the same statements straight into the engine's library and through every
//! layer above it, in one run on one machine.
//!
//! | Part | Compares |
//! |---|---|
//! | `latency` | one client, one statement at a time, by five ways |
//! | `alone` | the same where no other way runs in between, unprepared and prepared |
//! | `changes` | a statement after a definition in its transaction, and one row that is written |
//! | `cost` | processor time and pages of memory a statement, of the data plane and its engine |
//! | `connections` | lookups by key from 1, 16, 100 and 990 connections at once |
//! | `delivery` | a large answer as text, COPY, binary, raw Arrow and Flight |
//! | `peers` | `pgbench` on PostgreSQL and `PgBouncer`, and DuckDB's own server, where they are installed |
//! | `tpch` | the 22 queries of TPC-H, governed with and without a row filter |
//! | `idle` | memory of a connection that nobody uses, by protocol |
//! | `memory` | what a data plane holds while a huge answer runs through each protocol |
//! | `data` | files of a stage that are loaded, scanned and unloaded |
//! | `large` | only when it is named: a file of a gigabyte through an engine of 512 MiB |
//!
//! At its end stand the goals, and whether they hold. Ways take turns, so that whatever else the machine does falls on all of them alike. Each sends
//! the text of the statement anew and ends when the last byte of the answer is there. Nobody looks
//! into the cells; whether all rows came is checked outside the measured time.
//!
//! Only the ratios of one run mean something: figures of two machines, or two builds, do not compare.
//! It needs what the integration tests need (`SLUICE_TEST_POSTGRES`), and `tpch` the engine's extension
//! (`SLUICE_EXTENSIONS`). As a whole it takes about ten minutes. Parts are chosen by their names as arguments:
//! `cargo bench --workspace --bench side_by_side -- tpch`; `small` makes all of it small enough to see that it works.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench fails loudly, prints is what it does, and its settings are the shell's"
)]

mod alone;
mod amounts;
mod arrow_client;
mod changes;
mod connections;
mod cost;
mod counting;
mod data;
mod delivery;
mod figures;
mod goals;
mod idle;
mod large;
mod latency;
mod memory;
mod peers;
mod sides;
mod tpch;
mod ways;

use amounts::Amounts;
use goals::Goals;

const PARTS: [&str; 11] =
    ["latency", "alone", "connections", "changes", "delivery", "peers", "cost", "idle", "tpch", "memory", "data"];
/// A part that is not one of all.
const LARGE: &str = "large";

fn main() {
    // cargo adds words of its own, which begin with a dash
    let words = std::env::args().skip(1).filter(|word| !word.starts_with('-'));
    let (small, parts): (Vec<_>, Vec<_>) = words.partition(|word| *word == "small");
    let unknown = parts.iter().find(|part| !PARTS.contains(&part.as_str()) && *part != LARGE);
    assert_eq!(unknown, None, "parts are {}, {LARGE}, and there is `small`", PARTS.join(", "));
    let amounts = if small.is_empty() { Amounts::whole() } else { Amounts::small() };
    let parts = if parts.is_empty() { PARTS.map(str::to_owned).to_vec() } else { parts };
    let work = || async move { Box::pin(run(&amounts, &parts.iter().map(String::as_str).collect::<Vec<_>>())).await };
    dataplane::server::process::block_on_processors(work).unwrap();
}

async fn run(amounts: &Amounts, parts: &[&str]) {
    let has = |part: &str| parts.contains(&part);
    let mut goals = Goals::default();
    figures::head();
    if ["latency", "alone", "connections", "changes", "delivery", "peers"].into_iter().any(has) {
        Box::pin(beside(amounts, parts, &mut goals)).await;
    }
    if has("cost") {
        Box::pin(cost::print(amounts, &mut goals)).await;
    }
    if has("idle") {
        Box::pin(idle::print(&mut goals)).await;
    }
    if has("tpch") {
        Box::pin(tpch::print(amounts, &mut goals)).await;
    }
    if has("memory") {
        Box::pin(memory::print(amounts)).await;
    }
    if has("data") {
        Box::pin(data::print(amounts, &mut goals)).await;
    }
    if has(LARGE) {
        Box::pin(large::print(amounts)).await;
    }
    goals.print();
}

/// The parts over the same tables.
async fn beside(amounts: &Amounts, parts: &[&str], goals: &mut Goals) {
    let has = |part: &str| parts.contains(&part);
    let mut sides = Box::pin(sides::Sides::open(amounts)).await;
    if has("latency") {
        Box::pin(latency::print(&mut sides, amounts, goals)).await;
    }
    if has("alone") {
        Box::pin(alone::print(&sides, amounts, goals)).await;
    }
    if has("connections") {
        Box::pin(connections::print(&sides, amounts, goals)).await;
    }
    if has("changes") {
        Box::pin(changes::print(&sides, amounts, goals)).await;
    }
    if has("delivery") {
        Box::pin(delivery::print(&sides, amounts, goals)).await;
    }
    if has("peers") {
        Box::pin(peers::print(&sides, amounts)).await;
    }
    sides.close().await;
}
