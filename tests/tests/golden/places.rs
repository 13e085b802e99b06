//! The table "Where to change what" of CONTRIBUTING.md: each file has its symbol.

use std::path::Path;

use super::tokens::is_word;

/// The words before a name where it is defined.
const DEFINITIONS: [&str; 8] = ["fn", "struct", "enum", "const", "static", "trait", "mod", "macro_rules!"];

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    change: String,
    file: String,
    /// None: a row of the file is the change.
    symbol: Option<String>,
}

/// The rows below the heading, up to the next one.
fn places(document: &str) -> Vec<Place> {
    let part = document.split("\n## ").find(|part| part.starts_with("Where to change what\n")).unwrap_or_default();
    let rows = part.lines().filter(|line| line.starts_with("| ")).skip(1);
    let cells = rows.map(|row| row.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect::<Vec<_>>());
    let place = |cells: Vec<String>| match cells.as_slice() {
        [_, change, file, symbol, rest, _] if !rest.is_empty() => {
            let symbol = Some(symbol.clone()).filter(|symbol| !symbol.is_empty());
            Place { change: change.clone(), file: file.clone(), symbol }
        }
        other => panic!("a row has four cells: {other:?}"),
    };
    cells.map(place).collect()
}

/// What is wrong with a row, given the text of its file.
fn fault(place: &Place, text: Option<&str>) -> Option<String> {
    let Place { change, file, symbol } = place;
    let Some(text) = text else { return Some(format!("{change}: there is no {file}")) };
    match symbol {
        None if Path::new(file).extension().is_some_and(|extension| extension == "txt") => None,
        None => Some(format!("{change}: {file} is code, and the row names no symbol")),
        Some(symbol) if defines(text, symbol) => None,
        Some(symbol) => Some(format!("{change}: {file} does not define {symbol}")),
    }
}

/// Whether a text of Rust defines this name, itself or by a macro that a table of it is given to.
fn defines(text: &str, symbol: &str) -> bool {
    let is_whole = |rest: &str| !rest.chars().next().is_some_and(|next| next.is_alphanumeric() || next == '_');
    let follows = |before: &str| text.split(before).skip(1).any(is_whole);
    let is_defined = DEFINITIONS.iter().any(|word| follows(&format!("{word} {symbol}")));
    is_word(symbol) && (is_defined || is_given(text, symbol))
}

/// Whether the first word in the braces or parentheses of a macro's call is the name.
fn is_given(text: &str, symbol: &str) -> bool {
    let calls = text.split("!(").skip(1);
    let lines = |call: &str| call.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    calls.map(lines).any(|lines| {
        let line = lines.iter().find(|line| !line.is_empty() && !line.starts_with("//"));
        line.is_some_and(|line| line.split(',').next() == Some(symbol))
    })
}

#[test]
fn each_place_of_the_table_exists() {
    let places = places(&std::fs::read_to_string("../CONTRIBUTING.md").unwrap());
    assert!(places.len() >= 14, "the table has another form: {places:#?}");
    let text = |place: &Place| std::fs::read_to_string(Path::new("..").join(&place.file)).ok();
    let faults: Vec<_> = places.iter().filter_map(|place| fault(place, text(place).as_deref())).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_place_without_its_file_or_symbol_is_told() {
    let document = "# A\n\n## Where to change what\n\n| Change | File | Symbol | Held |\n|---|---|---|---|\n\
        | one | `a.rs` | `ALL` | x |\n| row | `a.txt` | | x |\n\n## B\n\n| other | `b.rs` | `B` | x |\n";
    let [one, row] = places(document).try_into().unwrap();
    assert_eq!((one.symbol.as_deref(), row.symbol.as_deref()), (Some("ALL"), None));
    assert_eq!(fault(&one, Some("pub const ALL: [u8; 1] = [0];")), None);
    assert_eq!(fault(&one, Some("words!(\n    /// Doc.\n    ALL, \"all\", {}\n);")), None);
    for text in [None, Some("const ALL_OF_IT: u8 = 0;"), Some("let x = ALL;")] {
        assert!(fault(&one, text).is_some(), "{text:?}");
    }
    assert_eq!((fault(&row, Some("")), fault(&row, None).is_some()), (None, true));
    assert!(fault(&Place { symbol: None, ..one }, Some("")).is_some(), "code without a symbol");
}
