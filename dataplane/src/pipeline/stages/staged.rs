//! Files of stages, made the rows of a temporary table in the transaction of the statement that reads them.
//!
//! That is between the stages 9 and 10. The caller has been let through by then, and the stage is judged by its name as a
//! table is. Its rows follow the rules as any table's do. Files are read one by one from the engine's spool, and
//! nothing of them is left behind. What COPY INTO loads is written down in the transaction of its INSERT.

mod answered;
mod attached;
mod checks;
mod columns;
mod decoded;
mod doubted;
mod external;
mod inferred;
mod judged;
mod member_view;
mod packing;
mod parquet;
mod parquet_source;
mod past_faults;
mod records;
mod rows;
mod several;
mod shown;
mod source;
mod stripped_nulls;
mod unnamed;
mod viewed;

use std::fmt::Write;

use contract::Timestamp;
use contract::policy::abac::Operation;
use engine::FileFault;
use sql::{ExecutionMode, LoadOptions, OnError, PastFile};

use super::execute::Ran;
use super::snapshot::{Pinned, agrees_here};
use super::tables::{StatementInfo, is_temporary};
use crate::Error;
use crate::pipeline::listed_files::FileRemoval;
use crate::pipeline::past_load::kept_load;
use crate::pipeline::{Pipeline, Query, Result, runtime};
use crate::request::last_load::BegunLoad;
use crate::request::trail::Trail;
use crate::storage::load_history::{self, KeptLoad, LoadHistory};
use crate::storage::stage_files::StageFile;

use several::ViewedFiles;
use shown::ShownRows;
use source::FileSource;
use viewed::ViewedFile;

pub(in crate::pipeline) use answered::told;

/// Faults of a file that are told.
const FAULTS_MAX: usize = 1_000;
/// Faults of all files together, which are held until they are told.
const ALL_FAULTS_MAX: usize = 20_000;

/// Files that the audit entry names.
const NAMED_MAX: usize = 100;

/// The report of COPY INTO.
#[derive(Debug)]
pub(in crate::pipeline) struct LoadReport {
    files: Vec<LoadedFile>,
    /// The rows that it would load, where it only shows them.
    shown: Option<ShownRows>,
}

/// The files that a statement has taken in.
#[derive(Debug, Default)]
pub(in crate::pipeline) struct TakenIn {
    report: Option<LoadReport>,
    /// The file that it reads itself.
    viewed: Option<ViewedFile>,
    /// The same of several files.
    several: Option<ViewedFiles>,
}

/// A file of COPY INTO, and what became of its records.
#[derive(Debug)]
pub(in crate::pipeline) struct LoadedFile {
    pub path: String,
    /// Records that it has, as far as it could be read.
    pub parsed: u64,
    /// Those that were loaded.
    pub rows: u64,
    /// So many that fail are too many.
    pub limit: u64,
    pub failed: u64,
    /// The first of these, or of a file that is only looked at more of them.
    pub faults: Vec<RecordFault>,
}

/// A fault of a file's record, and the column that it is of.
#[derive(Debug)]
pub(in crate::pipeline) struct RecordFault {
    pub fault: FileFault,
    pub column: Option<String>,
}

impl LoadedFile {
    /// One that nothing is wrong with.
    fn whole(file: &StageFile, rows: u64) -> Self {
        Self { path: file.path.clone(), parsed: rows, rows, limit: 1, failed: 0, faults: Vec::new() }
    }

    /// One that cannot be read.
    fn unread(file: &StageFile, on_error: OnError, fault: FileFault) -> Self {
        let faults = vec![RecordFault { fault, column: None }];
        Self { path: file.path.clone(), parsed: 0, rows: 0, limit: on_error.limit(0), failed: 1, faults }
    }

    /// Whether it is not loaded again.
    fn is_loaded(&self) -> bool {
        self.rows > 0 || self.failed == 0
    }
}

/// Brings the rows of attached tables, and reads the files of a statement's stages; those of COPY INTO are told.
pub(in crate::pipeline) async fn take_in(
    pipeline: &Pipeline,
    query: &Query,
    pinned: &mut Pinned,
    t: &Trail,
) -> Result<TakenIn> {
    if !pinned.native.about.takes_in() {
        return Ok(TakenIn::default());
    }
    let taken = match pinned.native.about.external.clone() {
        Some(change) => Box::pin(external_changed(pipeline, query, pinned, change)).await.map(|()| TakenIn::default()),
        None => Box::pin(taken_in(pipeline, query, pinned, t)).await,
    };
    if taken.is_err() {
        pinned.lease.failed();
    }
    taken
}

/// Looks for the files of an external table that a statement makes or reads anew.
async fn external_changed(
    pipeline: &Pipeline,
    query: &Query,
    Pinned { native, lease, .. }: &mut Pinned,
    change: sql::ExternalChange,
) -> Result<()> {
    let changed = external::changed(pipeline, query, lease.session()?, change).await?;
    native.about.history.extend(changed);
    if native.sql.before.is_empty() {
        agrees_here(query, lease.session()?, native).await?;
    }
    Ok(())
}

async fn taken_in(pipeline: &Pipeline, query: &Query, pinned: &mut Pinned, t: &Trail) -> Result<TakenIn> {
    let Pinned { native, lease, .. } = pinned;
    if runtime::is_read(&native.sql.tables) {
        return Err(Error::Unsupported { what: "a stage beside tables of the runtime".to_owned() });
    }
    attached::brought(pipeline, query, native, lease, t).await?;
    let reads_stage = native.about.staged.iter().any(|rows| rows.external.is_none());
    if reads_stage && (!query.ask.params.is_empty() || !query.ask.types.is_empty()) {
        return Err(Error::Unsupported { what: "a parameter of a statement that reads a stage".to_owned() });
    }
    let mut taken = TakenIn::default();
    // what else is run for a statement may ask for numbers of rows, which a view has not
    let is_direct = native.care == ExecutionMode::Direct && native.sql.before.is_empty();
    for mut rows in native.about.staged.clone() {
        if let Some(external) = &rows.external {
            rows.members = sql::external_members(external, &native.sql);
        }
        let session = lease.session()?;
        let mut source = FileSource { pipeline, query, session, rows: &rows };
        if let Some(external) = &rows.external {
            let files = Box::pin(source.external(external)).await?;
            noted(t, &rows, &files);
            continue;
        }
        if let Some(past) = &rows.past {
            Box::pin(source.past_faults(past, |files| noted(t, &rows, files))).await?;
            continue;
        }
        let is_ruled = native.about.ruled_stages.contains(&rows.path());
        let fault = |error| if is_ruled { unnamed::of_stage(&rows, error) } else { error };
        source.made().await?;
        let mut chosen = source.chosen().await.map_err(fault)?;
        let Some(load) = rows.load else {
            chosen.truncate(rows.infers.and_then(|options| options.files_max).unwrap_or(usize::MAX));
            noted(t, &rows, &chosen);
            match rows.infers {
                Some(options) => Box::pin(source.infer(&chosen, options)).await?,
                None => taken.viewed = Box::pin(source.selected(&chosen, native, is_direct)).await.map_err(fault)?,
            }
            continue;
        };
        if load.removes() && query.ask.transaction.is_some() {
            let what = "PURGE of COPY INTO in a transaction, which could not take it back,".to_owned();
            return Err(Error::Unsupported { what });
        }
        let table = filled(&native.about)?;
        let now = pipeline.clock.now();
        let files = not_loaded(&mut source, chosen, load, (&table, &rows.stage_id), now).await?;
        noted(t, &rows, &files);
        let asked = kept_load(query, t.facts().caller.as_ref(), &rows, &table);
        if load.validates.is_none() {
            let aborts = load.on_error == OnError::Abort && !is_temporary(&table);
            query.ask.names.last_load.set(BegunLoad { kept: asked.clone(), aborts });
        }
        let is_viewed = is_direct && source.may_be_viewed(&files);
        if is_viewed {
            // while it reads a table: the engine's parser names none of a statement that reads a view
            agrees_here(query, source.session, native).await?;
        }
        let loaded = Box::pin(source.loaded(&files, is_viewed, &mut taken)).await?;
        written_down(&mut native.about, &rows, asked, (&files, &loaded), now);
        taken.report = Some(source.report(loaded, load).await?);
    }
    if native.sql.before.is_empty() {
        agrees_here(query, lease.session()?, native).await?;
    }
    Ok(taken)
}

/// The files that a load reads: those that the table has not, up to its limit.
async fn not_loaded(
    source: &mut FileSource<'_>,
    chosen: Vec<StageFile>,
    load: LoadOptions,
    identity: (&str, &str),
    now: Timestamp,
) -> Result<Vec<StageFile>> {
    // other connections have tables of the same name, and each is gone with its own
    let history = if load.reads_loaded() || is_temporary(identity.0) {
        LoadHistory::default()
    } else {
        LoadHistory::of(source.session, source.query.deadline, identity, now).await?
    };
    let mut files: Vec<StageFile> = chosen.into_iter().filter(|file| !history.has(file)).collect();
    if let Some(limit) = load.size_limit {
        let begun = begun(&files, limit);
        files.truncate(begun);
    }
    Ok(files)
}

/// COPY INTO makes a row of each record: a query that leaves some out, or makes several, is refused before it is kept.
/// A file that a query reads stays as long as its rows come.
pub(in crate::pipeline) fn holds(taken: TakenIn, ran: Result<Ran>) -> Result<(Ran, Option<LoadReport>)> {
    let TakenIn { report, viewed, .. } = taken;
    let Some(report) = report else {
        let mut ran = ran.map_err(|error| viewed::fault_of_query(viewed.as_ref(), error))?;
        if let (Some(rest), Some(viewed)) = (&mut ran.rows.rest, viewed) {
            rest.read_of(viewed.spool);
        }
        return Ok((ran, None));
    };
    let mut ran = ran.map_err(|error| viewed::fault(viewed.as_ref(), error))?;
    let records: u64 = report.files.iter().map(|file| file.rows).sum();
    if ran.rows.changed == Some(records) {
        return Ok((ran, Some(report)));
    }
    ran.lease.failed();
    if let Some(viewed) = &viewed {
        return Err(viewed.miscounted(records, ran.rows.changed.unwrap_or_default()));
    }
    Err(Error::Unsupported { what: "a query in COPY INTO that makes other than one row of each record".to_owned() })
}

/// Has a load leave what it was asked and which files it has loaded; those that it removes are removed once it has run.
fn written_down(
    about: &mut StatementInfo,
    rows: &sql::StagedRows,
    mut asked: KeptLoad,
    (files, loaded): (&[StageFile], &[LoadedFile]),
    now: Timestamp,
) {
    let Some(load) = rows.load.filter(|load| load.validates.is_none()) else { return };
    if load.on_error != OnError::Abort && !load.transforms {
        let past = |file: &StageFile| PastFile { path: file.path.clone(), bytes: file.bytes, md5: file.md5.clone() };
        asked.load.files = files.iter().map(past).collect();
    }
    if !is_temporary(&asked.load.table) {
        let kept = files.iter().zip(loaded).filter(|(_, file)| file.is_loaded()).map(|(file, _)| file);
        about.history.extend(load_history::loaded((&asked.load.table, &rows.stage_id), kept, now));
        about.history.extend(asked.written(now));
    }
    if load.removes() {
        let whole = files.iter().zip(loaded).filter(|(_, file)| file.failed == 0).map(|(file, _)| file.clone());
        about.removes = Some(FileRemoval::of_loaded(rows, whole.collect()));
    }
}

/// The table that COPY INTO fills, as its changes are known.
fn filled(about: &StatementInfo) -> Result<String> {
    let table = about.written.iter().find(|(_, done)| *done == Operation::Insert).map(|(path, _)| path);
    let table = table.ok_or_else(|| Error::Unverified { why: "COPY INTO fills no table".to_owned() })?;
    Ok(about.branch.as_ref().map_or_else(|| table.clone(), |branch| branch.names(table)))
}

/// How many files are loaded: none begins once those before it have more bytes together.
fn begun(files: &[StageFile], limit: u64) -> usize {
    let mut bytes = 0_u64;
    let begins = |file: &&StageFile| {
        let is_within = bytes <= limit;
        bytes = bytes.saturating_add(file.bytes);
        is_within
    };
    files.iter().take_while(begins).count()
}

/// The files that were read, for the audit entry.
fn noted(t: &Trail, rows: &sql::StagedRows, files: &[StageFile]) {
    let mut facts = t.facts();
    let Some(text) = &mut facts.transpiled else { return };
    for file in files.iter().take(NAMED_MAX) {
        let _ = write!(text, "\n-- read {}/{}, {} bytes", rows.known_as(), file.path, file.bytes);
    }
    if rows.load.is_some_and(LoadOptions::removes) {
        text.push_str("\n-- those that are loaded whole are removed");
    }
    if files.len() > NAMED_MAX {
        let _ = write!(text, "\n-- and {} more files", files.len() - NAMED_MAX);
    }
}
