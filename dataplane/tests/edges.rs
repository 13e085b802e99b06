//! Answers of the dialect's functions at their edges, on a real engine: `edges.txt`, one call a line.

use std::collections::BTreeSet;

use futures::future::join_all;
use futures::{StreamExt, stream};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use crate::pgwire::{Wired, wired};

const ROWS: &str = include_str!("edges.txt");
const DIALECT: &str = include_str!("../sql/DIALECT.md");

/// One line of the file.
struct Row<'a> {
    function: &'a str,
    call: &'a str,
    value: &'a str,
    /// `documented`, `undocumented` or `differs: <why>`.
    origin: &'a str,
}

impl<'a> Row<'a> {
    /// Nothing for a comment and an empty line.
    fn read(line: &'a str) -> Option<Self> {
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let cells: Vec<&str> = line.split(" | ").collect();
        let [function, call, value, origin] = cells[..] else { panic!("not four cells: {line}") };
        let is_known = matches!(origin, "documented" | "undocumented") || origin.starts_with("differs: ");
        assert!(is_known, "of no origin: {line}");
        Some(Self { function, call, value, origin })
    }

    fn statement(&self) -> String {
        if self.call.starts_with("select ") { self.call.to_owned() } else { format!("select {}", self.call) }
    }
}

fn rows() -> Vec<Row<'static>> {
    ROWS.lines().filter_map(Row::read).collect()
}

/// The names that the dialect's page lists.
fn functions() -> BTreeSet<&'static str> {
    let listed = DIALECT.split("\n## Functions\n").nth(1).unwrap().split("\n## ").next().unwrap();
    listed.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_function_of_the_dialect_has_rows_that_call_it() {
    let (rows, functions) = (rows(), functions());
    let named: BTreeSet<&str> = rows.iter().map(|row| row.function).collect();
    let without: Vec<_> = functions.difference(&named).collect();
    assert!(without.is_empty(), "without a row: {without:?}");
    let unknown: Vec<_> = named.difference(&functions).collect();
    assert!(unknown.is_empty(), "rows of what is no function: {unknown:?}");
    let mut calls = BTreeSet::new();
    for row in &rows {
        assert!(row.call.to_ascii_uppercase().contains(row.function), "not a call of {}: {}", row.function, row.call);
        assert!(calls.insert(row.call), "it stands twice: {}", row.call);
    }
}

/// Cells of one row; an empty text as `''`.
fn cells(row: &SimpleQueryRow) -> String {
    let cell = |at| match row.get(at) {
        None => "NULL".to_owned(),
        Some("") => "''".to_owned(),
        Some(text) => text.replace('\n', "\\n"),
    };
    (0..row.len()).map(cell).collect::<Vec<_>>().join(", ")
}

async fn answer(client: &Client, sql: &str) -> String {
    let messages = match client.simple_query(sql).await {
        Ok(messages) => messages,
        Err(error) => return format!("error {}", error.code().map_or("without a code", SqlState::code)),
    };
    let rows: Vec<String> = messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(cells(row)),
            _ => None,
        })
        .collect();
    if rows.is_empty() { "no rows".to_owned() } else { rows.join(" / ") }
}

/// What the rows answer, in their order, over several sessions at once.
async fn answers(wired: &Wired, rows: &[Row<'_>]) -> Vec<String> {
    const SESSIONS: usize = 4;
    let clients = join_all((0..SESSIONS).map(|_| wired.owner())).await;
    let turns = rows.iter().zip(clients.iter().cycle());
    let asked = turns.map(|(row, client)| async move { answer(client, &row.statement()).await });
    stream::iter(asked).buffered(SESSIONS).collect().await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_edge_of_the_file_has_its_value() {
    let wired = wired().await;
    let rows = rows();
    let answers = answers(&wired, &rows).await;
    let is_updated = std::env::var_os("UPDATE_GOLDEN").is_some();
    let (mut wrong, mut lines, mut read) = (Vec::new(), Vec::new(), rows.iter().zip(&answers));
    for line in ROWS.lines() {
        let next = if Row::read(line).is_some() { read.next() } else { None };
        match next {
            Some((Row { function, call, origin: "undocumented", .. }, got)) if is_updated => {
                lines.push(format!("{function} | {call} | {got} | undocumented"));
            }
            Some((row, got)) if row.value != got => {
                wrong.push(format!("{line} | got {got}"));
                lines.push(line.to_owned());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    if is_updated {
        std::fs::write("tests/edges.txt", lines.join("\n") + "\n").unwrap();
    }
    assert!(wrong.is_empty(), "{} of {} differ\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    wired.stop().await;
}
