//! The journal of a client's transaction, so that it can go back to a savepoint. The engine has none: what was changed
//! before the savepoint is changed again, in a new transaction of the engine.
//!
//! That is the same only where the new transaction sees of each table what the old one saw, and where nothing that is
//! done again is volatile. Otherwise it is a conflict, and the whole transaction is to be run again. What others have
//! committed is in the log of changes, which is written in their transactions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Kind, Outcome, Session, Snapshot, Statement, Value};
use serde::Deserialize;

use super::result_cache::is_steady;
use super::stages::execute::UnmaskedRows;
use super::stages::transpile::bound;
use super::{Query, Result};
use crate::Error;
use crate::storage::branches::OpenBranch;
use crate::storage::system_tables::{in_batches, read};

const STATEMENTS_MAX: usize = 1_000;
const BYTES_MAX: usize = 16 << 20;
/// Tables that others have changed: of more nobody asks which they are.
const CHANGED_MAX: usize = 1_000;

/// For the log of changes.
const WITHIN: Duration = Duration::from_secs(30);

/// The log of changes as the engine's transaction sees it, but for its own lines.
const LAST: &str = "select to_json({line: coalesce(max(rowid), -1)}) from raw._svc_dirty.changes where snapshot <> $1";
const CHANGED: &str = "select distinct to_json({table_name: table_name, operation: operation}) \
                       from raw._svc_dirty.changes where rowid > $1 limit 1001";
/// What columns hold where a statement says nothing of them.
const DEFAULTS: &str = "select distinct to_json({table_name: schema_name || '.' || table_name, value: column_default}) \
                        from duckdb_columns() where database_name = 'raw' and column_default is not null";

#[derive(Debug, Default)]
pub(super) struct Journal {
    done: Vec<Done>,
    /// Tables that were read or written, in lower case, and how many there were before each.
    touched: HashMap<String, usize>,
    bytes: usize,
    is_full: bool,
    /// The last line of others in the log of changes, once it was asked for.
    line: Option<i64>,
}

/// A place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JournalPosition {
    done: usize,
    touched: usize,
    is_full: bool,
}

/// A statement that has changed something, as it was run.
#[derive(Debug, Default)]
pub(super) struct Done {
    steps: Vec<sql::Before>,
    params: Vec<Value>,
    marks: Vec<String>,
    changes: Vec<engine::Change>,
    rows: u64,
    defines: bool,
    /// Its rows are of files of a stage, which are not kept.
    reads_files: bool,
    branch: Option<Arc<OpenBranch>>,
}

#[derive(Deserialize)]
struct Line {
    line: i64,
}

#[derive(Deserialize)]
struct ChangedTable {
    table_name: String,
    operation: String,
}

#[derive(Deserialize)]
struct Filled {
    table_name: String,
    value: String,
}

impl Journal {
    /// A statement reads or writes these tables.
    pub fn touch<'a>(&mut self, paths: impl Iterator<Item = &'a str>) {
        for path in paths.map(str::to_lowercase) {
            if self.is_full || self.touched.contains_key(&path) {
                continue;
            }
            self.weigh(path.len());
            let before = self.touched.len();
            self.touched.insert(path, before);
        }
    }

    pub fn add(&mut self, done: Done) {
        self.weigh(done.bytes());
        if self.done.len() >= STATEMENTS_MAX || self.is_full {
            self.is_full = true;
            return;
        }
        self.done.push(done);
    }

    fn weigh(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.is_full |= self.bytes > BYTES_MAX;
    }

    /// Finds out what the transaction sees of others, unless that is known.
    pub async fn look(&mut self, session: &mut Session, snapshot: &Snapshot) -> Result<()> {
        if self.line.is_none() {
            self.line = Some(last_line(session, snapshot).await?);
        }
        Ok(())
    }

    pub fn place(&self) -> JournalPosition {
        JournalPosition { done: self.done.len(), touched: self.touched.len(), is_full: self.is_full }
    }

    /// Forgets what came after a place, where all before it is known.
    pub fn go_back(&mut self, to: JournalPosition) -> Result<()> {
        if to.is_full {
            let what = format!(
                "ROLLBACK TO SAVEPOINT behind more than {STATEMENTS_MAX} statements that change something, or more than \
                 {} MiB of text, parameters and COPY data,",
                BYTES_MAX >> 20
            );
            return Err(Error::Unsupported { what });
        }
        if self.done.iter().take(to.done).any(|done| done.reads_files) {
            let what = "ROLLBACK TO SAVEPOINT behind a statement that writes what it reads of a stage".to_owned();
            return Err(Error::Unsupported { what });
        }
        self.done.truncate(to.done);
        self.touched.retain(|_, before| *before < to.touched);
        self.bytes = self.done.iter().map(Done::bytes).chain(self.touched.keys().map(String::len)).sum();
        self.is_full = false;
        Ok(())
    }

    /// Whether nothing was done or read, so that any transaction of the engine is as good.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty() && self.touched.is_empty()
    }

    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Has anything been defined?
    pub fn defines(&self) -> bool {
        self.done.iter().any(|done| done.defines)
    }

    /// The branches that were written to, each once.
    pub fn branches(&self) -> Vec<Arc<OpenBranch>> {
        let mut branches: Vec<Arc<OpenBranch>> = Vec::new();
        for branch in self.done.iter().filter_map(|done| done.branch.as_ref()) {
            if !branches.iter().any(|known| known.branch.branch_id == branch.branch.branch_id) {
                branches.push(Arc::clone(branch));
            }
        }
        branches
    }

    /// Does all of it again in another transaction of the engine, which has done nothing yet.
    pub async fn again(&mut self, query: &Query, session: &mut Session, snapshot: &Snapshot) -> Result<()> {
        self.is_untouched(query, session).await?;
        self.is_steady(query, session).await?;
        self.line = Some(last_line(session, snapshot).await?);
        for done in &mut self.done {
            done.again(query, session, snapshot).await?;
        }
        Ok(())
    }

    /// Has nobody committed to what was read or written, or defined anything? Where tables are other ones, what was
    /// made for those of before may mean something else.
    async fn is_untouched(&self, query: &Query, session: &mut Session) -> Result<()> {
        let line = self.line.ok_or(Error::Overtaken)?;
        let step = (CHANGED.to_owned(), vec![Value::BigInt(line)]);
        let changed: Vec<ChangedTable> = in_batches(&read(session, query.deadline, step).await?)?;
        let defines = |operation: &str| matches!(operation, "create" | "alter" | "drop");
        let concerns =
            |one: &ChangedTable| defines(&one.operation) || self.touched.contains_key(&one.table_name.to_lowercase());
        if changed.len() > CHANGED_MAX || changed.iter().any(concerns) {
            return Err(Error::Overtaken);
        }
        Ok(())
    }

    /// Would each of its statements make the same again, and the defaults of the columns that they fill?
    async fn is_steady(&self, query: &Query, session: &mut Session) -> Result<()> {
        let is_so = |text: &str| is_steady(&without_texts(text));
        if !self.done.iter().flat_map(|done| &done.steps).all(|step| is_so(&step.sql)) {
            return Err(Error::Unrepeatable);
        }
        let fills = |change: &&engine::Change| matches!(&*change.operation, "insert" | "merge");
        let filled = self.done.iter().flat_map(|done| &done.changes).filter(fills);
        let filled: HashSet<String> = filled.map(|change| change.table.to_lowercase()).collect();
        if filled.is_empty() {
            return Ok(());
        }
        let step = (DEFAULTS.to_owned(), Vec::new());
        let defaults: Vec<Filled> = in_batches(&read(session, query.deadline, step).await?)?;
        let mut its = defaults.iter().filter(|one| filled.contains(&one.table_name.to_lowercase()));
        if its.all(|default| is_so(&default.value)) { Ok(()) } else { Err(Error::Unrepeatable) }
    }
}

async fn last_line(session: &mut Session, snapshot: &Snapshot) -> Result<i64> {
    let step = (LAST.to_owned(), vec![Value::Text(snapshot.to_string())]);
    let lines: Vec<Line> = in_batches(&read(session, Instant::now() + WITHIN, step).await?)?;
    lines.first().map(|line| line.line).ok_or(Error::Overtaken)
}

impl Done {
    /// A statement that has run, with what it has left in the log of changes.
    pub fn new(sql: &sql::EngineSql, query: &Query, rows: &UnmaskedRows, changes: &[engine::Change]) -> Self {
        let last = sql::Before {
            sql: sql.sql.clone(),
            binds: sql.binds.clone(),
            tables: Vec::new(), // both parsers agreed on them
            counts: true,
            keeps: false,
            checks: false,
        };
        let about = &rows.about;
        Self {
            steps: sql.before.iter().cloned().chain([last]).collect(),
            params: query.ask.params.clone(),
            marks: about.marks.iter().map(|mark| &mark.sql).chain(&about.history).cloned().collect(),
            changes: changes.to_vec(),
            rows: rows.changed.unwrap_or(0),
            defines: about.defines(),
            reads_files: about.takes_in(),
            branch: about.branch.clone(),
        }
    }

    fn bytes(&self) -> usize {
        let texts = self.steps.iter().map(|step| &step.sql).chain(&self.marks).map(String::len);
        let changes = self.changes.iter().map(|change| size_of::<engine::Change>() + change.table.len());
        texts.chain(changes).chain(self.params.iter().map(Value::bytes)).sum()
    }

    async fn again(&mut self, query: &Query, session: &mut Session, snapshot: &Snapshot) -> Result<()> {
        let mut changed = 0;
        for step in &self.steps {
            let statement =
                Statement { sql: step.sql.clone(), params: bound(&step.binds, &self.params)?, writes: !step.keeps };
            let rows = one(query, session, statement, step.keeps).await?;
            changed += if step.counts { rows } else { 0 };
        }
        for mark in &self.marks {
            let statement = Statement { sql: mark.clone(), params: Vec::new(), writes: true };
            one(query, session, statement, false).await?;
        }
        if changed != self.rows {
            return Err(Error::Unrepeatable); // it follows the order of rows
        }
        for change in &mut self.changes {
            change.snapshot = snapshot.to_string();
        }
        Ok(session.track(&self.changes).await?)
    }
}

/// Runs one step; how many rows it changes. What went well cannot go wrong where it is the same.
async fn one(query: &Query, session: &mut Session, statement: Statement, keeps: bool) -> Result<u64> {
    let (deadline, cancel) = (query.deadline, &query.ask.cancel);
    let outcome = if keeps {
        session.keep(statement, deadline, cancel).await.map(|()| 0)
    } else {
        session.run(statement, deadline, cancel).await.map(|outcome| match outcome {
            Outcome::Changed { rows, .. } => rows,
            Outcome::Rows(_) => 0,
        })
    };
    outcome.map_err(|error| match error.kind {
        Kind::Timeout | Kind::Interrupted | Kind::Unavailable => query.fault(error),
        _ if error.is_lost() => query.fault(error),
        _ => Error::Unrepeatable,
    })
}

/// A generated statement without its `'…'`, in which nothing is called.
fn without_texts(sql: &str) -> String {
    let mut quote = None;
    let outside = |c: &char| {
        if let Some(open) = quote {
            quote = (*c != open).then_some(open);
            return open == '"';
        }
        quote = matches!(c, '\'' | '"').then_some(*c);
        *c != '\''
    };
    sql.chars().filter(outside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_texts_call_nothing() {
        for (sql, expected) in [
            ("insert into t values ('call me now')", "insert into t values ()"),
            ("select 'it''s', now()", "select , now()"),
            ("select \"it's\", now(), 'random()'", "select \"it's\", now(), "),
            ("select '\"', now() as \"'\"", "select , now() as \"'\""),
        ] {
            assert_eq!(without_texts(sql), expected);
        }
    }

    fn done(bytes: usize) -> Done {
        Done { params: vec![Value::Text("x".repeat(bytes))], ..Done::default() }
    }

    #[test]
    fn a_place_leads_back_as_long_as_all_before_it_is_kept() {
        let mut journal = Journal::default();
        journal.touch(["main.A", "main.b"].into_iter());
        journal.add(done(1));
        let first = journal.place();
        journal.touch(["main.a", "main.c"].into_iter());
        (1..STATEMENTS_MAX).for_each(|_| journal.add(done(1)));
        let last = journal.place();
        journal.add(done(1));
        let (behind, bytes) = (journal.place(), journal.bytes);
        assert!(matches!(journal.go_back(behind), Err(Error::Unsupported { .. })));
        journal.go_back(last).unwrap();
        assert_eq!((journal.place(), journal.done.len()), (last, STATEMENTS_MAX));
        assert!(journal.bytes < bytes);
        journal.go_back(first).unwrap();
        assert_eq!((journal.place(), journal.touched.contains_key("main.c")), (first, false));
    }

    #[test]
    fn bytes_are_bounded_too() {
        let mut journal = Journal::default();
        let before = journal.place();
        journal.add(done(BYTES_MAX));
        assert!(journal.place().is_full && journal.done.is_empty());
        journal.go_back(before).unwrap();
        assert!(journal.is_empty() && journal.bytes == 0);
    }
}
