//! Many clients at once: how many lookups by key a second, and whether the slow ones get much slower.

use std::time::Instant;

use tokio::task::JoinSet;

use crate::amounts::Amounts;
use crate::figures::{self, Figures};
use crate::goals::{Bound, Goals};
use crate::sides::{Sides, point};
use crate::ways;

/// The last is as many as a data plane takes, but for those that other parts have open.
const CONNECTIONS: [u64; 4] = [1, 16, 100, 990];
/// Of these so many ask at once, which is what an environment runs at once; each takes its connections in turn.
const ASKING: u64 = 100;
/// Each connection looks up keys of its own.
const APART: u64 = 104_729;

pub async fn print(sides: &Sides, amounts: &Amounts, goals: &mut Goals) {
    let mut rates = Vec::new();
    let columns = ["connections", "direct/s", "p50", "p99", "governed, pgwire/s", "of direct", "p50", "p99"];
    figures::table("A row by its key, many connections at once", &columns);
    for connections in CONNECTIONS {
        let (mut direct, mut governed) = (Figures::default(), Figures::default());
        let mut clients = clients(sides, connections).await;
        // The first turn of each fills caches.
        for turn in 0..=amounts.rounds {
            let straight = alone(sides, amounts, connections);
            let (through, back) = through(clients, amounts).await;
            clients = back;
            if turn > 0 {
                direct.all(straight);
                governed.all(through);
            }
        }
        told(connections, amounts, &direct, &governed);
        let [of_direct, of_governed] = [&direct, &governed].map(|figures| figures.count() as u64).map(figures::real);
        if (2..=ASKING).contains(&connections) {
            let what = format!("statements a second at {connections} connections ÷ direct");
            goals.add(&what, of_governed / of_direct, Bound::AtLeast(0.6, Some(0.8)));
        }
        rates.push(of_governed);
    }
    if let [_, few, many, most] = rates.as_slice() {
        goals.add("statements a second at 100 connections ÷ at 16", many / few, Bound::AtLeast(1.0, None));
        goals.add("the same at 990 connections, 100 of which ask, ÷ at 100", most / many, Bound::AtLeast(0.9, None));
    }
}

fn told(connections: u64, amounts: &Amounts, direct: &Figures, governed: &Figures) {
    let turns = u32::try_from(amounts.rounds).unwrap();
    let rate = |figures: &Figures| figures::per_second(figures.count() as u64, amounts.turn * turns);
    let ends = |figures: &Figures| [50, 99].map(|percent| figures::ms(figures.percentile(percent)));
    let share = rate(governed) / rate(direct) * 100.0;
    let [direct_p50, direct_p99] = ends(direct);
    let [p50, p99] = ends(governed);
    figures::row(&[
        connections.to_string(),
        format!("{:.0}", rate(direct)),
        direct_p50,
        direct_p99,
        format!("{:.0}", rate(governed)),
        format!("{share:.0} %"),
        p50,
        p99,
    ]);
}

/// A connection of the library for each that asks, on a thread of its own. What ends after the turn does not count.
fn alone(sides: &Sides, amounts: &Amounts, connections: u64) -> Figures {
    let opened: Vec<_> = (0..connections.min(ASKING)).map(|_| sides.direct.try_clone().unwrap()).collect();
    let until = Instant::now() + amounts.turn;
    std::thread::scope(|scope| {
        let running: Vec<_> = opened
            .into_iter()
            .zip(0..)
            .map(|(connection, number)| {
                scope.spawn(move || {
                    let mut figures = Figures::default();
                    for round in number * APART.. {
                        let began = Instant::now();
                        assert_eq!(ways::direct(&connection, &point(amounts.points, round)), 1);
                        if Instant::now() > until {
                            break;
                        }
                        figures.add(began.elapsed());
                    }
                    figures
                })
            })
            .collect();
        let mut figures = Figures::default();
        for each in running {
            figures.all(each.join().unwrap());
        }
        figures
    })
}

async fn clients(sides: &Sides, connections: u64) -> Vec<tokio_postgres::Client> {
    let mut clients = Vec::new();
    for _ in 0..connections {
        clients.push(sides.world.psql(&sides.world.key).await.unwrap());
    }
    clients
}

/// The same through the wire, a session for each or some for each that asks; the sessions come back.
async fn through(clients: Vec<tokio_postgres::Client>, amounts: &Amounts) -> (Figures, Vec<tokio_postgres::Client>) {
    let until = Instant::now() + amounts.turn;
    let mut running = JoinSet::new();
    let each = clients.len().div_ceil(usize::try_from(ASKING).unwrap());
    let mut left = clients.into_iter();
    let groups = std::iter::from_fn(|| {
        let group: Vec<_> = left.by_ref().take(each).collect();
        (!group.is_empty()).then_some(group)
    });
    for (group, number) in groups.zip(0..) {
        let points = amounts.points;
        running.spawn(async move {
            let mut figures = Figures::default();
            for (client, round) in group.iter().cycle().zip(number * APART..) {
                let began = Instant::now();
                assert_eq!(ways::binary(client, &point(points, round)).await, 1);
                if Instant::now() > until {
                    break;
                }
                figures.add(began.elapsed());
            }
            (figures, group)
        });
    }
    let (mut figures, mut back) = (Figures::default(), Vec::new());
    for (of_group, group) in running.join_all().await {
        figures.all(of_group);
        back.extend(group);
    }
    (figures, back)
}
