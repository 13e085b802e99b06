//! Which module of the control plane writes which table: one alone.

use std::collections::{BTreeMap, BTreeSet};

use super::allowed::only_shrinks;
use super::code::Crate;

const FOLDERS: [&str; 2] = ["controlplane/src", "controlplane/platform/src"];
const LAYERS: [&str; 2] = ["server", "domain"];

/// The tables of the schema, in small letters.
fn tables() -> BTreeSet<String> {
    let files = std::fs::read_dir("../controlplane/migrations").unwrap();
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap().to_lowercase());
    let made = |text: String| {
        let words: Vec<_> =
            text.split_whitespace().filter(|word| !["if", "not", "exists", "unlogged"].contains(word)).collect();
        let tables = words.windows(3).filter(|words| words[0] == "create" && words[1] == "table");
        tables.map(|words| name(words[2])).collect::<Vec<_>>()
    };
    texts.flat_map(made).collect()
}

/// The name at the start of a word.
fn name(word: &str) -> String {
    word.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '.').collect()
}

/// The words behind which a statement names the table that it changes.
fn written(statement: &str) -> Vec<String> {
    let text = statement.to_lowercase();
    let words: Vec<_> =
        text.split(|c: char| c.is_whitespace() || c == '"' || c == '(').filter(|word| !word.is_empty()).collect();
    let behind = |at: usize| words.get(at).map(|word| name(word));
    let table = |(at, word): (usize, &&str)| match (*word, words.get(at + 1).copied()) {
        ("insert", Some("into")) | ("delete", Some("from")) => behind(at + 2),
        ("update", _) if words.iter().skip(at + 2).take(3).any(|word| *word == "set") => behind(at + 1),
        ("copy" | "truncate", _) => behind(at + 1),
        _ => None,
    };
    words.iter().enumerate().filter_map(table).collect()
}

/// The module that a file belongs to: the first below `src`, or below its layer; of the platform's crate, below that.
fn module(file: &str) -> String {
    let (folder, path) = file.trim_end_matches(".rs").split_once("/src/").unwrap();
    let depth = 1 + usize::from(LAYERS.iter().any(|layer| path.starts_with(&format!("{layer}/"))));
    let below = path.split('/').take(depth).collect::<Vec<_>>().join("/");
    match folder.strip_prefix("controlplane/") {
        Some(layer) => format!("{layer}/{below}"),
        None => below,
    }
}

#[test]
fn a_table_is_written_by_one_module() {
    let tables = tables();
    let mut writers = BTreeMap::<String, BTreeSet<String>>::new();
    for module_of_code in FOLDERS.iter().flat_map(|folder| Crate::read(folder).modules.into_values()) {
        for text in module_of_code.tokens.iter().filter(|token| token.starts_with('"')) {
            for table in written(text).into_iter().filter(|table| tables.contains(table)) {
                writers.entry(table).or_default().insert(module(&module_of_code.file));
            }
        }
    }
    let unwritten: Vec<_> = tables.iter().filter(|table| !writers.contains_key(*table)).collect();
    assert!(unwritten.is_empty(), "no statement that writes these tables was found: {unwritten:?}");
    let shared = writers.into_iter().filter(|(_, modules)| modules.len() > 1);
    let lines =
        shared.flat_map(|(table, modules)| modules.into_iter().map(move |module| (format!("{table} {module}"), 1)));
    only_shrinks("shared_tables.txt", &lines.collect(), "call the module that owns the table");
}

#[test]
fn every_way_of_writing_is_seen() {
    assert_eq!(written("with a as (DELETE FROM x) insert into y(id) values (1)"), ["x", "y"]);
    assert_eq!(written("select 1 from z for update of z; update w as v set a = 1"), ["w"]);
}
