//! Files that a statement lists or removes: looked for before its names are bound, removed once it has run.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use contract::Governance;
use contract::policy::abac::Operation;
use regex::{Regex, RegexBuilder};
use sql::{StageLocation, StagedRows};

use super::{Pipeline, Result};
use crate::Error;
use crate::storage::stage_files::{ReadFault, StageFile};

/// Bytes that a pattern may take once it is compiled.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// The use of the files that a statement is about.
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
    location: Option<StageLocation>,
    /// Those that it names, as they were listed.
    named: Vec<StageFile>,
    /// Those that it has loaded, as they were then.
    loaded: Vec<StageFile>,
}

impl FileRemoval {
    /// Of files that are loaded: another file in their place stays, and so does the load where one cannot be removed.
    pub fn of_loaded(rows: &StagedRows, loaded: Vec<StageFile>) -> Self {
        let (stage_id, location) = (rows.stage_id.clone(), rows.location.clone());
        Self { stage_id, location, named: Vec::new(), loaded }
    }

    /// One that has gone meanwhile is removed as well. One in whose place another has come stays, and is told.
    pub async fn done(&self, pipeline: &Pipeline) -> Result<()> {
        let rules = pipeline.rules()?;
        let store = match pipeline.stage_store(&rules, &self.stage_id, self.location.as_ref()) {
            Err(error) if self.named.is_empty() => {
                tracing::warn!(%error, "the files of a stage that were loaded are not removed");
                return Ok(());
            }
            store => store?,
        };
        for file in &self.loaded {
            if let Err(error) = Box::pin(store.remove_listed(file)).await {
                tracing::warn!(%error, "a file of a stage that was loaded is not removed");
            }
        }
        let mut replaced = None;
        for file in &self.named {
            if !Box::pin(store.remove_listed(file)).await? {
                replaced = replaced.or(Some(file));
            }
        }
        replaced.map_or(Ok(()), |file| Err(ReadFault::Replaced.of_file(&file.path)))
    }
}

/// Whether whoever asks may do this with files of the stage of this path.
pub(in crate::pipeline) type Permits<'a> = dyn Fn(&str, Operation) -> Result<()> + Sync + 'a;

/// Has names tell of the files that a statement is about, if it is about some; answers those that it removes.
pub(in crate::pipeline) async fn found(
    (pipeline, rules): (&Pipeline, &Governance),
    (statement, permits): (&sql::Statement, &Permits<'_>),
    seen: &sql::Catalog,
    names: &mut sql::SessionNames,
    file_use: FileUse,
) -> Result<Option<FileRemoval>> {
    if let Some(location) = sql::stage_location(statement)? {
        pipeline.external(rules, &location)?; // of one that is made, it is asked again at each use
    }
    let Some(asked) = sql::files_asked(statement, seen, names)? else { return Ok(None) };
    permits(&asked.stage_path, if asked.removes { Operation::Delete } else { Operation::Select })?;
    if file_use == FileUse::Explained {
        return Ok(None);
    }
    if asked.removes && file_use == FileUse::Listed {
        let what = "REMOVE in a transaction or on a branch, which could not take it back,".to_owned();
        return Err(Error::Unsupported { what });
    }
    let pattern = asked.pattern.as_deref().map(compiled).transpose()?;
    let store = pipeline.stage_store(rules, &asked.stage_id, asked.location.as_ref())?;
    let listed = store.list(&asked.path).await?;
    let told = listed.into_iter().map(|file| (asked.told(&file.path), file));
    let told: Vec<_> = told.filter(|(name, _)| pattern.as_ref().is_none_or(|pattern| pattern.is_match(name))).collect();
    let removal = asked.removes.then(|| FileRemoval {
        stage_id: asked.stage_id,
        location: asked.location,
        named: told.iter().map(|(_, file)| file.clone()).collect(),
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
