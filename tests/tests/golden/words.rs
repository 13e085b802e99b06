//! Private words that the glossary of CONTRIBUTING.md says are gone from names.

use std::collections::BTreeSet;

use super::layers::CRATES;
use super::tokens::is_word;

/// The words in bold of the glossary's first column.
fn gone() -> BTreeSet<String> {
    let text = std::fs::read_to_string("../CONTRIBUTING.md").unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| **"));
    rows.filter_map(|row| row.split_once("**")).map(|(word, _)| word.to_owned()).collect()
}

/// The words of a name, in lower case: of `has_twins` and of `HasTwins` the same.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            parts.push(String::new());
        }
        if letter != '_' {
            parts.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    parts
}

#[test]
fn words_of_the_glossary_are_gone_from_names() {
    let gone = gone();
    assert!(gone.len() > 10, "the glossary has another form: {gone:?}");
    let mut found = BTreeSet::new();
    for module in CRATES.iter().flat_map(|layers| layers.code().modules.into_values()) {
        for name in module.tokens.iter().filter(|token| is_word(token)) {
            let is_gone = |part: &String| gone.contains(part);
            if parts(name).iter().any(is_gone) || gone.contains(&name.to_lowercase()) {
                found.insert(format!("{}: {name}", module.file));
            }
        }
    }
    assert!(found.is_empty(), "use the word that CONTRIBUTING.md has for it: {found:#?}");
}

#[test]
fn a_name_is_read_in_its_words() {
    assert_eq!(parts("has_twins"), ["has", "twins"]);
    assert_eq!(parts("HasTwins"), ["", "has", "twins"]);
}
