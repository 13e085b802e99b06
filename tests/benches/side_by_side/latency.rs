//! One client, one statement at a time: what each layer adds.

use std::time::{Duration, Instant};

use crate::amounts::Amounts;
use crate::figures::{self, Figures};
use crate::goals::{Bound, Goals};
use crate::sides::{Caller, Sides, point};
use crate::ways::WAYS;

const ROUNDS_MAX: usize = 500;
const ROUNDS_MIN: usize = 5;

struct Case {
    name: &'static str,
    caller: Caller,
    /// The statement of a round.
    sql: fn(&Amounts, u64) -> String,
    rows: fn(&Amounts) -> u64,
}

const CASES: [Case; 4] = [
    Case { name: "`select 42`", caller: Caller::Owner, sql: |_, _| "select 42".to_owned(), rows: |_| 1 },
    Case { name: "a row by its key", caller: Caller::Owner, sql: lookup, rows: |_| 1 },
    Case { name: "the same, filtered and masked", caller: Caller::Analyst, sql: lookup, rows: |_| 1 },
    Case {
        name: "all rows of 3 columns",
        caller: Caller::Owner,
        sql: |_, _| "select id, name, amount from wide".to_owned(),
        rows: |amounts| amounts.wide,
    },
];

fn lookup(amounts: &Amounts, round: u64) -> String {
    point(amounts.points, round)
}

pub async fn print(sides: &mut Sides, amounts: &Amounts, goals: &mut Goals) {
    let title = format!("One client: {} rows to look up, {} to read", amounts.points, amounts.wide);
    let ways = WAYS.iter().map(|way| way.name());
    let columns: Vec<_> = ["case", "rounds", ""].into_iter().chain(ways).collect();
    figures::table(&title, &columns);
    for case in &CASES {
        let measured = measured(sides, amounts, case).await;
        told(case, &measured);
        let [_, _, wire, json, _] = measured.each_ref().map(Figures::median);
        if (case.rows)(amounts) == 1 {
            let what = format!("{}: REST JSON ÷ wire", case.name);
            goals.add(&what, figures::ratio(json, wire), Bound::AtMost(1.4, None));
        }
    }
}

fn told(case: &Case, measured: &[Figures; WAYS.len()]) {
    let [direct, ..] = measured;
    for (name, percent) in [("median", 50), ("p99", 99)] {
        let times = measured.iter().map(|figures| figures.percentile(percent));
        let cells = times.map(|time| figures::against(time, direct.percentile(percent)));
        let head = [case.name.to_owned(), direct.count().to_string(), name.to_owned()];
        figures::row(&head.into_iter().chain(cells).collect::<Vec<_>>());
    }
}

/// One list of times a way. The way that begins changes from round to round: none always comes
/// after the slowest.
async fn measured(sides: &mut Sides, amounts: &Amounts, case: &Case) -> [Figures; WAYS.len()] {
    let mut measured: [Figures; WAYS.len()] = Default::default();
    let until = Instant::now() + amounts.case;
    for round in 0.. {
        if round > ROUNDS_MAX || (round > ROUNDS_MIN && Instant::now() > until) {
            break;
        }
        let sql = (case.sql)(amounts, round as u64);
        for turn in 0..WAYS.len() {
            let at = (round + turn) % WAYS.len();
            let (Some(way), Some(figures)) = (WAYS.get(at), measured.get_mut(at)) else { continue };
            let (rows, took): (u64, Duration) = sides.run(*way, case.caller, &sql).await;
            assert_eq!(rows, (case.rows)(amounts), "{way:?}: {sql}");
            // The first round fills caches and opens connections.
            if round > 0 {
                figures.add(took);
            }
        }
    }
    measured
}
