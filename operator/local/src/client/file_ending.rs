//! The ending of a file's name: it says how the file is written, unless an option does.

use std::path::Path;

use super::Failure;

/// Behind the last dot of the name, in lower case; empty where there is none.
pub(super) fn ending(file: &Path) -> String {
    file.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// The failure of a file whose ending is none of these formats.
pub(super) fn unsaid(file: &Path, formats: &str) -> Failure {
    Failure::Usage(format!("{} does not say how it is written: say it with --format {formats}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_told_whatever_its_case() {
        for (file, told) in [("a/b.CSV", "csv"), ("a.b.parquet", "parquet"), ("a", ""), ("-", ""), (".csv", "")] {
            assert_eq!(ending(Path::new(file)), told, "{file}");
        }
    }
}
