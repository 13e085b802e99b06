//! From text to the engine's text over the whole corpus: the median and the 99th percentile of a statement.
//!
//! "≤ 50 µs p50 and ≤ 250 µs p99 a statement." Statements that the catalog here cannot bind are left out, and
//! counted.

#![expect(clippy::print_stdout, reason = "a bench prints, that is what it is for")]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use sql::{Catalog, Column, EngineSql, Error, Rules, SessionNames, Table};

const ROUNDS: usize = 50;

/// The tables that `corpus/setup.sql` makes.
const TABLES: [(&str, &str); 5] = [
    ("t", "id INTEGER,a INTEGER,b INTEGER,name VARCHAR,d DATE,ts TIMESTAMP,amt DECIMAL(10;2),g VARCHAR"),
    ("v", "id INTEGER,src JSON"),
    ("m", "id INTEGER,val VARCHAR"),
    ("sales", "emp VARCHAR,q VARCHAR,amount INTEGER"),
    ("wide", "id INTEGER,jan INTEGER,feb INTEGER"),
];

fn catalog() -> Catalog {
    let column = |text: &str| {
        let (name, kind) = text.split_once(' ').unwrap_or((text, "VARCHAR"));
        Column::new(name, kind.replace(';', ","))
    };
    Catalog::new(TABLES.map(|(name, columns)| Table::new("main", name, columns.split(',').map(column).collect())))
}

fn statements(folder: &Path, found: &mut Vec<String>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in entries {
        if path.is_dir() {
            statements(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines = text.lines().filter(|line| !line.starts_with("--") && !line.is_empty());
            found.extend(lines.map(|line| line.trim_end_matches(';').to_owned()));
        }
    }
}

fn rewrite(text: &str, catalog: &Catalog, session: &SessionNames) -> Result<EngineSql, Error> {
    sql::transpile(sql::govern(sql::resolve(sql::parse(text)?, catalog, session)?, &Rules::default())?)
}

fn main() {
    let mut texts = Vec::new();
    statements(Path::new("corpus"), &mut texts);
    let (catalog, session) = (catalog(), SessionNames::new("demo"));
    let all = texts.len();
    texts.retain(|text| rewrite(text, &catalog, &session).is_ok());
    let mut took: Vec<Duration> = Vec::with_capacity(texts.len() * ROUNDS);
    for _ in 0..ROUNDS {
        for text in &texts {
            let began = Instant::now();
            let _ = black_box(rewrite(black_box(text), &catalog, &session));
            took.push(began.elapsed());
        }
    }
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).copied().unwrap_or_default();
    println!("{} of {all} statements, {ROUNDS} times each: p50 {:?}, p99 {:?}", texts.len(), at(50), at(99));
}
