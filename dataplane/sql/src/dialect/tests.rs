//! The corpus: `corpus/<construct>/<case>.sql` in the warehouse's dialect, `<case>.expected` beside it with
//! one line of engine SQL, or the refusal, for each statement. `UPDATE_EXPECT=1` writes what came out.

use std::fs;
use std::path::{Path, PathBuf};

use crate::types::{Known, Type};

/// Written by hand and checked elsewhere: whole queries, not constructs.
const OTHERS: [&str; 1] = ["tpch"];

/// The tables of the corpus, as `corpus/setup.sql` makes them.
fn world() -> Known {
    let mut known = Known::default();
    let tables = [
        ("t", "id INTEGER, a INTEGER, b INTEGER, name VARCHAR, d DATE, ts TIMESTAMP, amt DECIMAL(10,2), g VARCHAR"),
        ("v", "id INTEGER, src JSON"),
        ("m", "id INTEGER, val VARCHAR"),
        ("sales", "emp VARCHAR, q VARCHAR, amount INTEGER"),
        ("wide", "id INTEGER, jan INTEGER, feb INTEGER"),
    ];
    for (table, columns) in tables {
        for column in columns.split(", ") {
            let (name, type_name) = column.split_once(' ').unwrap();
            known.add(table, name, Type::of_name(type_name));
        }
    }
    known
}

fn engine(sql: &str) -> String {
    sql.split(";\n").filter(|one| !one.trim().is_empty()).map(one).collect()
}

fn one(sql: &str) -> String {
    let done = crate::parse::parse(sql).and_then(|statement| {
        let mut tree = statement.into_admitted()?;
        super::to_engine(&mut tree, &world())?;
        crate::print::engine(&tree, &[], false)
    });
    done.map_or_else(|error| format!("error: {error}\n"), |printed| format!("{};\n", printed.sql))
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn every_case_of_the_corpus_becomes_the_engine_sql_beside_it() {
    let mut wrong = Vec::new();
    for directory in entries(&corpus()).into_iter().filter(|path| path.is_dir()) {
        if OTHERS.iter().any(|other| directory.ends_with(other)) {
            continue;
        }
        for case in entries(&directory).into_iter().filter(|path| path.extension().is_some_and(|e| e == "sql")) {
            let found = engine(&fs::read_to_string(&case).unwrap());
            let expected = case.with_extension("expected");
            if std::env::var_os("UPDATE_EXPECT").is_some() {
                fs::write(&expected, found).unwrap();
            } else if fs::read_to_string(&expected).unwrap_or_default() != found {
                wrong.push(format!("{}\n{found}", case.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "UPDATE_EXPECT=1 writes these:\n{}", wrong.join("\n"));
}

#[test]
fn every_file_of_the_corpus_belongs_to_a_case() {
    for directory in entries(&corpus()).into_iter().filter(|path| path.is_dir()) {
        if OTHERS.iter().any(|other| directory.ends_with(other)) {
            continue;
        }
        for file in entries(&directory) {
            let other = if file.extension().is_some_and(|e| e == "sql") { "expected" } else { "sql" };
            assert!(file.with_extension(other).exists(), "{} stands alone", file.display());
        }
    }
}

#[test]
fn a_rewrite_that_repeats_its_arguments_is_bounded() {
    let nested = (0..24).fold("a".to_owned(), |inner, _| format!("div0({inner}, {inner})"));
    assert!(engine(&format!("SELECT {nested} FROM t")).starts_with("error: "));
}
