//! Golden files: what is derived is generated, committed and compared.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// `tests/golden/`, from the folder of the package, where cargo runs its tests.
pub fn folder() -> PathBuf {
    PathBuf::from("golden")
}

/// Text of a golden file.
pub fn read(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether this run writes the golden files instead of comparing them.
pub fn is_updated() -> bool {
    std::env::var("UPDATE_GOLDEN").is_ok()
}

/// The committed file must be what the code prints. `UPDATE_GOLDEN=1` writes it instead.
pub fn compare(name: &str, printed: &str) {
    let path = folder().join(name);
    if is_updated() {
        std::fs::write(&path, printed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == printed,
        "{} is not what the code prints: run UPDATE_GOLDEN=1 cargo golden and look at the difference",
        path.display()
    );
}

/// Names of all golden files.
pub fn names() -> BTreeSet<String> {
    std::fs::read_dir(folder())
        .unwrap_or_else(|error| panic!("{}: {error}", folder().display()))
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{}: {error}", folder().display()))
}
