//! Sources that a checkout can share builds of, and targets that hide no test.

use std::path::{Component, Path, PathBuf};

use cargo_metadata::{MetadataCommand, Package, TargetKind};

fn packages() -> Vec<Package> {
    let metadata = MetadataCommand::new()
        .manifest_path("../Cargo.toml")
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .unwrap();
    metadata.packages
}

fn folder(package: &Package) -> &Path {
    package.manifest_path.parent().unwrap().as_std_path()
}

/// The sources below a folder, those of packages in it left out.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        } else if path.is_dir() && !path.ends_with("node_modules") && !path.join("Cargo.toml").exists() {
            sources(&path, found);
        }
    }
}

fn sources_of(package: &Package) -> Vec<PathBuf> {
    let mut found = Vec::new();
    sources(folder(package), &mut found);
    found
}

/// The path without `..`, though nothing is there.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The literals that name a file which a source is compiled with.
fn included(text: &str) -> impl Iterator<Item = &str> {
    let calls = ["include_str!(\"", "include_bytes!(\"", "#[path = \""].into_iter();
    calls.flat_map(move |call| text.split(call).skip(1)).filter_map(|rest| rest.split('"').next())
}

/// cargo takes what was built in another checkout for fresh, so nothing that is compiled may name the checkout.
#[test]
fn sources_name_no_checkout() {
    let folder_of_package = concat!("env!(\"CARGO_MANI", "FEST_DIR\")");
    for package in packages() {
        for source in sources_of(&package) {
            let text = std::fs::read_to_string(&source).unwrap();
            let at = source.display();
            assert!(!text.contains(folder_of_package), "{at}: a path from the package's folder is meant");
            for path in included(&text) {
                let path = plain(&source.parent().unwrap().join(path));
                assert!(path.starts_with(folder(&package)), "{at}: {} is another package's", path.display());
            }
        }
    }
}

/// The rules that make it sound are written there.
#[test]
fn code_that_nothing_checks_stands_in_one_file() {
    let begins = ["{", "fn ", "impl ", "extern "].map(|behind| format!("{} {behind}", concat!("uns", "afe")));
    for source in packages().iter().flat_map(sources_of).filter(|source| !source.ends_with("engine/src/ffi.rs")) {
        let text = std::fs::read_to_string(&source).unwrap();
        let found = begins.iter().find(|begin| text.contains(begin.as_str()));
        assert!(found.is_none(), "{}: {found:?}", source.display());
    }
}

/// Hashes that cost next to nothing guard nothing: no program may make them.
#[test]
fn the_cost_of_hashes_in_tests_is_named_by_worlds_of_tests_alone() {
    const WORLDS: [&str; 4] = [
        "controlplane/contract/src/key.rs", // says what it is
        "controlplane/src/testing.rs",
        "controlplane/src/tests.rs",
        "dataplane/src/testing.rs",
    ];
    let cheap = concat!("HashCost::", "TESTS");
    for source in packages().iter().flat_map(sources_of) {
        let names_it = std::fs::read_to_string(&source).unwrap().contains(cheap);
        let is_world = WORLDS.iter().any(|world| source.ends_with(world));
        assert!(is_world || !names_it, "{}: a hash made here must cost its guesser", source.display());
    }
}

#[test]
fn targets_without_a_harness_have_no_tests() {
    for target in packages().iter().flat_map(|package| &package.targets).filter(|target| !target.test) {
        let file = target.src_path.as_std_path();
        let mut files = vec![file.to_owned()];
        if target.kind.contains(&TargetKind::Lib) {
            sources(file.parent().unwrap(), &mut files);
        }
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(!text.contains("#[test]") && !text.contains("::test]"), "{} is run by nobody", file.display());
        }
    }
}
