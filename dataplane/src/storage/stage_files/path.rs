//! Paths of files below a stage, as callers write them.

use contract::stage_files::PATH_BYTES_MAX;

use crate::Error;
use crate::limits::invalid;

/// On disk a part is a name of at most 255 bytes, with a sign before it.
const PART_BYTES_MAX: usize = 250;

/// The path of a file below its stage, no part of which leads elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagePath(String);

impl StagePath {
    pub fn read(text: &str) -> Result<Self, Error> {
        let refused = |why: String| Err(invalid("path", format!("the path of a file in a stage {why}")));
        if text.len() > PATH_BYTES_MAX {
            return refused(format!("has at most {PATH_BYTES_MAX} bytes"));
        }
        if text.split('/').any(|part| part.len() > PART_BYTES_MAX) {
            return refused(format!("has at most {PART_BYTES_MAX} bytes between two slashes"));
        }
        if text.chars().any(|letter| letter.is_control() || letter == '\\') {
            return refused("has no control characters and no backslash".to_owned());
        }
        if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return refused("is names with single slashes between them, none of which is `.` or `..`".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_names_between_slashes() {
        for fits in ["a", "a.csv", ".hidden", "2026/01/a b.csv", "f.a", "…", "a:b", "..."] {
            assert!(StagePath::read(fits).is_ok(), "{fits}");
        }
        let (long, deep) = ("a".repeat(251), "a/".repeat(512) + "a");
        let (long, deep) = (long.as_str(), deep.as_str());
        for refused in
            ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a\\b", "a\0", "a\nb", long, deep]
        {
            assert!(StagePath::read(refused).is_err(), "{refused:?}");
        }
    }
}
