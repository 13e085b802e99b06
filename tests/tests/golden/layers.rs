//! The layers of each crate: a module imports what is on its own layer or below, and a parent and its child each other.

use std::collections::{BTreeMap, BTreeSet};

use super::allowed::{Found, only_shrinks};
use super::code::Crate;

/// The layers of one crate.
#[derive(Debug)]
pub struct Layers {
    pub name: &'static str,
    /// The folder of `lib.rs`.
    pub folder: &'static str,
    /// Files that all import each other, at most, directly or through others. It only falls.
    largest_circle: usize,
    /// From the top: the modules of each layer with all that is below them, but for what another row names.
    layers: &'static [&'static [&'static str]],
}

pub const CRATES: &[Layers] = &[
    Layers {
        name: "controlplane",
        folder: "controlplane/src",
        largest_circle: 6,
        layers: &[&["", "server"], &["domain"]],
    },
    Layers {
        name: "platform",
        folder: "controlplane/platform/src",
        largest_circle: 4,
        layers: &[
            &["", "jobs"],
            &["context", "events", "http", "mails", "provisioner", "resources"],
            &["archive", "crypto", "database", "dataplane_client", "egress", "oidc", "slug", "snapshot_size"],
            &["config"],
            &["clouds", "dashboard", "error", "identity", "metrics", "redaction"],
        ],
    },
    Layers {
        name: "dataplane",
        folder: "dataplane/src",
        largest_circle: 8,
        layers: &[
            &["", "server"],
            &["protocols"],
            &["agents"],
            &["pipeline"],
            &["request", "metrics"],
            &["storage", "governance", "encode", "model"],
            &["error", "limits", "shutdown"],
        ],
    },
    Layers {
        name: "sql",
        folder: "dataplane/sql/src",
        largest_circle: 6,
        layers: &[
            &["", "compile"],
            &["govern"],
            &["bind"],
            &["dialect"],
            &["syntax"],
            &["print"],
            &["bind/scope", "bind/types"],
            &["scan"],
            &["catalog"],
            &["functions"],
            &["ast"],
        ],
    },
    Layers {
        name: "operator",
        folder: "operator/src",
        largest_circle: 2,
        layers: &[
            &["", "runtime", "probes", "check"],
            &["controllers"],
            &["config", "context"],
            &["stores", "authority", "control_plane"],
            &["cluster", "rbac"],
            &["objects"],
            &["model", "conditions", "time", "metrics", "error"],
        ],
    },
];

impl Layers {
    pub fn code(&self) -> Crate {
        Crate::read(self.folder)
    }

    /// The layer of a file: that of the longest module named in the table.
    fn layer(&self, file: &str) -> usize {
        let path = file.strip_prefix(self.folder).unwrap().trim_start_matches('/').trim_end_matches(".rs");
        let path = if path == "lib" { "" } else { path };
        let rows = self.layers.iter().enumerate();
        let named = rows.flat_map(|(layer, row)| row.iter().map(move |module| (module.len(), layer, *module)));
        let found = named.filter(|(_, _, module)| path == *module || is_below(path, module)).max();
        found.unwrap_or_else(|| panic!("{file} is on no layer: name its module in the table of this test")).1
    }

    /// Imports between files, those of parents and children left out.
    fn imports(&self) -> BTreeMap<String, BTreeSet<String>> {
        let code = self.code();
        let related = |one: &str, other: &str| {
            let stem = |file: &str| file.trim_end_matches(".rs").to_owned();
            let root = format!("{}/lib", self.folder);
            let (one, other) = (stem(one), stem(other));
            one == root || other == root || is_below(&one, &other) || is_below(&other, &one)
        };
        let imports = code.imports().into_iter().map(|(file, imported)| {
            let imported = imported.into_iter().filter(|other| !related(file, other)).map(str::to_owned);
            (file.to_owned(), imported.collect())
        });
        imports.collect()
    }
}

/// Whether a path is inside of a module.
fn is_below(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| !module.is_empty() && rest.starts_with('/'))
}

#[test]
fn nothing_imports_a_layer_above_its_own() {
    let mut upward = Found::new();
    for layers in CRATES {
        for (file, imported) in layers.imports() {
            let above = imported.iter().filter(|other| layers.layer(other) < layers.layer(&file));
            upward.extend(above.map(|other| (format!("{file} imports {other}"), 1)));
        }
    }
    only_shrinks("upward_imports.txt", &upward, "take what is needed as a parameter, or move it down a layer");
}

#[test]
fn no_circle_of_files_grows() {
    for layers in CRATES {
        let largest = largest_circle(&layers.imports());
        let (name, most) = (layers.name, layers.largest_circle);
        assert!(largest <= most, "{name}: {largest} files import each other, not {most}");
        assert!(
            largest == most,
            "{name}: {largest} files import each other, so lower the number in the table from {most}"
        );
    }
}

/// The size of the largest set of files each of which reaches every other one.
fn largest_circle(imports: &BTreeMap<String, BTreeSet<String>>) -> usize {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (file.as_str(), reach(imports, file))).collect();
    let circle =
        |(file, below): (&&str, &BTreeSet<&str>)| below.iter().filter(|other| reached[**other].contains(*file)).count();
    reached.iter().map(circle).max().unwrap_or(0)
}

fn reach<'a>(imports: &'a BTreeMap<String, BTreeSet<String>>, file: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = imports[file].iter().map(String::as_str).collect();
    while let Some(file) = waiting.pop() {
        if reached.insert(file) {
            waiting.extend(imports[file].iter().map(String::as_str));
        }
    }
    reached
}

#[test]
fn a_circle_is_found_through_others() {
    let of = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<BTreeSet<_>>();
    let imports = [("a", of(&["b"])), ("b", of(&["c"])), ("c", of(&["a", "d"])), ("d", of(&[]))];
    let imports = imports.into_iter().map(|(file, imported)| (file.to_owned(), imported)).collect();
    assert_eq!(largest_circle(&imports), 3);
}
