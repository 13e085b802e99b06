//! The modules of a crate as tests of structure read them: what each imports, without its tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::tokens::{is_word, tokens, without_tests};

/// The path of a module below its crate; empty for the root.
pub type Name = Vec<String>;

/// One module of a crate.
#[derive(Debug)]
pub struct Module {
    /// Its file, from the root of the repository.
    pub file: String,
    /// Words, signs and literals in their order. A string literal starts with its quote.
    pub tokens: Vec<String>,
    /// Paths of its `use` items, from the root of the crate, by the name they bring.
    imports: BTreeMap<String, Name>,
    /// Paths it names otherwise than by re-exporting them.
    paths: Vec<Name>,
}

/// The modules of one crate that are compiled into the product.
#[derive(Debug)]
pub struct Crate {
    pub modules: BTreeMap<Name, Module>,
}

impl Crate {
    /// Reads the crate whose root is `<folder>/lib.rs`; the folder counts from the root of the repository.
    pub fn read(folder: &str) -> Self {
        let mut modules = BTreeMap::new();
        read(folder, &format!("{folder}/lib.rs"), Name::new(), &mut modules);
        let names: BTreeSet<Name> = modules.keys().cloned().collect();
        for (name, module) in &mut modules {
            find_paths(name, module, &names);
        }
        Self { modules }
    }

    /// The files that each file imports, looked up through re-exports.
    pub fn imports(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let imports_of = |(name, module): (&Name, &Module)| {
            let homes = module.paths.iter().filter_map(|path| self.home(path.clone()));
            let files = homes.filter(|home| *home != name).map(|home| self.modules[home].file.as_str());
            files.collect()
        };
        self.modules.iter().map(|entry| (entry.1.file.as_str(), imports_of(entry))).collect()
    }

    /// The module in which the thing of this path is declared.
    fn home(&self, mut path: Name) -> Option<&Name> {
        for _ in 0..8 {
            let length = (0..=path.len()).rev().find(|length| self.modules.contains_key(&path[..*length]))?;
            let (home, module) = self.modules.get_key_value(&path[..length])?;
            match path.get(length).and_then(|next| module.imports.get(next)) {
                Some(real) => path = [real.as_slice(), &path[length + 1..]].concat(),
                None => return Some(home),
            }
        }
        None
    }
}

fn read(folder: &str, file: &str, name: Name, modules: &mut BTreeMap<Name, Module>) {
    let text = std::fs::read_to_string(Path::new("..").join(file)).unwrap();
    let tokens = without_tests(&tokens(&text));
    for item in tokens.windows(3).filter(|item| item[0] == "mod" && item[2] == ";") {
        let child = [name.as_slice(), &[item[1].clone()]].concat();
        read(folder, &format!("{folder}/{}.rs", child.join("/")), child, modules);
    }
    modules.insert(name, Module { file: file.to_owned(), tokens, imports: BTreeMap::new(), paths: Vec::new() });
}

/// Finds what the module imports and names, as paths from the root of the crate.
fn find_paths(name: &Name, module: &mut Module, names: &BTreeSet<Name>) {
    let tokens = std::mem::take(&mut module.tokens);
    let (mut exported, mut mentioned) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        let before = at.checked_sub(1).map_or("", |before| tokens[before].as_str());
        if tokens[at] == "use" && tokens[at + 1] != "<" {
            let is_exported = before == "pub" || before == ")";
            at = tree(&tokens, at + 1, Vec::new(), if is_exported { &mut exported } else { &mut mentioned });
        } else {
            let path = straight(&tokens[at..]);
            at += (2 * path.len()).saturating_sub(1).max(1);
            if path.len() > 1 && before != "::" {
                mentioned.push((path, String::new()));
            }
        }
    }
    let imports: Vec<_> = exported.iter().chain(&mentioned).filter(|(_, local)| !local.is_empty()).cloned().collect();
    for (path, local) in imports {
        if let Some(path) = absolute(name, &path, names, &BTreeMap::new()) {
            module.imports.insert(local, path);
        }
    }
    module.paths = mentioned.iter().filter_map(|(path, _)| absolute(name, path, names, &module.imports)).collect();
    module.tokens = tokens;
}

/// The words that `::` joins, from the start of these tokens on.
fn straight(tokens: &[String]) -> Name {
    let mut path = Name::new();
    for pair in tokens.chunks(2).take_while(|pair| is_word(&pair[0])) {
        path.push(pair[0].clone());
        if pair.get(1).is_none_or(|sign| sign != "::") {
            break;
        }
    }
    path
}

/// Collects the leaves of a `use` tree with the names they bring, and returns the place behind it.
fn tree(tokens: &[String], mut at: usize, mut path: Name, found: &mut Vec<(Name, String)>) -> usize {
    loop {
        match tokens[at].as_str() {
            "{" => {
                at += 1;
                while tokens[at] != "}" {
                    at = tree(tokens, at, path.clone(), found);
                    at += usize::from(tokens[at] == ",");
                }
                return at + 1;
            }
            "::" => at += 1,
            "self" if !path.is_empty() => at += 1,
            word if is_word(word) && word != "as" => {
                path.push(word.to_owned());
                at += 1;
            }
            sign => {
                let is_named = sign == "as";
                at += usize::from(sign == "*") + 2 * usize::from(is_named);
                let local = if is_named { tokens[at - 1].clone() } else { path.last().cloned().unwrap_or_default() };
                found.push((path, if sign == "*" { String::new() } else { local }));
                return at;
            }
        }
    }
}

/// The path from the root of the crate; `None` if it leads to another crate.
fn absolute(module: &Name, path: &[String], names: &BTreeSet<Name>, imports: &BTreeMap<String, Name>) -> Option<Name> {
    let (first, rest) = path.split_first()?;
    let child = [module.as_slice(), std::slice::from_ref(first)].concat();
    let mut start = match first.as_str() {
        "crate" => Name::new(),
        "self" => module.clone(),
        "super" => module[..module.len().checked_sub(1)?].to_vec(),
        _ if names.contains(&child) => child,
        _ => imports.get(first)?.clone(),
    };
    for word in rest {
        if word == "super" {
            start.pop()?;
        } else {
            start.push(word.clone());
        }
    }
    Some(start)
}
