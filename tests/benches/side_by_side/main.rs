//! What governance costs: the same statement straight into the engine's library and through every
//! layer above it, in one run on one machine, one client, one statement at a time.
//!
//! The five ways take turns, so that whatever else the machine does falls on all of them alike. Each
//! sends the text of the statement anew and ends when the last byte of the answer is there. Nobody
//! looks into the cells; whether all rows came is checked outside the measured time.
//!
//! Only the ratios of one run mean something: figures of two machines, or two builds, do not compare.
//! It needs what the integration tests need (`SLUICE_TEST_POSTGRES`) and takes about a minute.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench fails loudly, and prints is what it does")]

mod report;
mod ways;

use std::time::{Duration, Instant};

use report::Figures;
use ways::{Caller, WAYS, Ways};

/// Rows of `points` and of `wide`, and the statements that make them.
pub const POINTS: u64 = 100_000;
pub const WIDE: u64 = 1_000_000;

const ROUNDS_MAX: usize = 500;
const ROUNDS_MIN: usize = 5;

pub struct Case {
    pub name: &'static str,
    pub caller: Caller,
    /// The statement of a round.
    sql: fn(u64) -> String,
    pub rows: u64,
    budget: Duration,
}

const CASES: [Case; 4] = [
    Case {
        name: "`select 42`",
        caller: Caller::Owner,
        sql: |_| "select 42".to_owned(),
        rows: 1,
        budget: Duration::from_secs(10),
    },
    Case {
        name: "one of 100 k rows by key",
        caller: Caller::Owner,
        sql: point,
        rows: 1,
        budget: Duration::from_secs(10),
    },
    Case {
        name: "the same, filtered and masked",
        caller: Caller::Analyst,
        sql: point,
        rows: 1,
        budget: Duration::from_secs(10),
    },
    Case {
        name: "1 M rows of 3 columns",
        caller: Caller::Owner,
        sql: |_| "select id, name, amount from wide".to_owned(),
        rows: WIDE,
        budget: Duration::from_secs(25),
    },
];

/// Another key each time; even ones are in the region that the analyst may see.
fn point(round: u64) -> String {
    let id = (round * 7_919 * 2) % POINTS;
    format!("select id, name, amount from points where id = {id}")
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut ways = Ways::open().await;
        report::head();
        for case in &CASES {
            report::case(case, &measured(&mut ways, case).await);
        }
        ways.close().await;
    });
}

/// One list of times a way. The way that begins changes from round to round: none always comes
/// after the slowest.
async fn measured(ways: &mut Ways, case: &Case) -> [Figures; WAYS.len()] {
    let mut figures: [Figures; WAYS.len()] = Default::default();
    let until = Instant::now() + case.budget;
    for round in 0.. {
        if round > ROUNDS_MAX || (round > ROUNDS_MIN && Instant::now() > until) {
            break;
        }
        let sql = (case.sql)(round as u64);
        for turn in 0..WAYS.len() {
            let at = (round + turn) % WAYS.len();
            let (Some(way), Some(figures)) = (WAYS.get(at), figures.get_mut(at)) else { continue };
            let began = Instant::now();
            let answer = ways.run(*way, case.caller, &sql).await;
            let took = began.elapsed();
            assert_eq!(answer.rows(), case.rows, "{way:?}: {sql}");
            // The first round fills caches and opens connections.
            if round > 0 {
                figures.add(took);
            }
        }
    }
    figures
}
