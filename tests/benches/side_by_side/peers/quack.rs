//! DuckDB's own server over HTTP, Quack: many rows from it, and the same from the platform.

use std::path::Path;
use std::time::Instant;

use contract::Entropy;

use super::bouncer::free_port;
use super::left_out;
use crate::amounts::Amounts;
use crate::figures::{self, Figures};
use crate::sides::{Caller, Sides};
use crate::ways;

/// What is loaded on both sides, in this order: its client sends by the second.
const EXTENSIONS: [&str; 2] = ["httpfs", "quack"];

const WAYS: [&str; 4] = ["direct", "Quack", "Sluice: Flight SQL", "Sluice: wire, binary"];

pub async fn print(sides: &Sides, amounts: &Amounts) {
    let folder = std::env::var("SLUICE_EXTENSIONS").unwrap_or_default();
    let places = EXTENSIONS.map(|name| Path::new(&folder).join(format!("{name}.duckdb_extension")));
    if let Some(missing) = places.iter().find(|place| !place.is_file()) {
        left_out(&format!("DuckDB's extension {}", missing.display()));
        return;
    }
    let client = duckdb::Connection::open_in_memory().unwrap();
    for place in &places {
        let load = format!("load '{}'", place.display());
        client.execute_batch(&load).unwrap();
        sides.direct.execute_batch(&load).unwrap();
    }
    let (uri, token) = (format!("quack:localhost:{}", free_port()), Entropy::system().unwrap().base62(32));
    sides.direct.execute_batch(&format!("call quack_serve('{uri}', token := '{token}')")).unwrap();
    let sql = "select id, name, amount from wide";
    let through = format!("from quack_query('{uri}', '{sql}', token := '{token}')");
    let mut measured: [Figures; WAYS.len()] = Default::default();
    for round in 0..=amounts.rounds {
        for (way, figures) in measured.iter_mut().enumerate() {
            let began = Instant::now();
            let count = match way {
                0 => ways::direct(&sides.direct, sql),
                1 => ways::direct(&client, &through),
                2 => ways::flight(&sides.flight, sql).await,
                _ => ways::binary(sides.pgwire(Caller::Owner), sql).await,
            };
            let took = began.elapsed();
            assert_eq!(count, amounts.wide, "{way}");
            if round > 0 {
                figures.add(took);
            }
        }
    }
    sides.direct.execute_batch(&format!("call quack_stop('{uri}')")).unwrap();
    told(amounts, &measured);
}

fn told(amounts: &Amounts, measured: &[Figures; WAYS.len()]) {
    let title = format!("{} rows of 3 columns from DuckDB's own server, and from the platform", amounts.wide);
    figures::table(&title, &["way", "median", "M rows/s"]);
    for (name, figures) in WAYS.iter().zip(measured) {
        let rate = figures::per_second(amounts.wide, figures.median()) / 1e6;
        figures::row(&[(*name).to_owned(), figures::ms(figures.median()), format!("{rate:.2}")]);
    }
}
