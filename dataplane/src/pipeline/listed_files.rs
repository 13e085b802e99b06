//! Files that a statement lists or removes: looked for before its names are bound, removed once it has run.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use regex::{Regex, RegexBuilder};

use super::Result;
use crate::Error;
use crate::storage::stage_files::{StageFile, StageFiles, blocking};

/// Bytes that a pattern may take once it is compiled.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// What is done with the files that a statement is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pipeline) enum FileUse {
    /// It is told what becomes of it: none is looked for.
    Explained,
    /// Files may be listed, and none removed.
    Listed,
    Removed,
}

impl FileUse {
    pub fn of(is_explained: bool, may_remove: bool) -> Self {
        match (is_explained, may_remove) {
            (true, _) => Self::Explained,
            (false, true) => Self::Removed,
            (false, false) => Self::Listed,
        }
    }
}

/// Files that a statement removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pipeline) struct FileRemoval {
    stage_id: String,
    paths: Vec<String>,
    /// Those that it has loaded, as they were then.
    loaded: Vec<StageFile>,
}

impl FileRemoval {
    /// Of files that are loaded: another file in their place stays, and so does the load where one cannot be removed.
    pub fn of_loaded(stage_id: &str, loaded: Vec<StageFile>) -> Self {
        Self { stage_id: stage_id.to_owned(), paths: Vec::new(), loaded }
    }

    /// One that has gone meanwhile is removed as well.
    pub async fn done(&self, files: &StageFiles) -> Result<()> {
        let (Self { stage_id, paths, loaded }, files) = (self.clone(), files.clone());
        let removal = move || {
            for file in &loaded {
                if let Err(error) = removed_as_it_was(&files, &stage_id, file) {
                    tracing::warn!(%error, "a file of a stage that was loaded is not removed");
                }
            }
            paths.iter().try_for_each(|path| files.remove(&stage_id, path).map(drop))
        };
        blocking(removal).await
    }
}

fn removed_as_it_was(files: &StageFiles, stage_id: &str, file: &StageFile) -> Result<()> {
    if files.list(stage_id, &file.path)?.contains(file) {
        files.remove(stage_id, &file.path)?;
    }
    Ok(())
}

/// Has names tell of the files that a statement is about, if it is about some; answers those that it removes.
pub(in crate::pipeline) async fn found(
    files: &StageFiles,
    statement: &sql::Statement,
    seen: &sql::Catalog,
    names: &mut sql::SessionNames,
    file_use: FileUse,
) -> Result<Option<FileRemoval>> {
    if sql::stage_location(statement)?.is_some() {
        return Err(Error::Unsupported { what: "a stage outside of the environment".to_owned() });
    }
    let Some(asked) = sql::files_asked(statement, seen, names)? else { return Ok(None) };
    if file_use == FileUse::Explained {
        return Ok(None);
    }
    if asked.removes && file_use == FileUse::Listed {
        let what = "REMOVE in a transaction or on a branch, which could not take it back,".to_owned();
        return Err(Error::Unsupported { what });
    }
    let pattern = asked.pattern.as_deref().map(compiled).transpose()?;
    let (files, id, path) = (files.clone(), asked.stage_id.clone(), asked.path);
    let listed = blocking(move || files.list(&id, &path)).await?;
    let told = listed.into_iter().map(|file| (format!("{}/{}", asked.called, file.path), file));
    let told: Vec<_> = told.filter(|(name, _)| pattern.as_ref().is_none_or(|pattern| pattern.is_match(name))).collect();
    let removal = asked.removes.then(|| FileRemoval {
        stage_id: asked.stage_id,
        paths: told.iter().map(|(_, file)| file.path.clone()).collect(),
        loaded: Vec::new(),
    });
    names.files = Arc::new(told.into_iter().map(|(name, file)| entry(name, file)).collect());
    Ok(removal)
}

fn entry(name: String, file: StageFile) -> sql::FileEntry {
    let modified: DateTime<Utc> = file.modified.into();
    let last_modified = modified.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    sql::FileEntry { name, bytes: file.bytes, md5: file.md5, last_modified }
}

/// It holds for the whole of a name.
pub(in crate::pipeline) fn compiled(pattern: &str) -> Result<Regex> {
    let made = RegexBuilder::new(&format!("^(?s:{pattern})$")).size_limit(PATTERN_BYTES_MAX).build();
    made.map_err(|_| Error::InvalidParams {
        field: "pattern",
        message: "PATTERN is no regular expression that can be used here".to_owned(),
    })
}
