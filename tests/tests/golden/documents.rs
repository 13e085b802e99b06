//! The documents of the repository: bounded in length, and naming only what exists.

use std::path::Path;

/// The root of the repository.
const ROOT: &str = "..";
const LINES_OF_ARCHITECTURE: usize = 200;
const WORDS_OF_ARCHITECTURE: usize = 2_200;
const WORDS_OF_A_SENTENCE: usize = 35;
const WORDS_OF_A_CELL: usize = 40;
/// The extensions by which a name is known as that of a file.
const EXTENSIONS: [&str; 12] = ["json", "jsonl", "md", "proto", "py", "rs", "sql", "toml", "ts", "tsx", "txt", "yaml"];

/// One document.
struct Document {
    /// From the root of the repository.
    path: String,
    /// Without fenced code.
    text: String,
}

impl Document {
    fn read(path: &str) -> Self {
        let text = std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap();
        Self { path: path.to_owned(), text: without_code(&text) }
    }

    /// Sentences and cells that have too many words.
    fn too_long(&self) -> Vec<String> {
        let texts = self.text.lines().filter(|line| line.starts_with('|')).flat_map(|row| row.split('|'));
        let cells: Vec<String> = texts.map(str::to_owned).collect();
        let long = cells.iter().filter(|cell| words(cell) > WORDS_OF_A_CELL).cloned();
        let sentences = paragraphs(&self.text).into_iter().chain(cells.clone()).flat_map(|text| sentences(&text));
        let long = long.chain(sentences.filter(|sentence| words(sentence) > WORDS_OF_A_SENTENCE));
        long.map(|text| format!("{}: {text}", self.path)).collect()
    }

    /// Names of files, folders and tests that are not there.
    fn missing(&self) -> Vec<String> {
        let folder = Path::new(ROOT).join(&self.path).parent().unwrap().to_owned();
        let names = self.text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        let names = names.filter(|name| {
            let (file, function) = name.split_once("::").unwrap_or((*name, ""));
            let is_there = |folder: &Path| has(&folder.join(file), function);
            is_of_a_file(file) && !is_there(Path::new(ROOT)) && !is_there(&folder)
        });
        let links = self.text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        let links = links.filter(|target| {
            let file = target.split('#').next().unwrap();
            !target.contains("://") && !file.is_empty() && !folder.join(file).exists()
        });
        names.chain(links).map(|name| format!("{}: {name}", self.path)).collect()
    }
}

/// The documents whose words are counted, and the changelog.
fn documents() -> Vec<Document> {
    let mut paths: Vec<String> =
        ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "dataplane/sql/GOVERNANCE.md"]
            .map(str::to_owned)
            .into();
    for folder in ["docs", "docs/decisions"] {
        let files = std::fs::read_dir(Path::new(ROOT).join(folder)).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let pages = names.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "md"));
        paths.extend(pages.map(|name| format!("{folder}/{name}")));
    }
    paths.sort();
    paths.iter().map(|path| Document::read(path)).collect()
}

fn without_code(text: &str) -> String {
    let mut is_code = false;
    let mut kept = String::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence {
            kept.push_str(line);
        }
        kept.push('\n');
    }
    kept
}

/// Paragraphs, headings and items of lists, each on one line. Tables are left out.
fn paragraphs(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in text.lines().filter(|line| !line.starts_with('|')) {
        let line = line.trim();
        let is_item = ["#", "- ", "* "].into_iter().any(|sign| line.starts_with(sign))
            || line.split_once(". ").is_some_and(|(number, _)| number.chars().all(|c| c.is_ascii_digit()));
        if line.is_empty() || is_item {
            found.push(String::new());
        }
        if let Some(last) = found.last_mut() {
            *last = format!("{last} {line}");
        }
    }
    found
}

fn sentences(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(last) = found.last_mut() {
            *last = format!("{last} {word}");
        }
        if word.trim_end_matches([')', '*', '"']).ends_with(['.', '?', '!']) {
            found.push(String::new());
        }
    }
    found
}

/// How many words there are; signs alone are none.
fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// Whether a name in backticks looks like that of a file or folder of the repository.
fn is_of_a_file(name: &str) -> bool {
    let is_relative = !name.starts_with(['/', '.']);
    let is_plain = is_relative && name.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let is_below = |(first, _): (&str, &str)| Path::new(ROOT).join(first).is_dir();
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    let has_extension = extension.is_some_and(|extension| EXTENSIONS.contains(&extension));
    is_plain && (has_extension || name.split_once('/').is_some_and(is_below))
}

/// Whether there is such a file, and in it a function of this name, if one is given.
fn has(file: &Path, function: &str) -> bool {
    if function.is_empty() {
        return file.exists();
    }
    let text = std::fs::read_to_string(file).unwrap_or_default();
    ["fn", "def"].into_iter().any(|word| text.contains(&format!("{word} {function}(")))
}

#[test]
fn architecture_is_short() {
    let text = std::fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md")).unwrap();
    let (lines, words) = (text.lines().count(), text.split_whitespace().count());
    assert!(lines <= LINES_OF_ARCHITECTURE, "{lines} lines");
    assert!(words <= WORDS_OF_ARCHITECTURE, "{words} words");
}

#[test]
fn sentences_and_cells_of_documents_are_short() {
    let long: Vec<_> = documents().iter().flat_map(Document::too_long).collect();
    assert!(long.is_empty(), "make two of one:\n{}", long.join("\n"));
}

#[test]
fn documents_name_only_what_exists() {
    let missing: Vec<_> = documents().iter().flat_map(Document::missing).collect();
    assert!(missing.is_empty(), "these are not there:\n{}", missing.join("\n"));
}

#[test]
fn decisions_are_listed_and_have_three_parts() {
    let documents = documents();
    let decisions: Vec<_> = documents.iter().filter(|document| document.path.starts_with("docs/decisions/")).collect();
    assert!(decisions.len() > 20, "{} decisions", decisions.len());
    let list = Document::read("docs/decisions.md").text;
    for (at, decision) in decisions.iter().enumerate() {
        let number = format!("docs/decisions/{:04}-", at + 1);
        assert!(decision.path.starts_with(&number), "{} should begin with {number}", decision.path);
        let link = decision.path.trim_start_matches("docs/");
        assert!(list.contains(&format!("]({link})")), "docs/decisions.md does not list {link}");
        for part in ["\n## Context\n", "\n## Decision\n", "\n## Consequence\n"] {
            assert!(decision.text.contains(part), "{} has no part {}", decision.path, part.trim());
        }
    }
}

#[test]
fn a_document_is_judged_by_its_words_and_names() {
    let long = ["word"; 41].join(" ");
    let text =
        format!("One. {long}.\n\n| {long} |\n\n`tests/nowhere` `a.rs` `/v1/x` [a](nowhere.md) `documents.rs::has`\n");
    let document = Document { path: "tests/tests/golden/x.md".to_owned(), text };
    assert_eq!(document.too_long().len(), 3, "a cell, its sentence, and a sentence");
    let missing = document.missing();
    assert_eq!(missing.len(), 3, "{missing:?}");
    assert_eq!(without_code("a\n```\nb\n```\nc\n"), "a\n\n\n\nc\n");
}
