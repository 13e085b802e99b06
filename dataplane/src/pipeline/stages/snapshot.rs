//! Stage 9. "Snapshot pinning: table-format snapshot isolation."
//!
//! A transaction is opened before the statement runs: what it sees is fixed, and named in the audit entry. It is one
//! that sees the tables by which the statement was judged. Before that, the engine's own parser must find in the
//! generated SQL exactly the tables that the rewrite put there; two parsers that disagree mean that one was fooled.
//!
//! The transaction of a single step is opened in the message that runs it (stage 10); that of a read is over with its
//! rows. None of them leaves, and no error of it, and nothing is committed, before it is sure that it saw the tables it
//! was judged by. The engine's parser looks at the text of a read, and of an INSERT, in that message too, in the engine's
//! process, which runs it if both agree; at that of another write before.

mod checked;

use std::collections::BTreeSet;
use std::sync::Arc;

use contract::Governance;
use engine::{Kind, Session, Snapshot};
use tokio::sync::OwnedMutexGuard;

use super::transpile::Native;
use crate::Error;
use crate::pipeline::catalog_snapshot::paths;
use crate::pipeline::journal::Done;
use crate::pipeline::renamed_away::Away;
use crate::pipeline::result_cache::Answers;
use crate::pipeline::runtime::{self, RowSelection};
use crate::pipeline::transaction::ClientTransaction;
use crate::pipeline::{Pipeline, Query, Result};
use crate::request::trail::Trail;
use crate::storage::branches::Writing;
use checked::CheckedKey;

pub(in crate::pipeline) use checked::Checked;

/// A statement with the transaction it will run in.
pub(in crate::pipeline) struct Pinned {
    pub native: Native,
    pub lease: Lease,
    pub snapshot: Snapshot,
}

/// The session a statement runs on.
pub(in crate::pipeline) enum Lease {
    /// Its own, gone when its rows are.
    Own(OwnSession),
    /// The client's transaction, locked while the statement is started.
    Client(OwnedMutexGuard<ClientTransaction>),
}

/// A session for one statement alone.
pub(in crate::pipeline) struct OwnSession {
    session: Box<Session>,
    /// The right to write to its branch.
    writing: Option<Writing>,
    /// Its transaction is open; else it begins with the statement that it is for.
    has_begun: bool,
    /// The look at its text has failed: no row was read for that.
    is_refused: bool,
}

impl Lease {
    fn begun(session: Session, writing: Option<Writing>) -> Self {
        Self::Own(OwnSession { session: Box::new(session), writing, has_begun: true, is_refused: false })
    }

    pub fn session(&mut self) -> Result<&mut Session> {
        match self {
            Self::Own(own) => Ok(&mut own.session),
            Self::Client(transaction) => transaction.session(),
        }
    }

    /// Whether its transaction is to begin with its statement.
    pub fn is_unbegun(&self) -> bool {
        matches!(self, Self::Own(own) if !own.has_begun)
    }

    /// Its session is in a transaction from now on.
    pub fn begins(&mut self) {
        if let Self::Own(own) = self {
            (own.has_begun, own.is_refused) = (true, false);
        }
    }

    /// The look at the text of its statement has failed.
    pub fn refuses(&mut self) {
        if let Self::Own(own) = self {
            own.is_refused = true;
        }
    }

    /// Whether what its statement failed of is the look at its text, which tells of no row.
    pub fn has_refused(&self) -> bool {
        matches!(self, Self::Own(own) if own.is_refused)
    }

    pub fn is_client(&self) -> bool {
        matches!(self, Self::Client(_))
    }

    /// Whether the client may go back behind a statement.
    pub fn has_savepoints(&self) -> bool {
        matches!(self, Self::Client(transaction) if transaction.has_savepoints())
    }

    /// A statement has changed something, and it is in the log of changes.
    pub fn did(&mut self, done: Done) {
        if let Self::Client(transaction) = self {
            transaction.did(done);
        }
    }

    /// Writes to the log of changes and commits; a client's own transaction is committed by the client.
    pub async fn commit_own(&mut self, changes: &[engine::Change], then: impl FnOnce() + Send + 'static) -> Result<()> {
        match self {
            Self::Own(own) => {
                let committed = own.session.commit_then(changes.to_vec(), then).await;
                drop(own.writing.take());
                Ok(committed?)
            }
            Self::Client(transaction) => Ok(transaction.session()?.track(changes).await?),
        }
    }

    /// These tables are written, as of now or of the client's commit.
    pub fn wrote(&mut self, answers: &Answers, tables: Vec<String>) {
        match self {
            Self::Own(_) => answers.wrote(&tables),
            Self::Client(transaction) => transaction.wrote(tables),
        }
    }

    /// A ruled table has another name: its transaction does not end so.
    pub fn renamed_away(&mut self, away: Away) -> Result<()> {
        match self {
            Self::Own(_) => Err(Error::Unverified { why: "a ruled table is renamed outside a transaction".to_owned() }),
            Self::Client(transaction) => transaction.renamed_away(away),
        }
    }

    pub fn defined(&mut self) {
        if let Self::Client(transaction) = self {
            transaction.defined();
        }
    }

    pub fn failed(&mut self) {
        if let Self::Client(transaction) = self {
            transaction.fail();
        }
    }
}

pub(in crate::pipeline) async fn pin(
    pipeline: &Pipeline,
    query: &Query,
    rules: &Arc<Governance>,
    native: Native,
    t: &Trail,
) -> Result<Pinned> {
    let writing = match native.about.branch.as_ref().filter(|_| native.about.writes) {
        Some(branch) => {
            let writing = tokio::time::timeout(query.left(), branch.writing()).await;
            Some(writing.map_err(|_| Error::Timeout(query.timeout))??)
        }
        None => None,
    };
    let of_runtime = runtime::session(pipeline, query, rules, &native.sql.tables, RowSelection::All).await?;
    let judged_by = native.about.judged_by()?;
    let (mut lease, snapshot) = match (of_runtime, query.transaction().await?) {
        // The runtime is no part of a client's transaction: its rows are as of now.
        (Some(_), Some(transaction)) if transaction.has_failed() => return Err(Error::FailedTransaction),
        (Some(mut session), _) => {
            let snapshot = session.begin().await?;
            (Lease::begun(session, None), snapshot)
        }
        (None, None) if is_single_step(&native) && judged_by.is_current() => {
            let session = Box::new(judged_by.engine.session().await?);
            let snapshot = session.next_snapshot().await?;
            let own = OwnSession { session, writing, has_begun: false, is_refused: false };
            (Lease::Own(own), snapshot)
        }
        (None, None) => {
            let (session, snapshot) = judged_by.session(paths(&native.about, &native.sql)).await?;
            (Lease::begun(session, writing), snapshot)
        }
        (None, Some(mut transaction)) => {
            let (_, snapshot) = transaction.open(&query.ask.who, judged_by).await?;
            if native.about.writes {
                transaction.admit(rules, query, &native)?;
            }
            transaction.holds(writing);
            transaction.touches(&native.about, &native.sql);
            (Lease::Client(transaction), snapshot)
        }
    };
    let is_looked_at_here = native.sql.before.is_empty() && !native.about.takes_in();
    if is_looked_at_here && !(lease.is_unbegun() && native.is_looked_at_as_it_runs()) {
        pipeline.remembered.checked.agrees(pipeline, query, &native, &mut lease).await?;
    } // else it is checked where it runs: each step when those before it have run, since it names what they make
    t.facts().snapshot = Some(snapshot.to_string());
    Ok(Pinned { native, lease, snapshot })
}

/// Whether its transaction can begin with it: it is one step, defines nothing, and takes in no rows from elsewhere.
fn is_single_step(native: &Native) -> bool {
    let is_run_as_it_is = match native.care {
        sql::ExecutionMode::Direct => !native.about.defines(),
        sql::ExecutionMode::Leakproof | sql::ExecutionMode::Speculative => !native.about.writes,
        sql::ExecutionMode::Materialized => false,
    };
    native.sql.before.is_empty() && !native.about.takes_in() && is_run_as_it_is
}

impl Checked {
    /// Lets a generated statement through in which the engine's parser finds what the rewrite put there.
    pub async fn agrees(&self, pipeline: &Pipeline, query: &Query, native: &Native, lease: &mut Lease) -> Result<()> {
        let (text, key) = (native.sql.sql.as_str(), native.checked_key());
        if self.holds(key) {
            return Ok(());
        }
        let (deadline, cancel) = (query.deadline, &query.ask.cancel);
        let parsed = match lease {
            // What the transaction has defined, only its own session knows; so it is with the runtime's tables.
            Lease::Client(transaction) => transaction.session()?.parsed(text, deadline, cancel).await,
            Lease::Own(own) if runtime::is_read(&native.sql.tables) => own.session.parsed(text, deadline, cancel).await,
            Lease::Own(_) => pipeline.engine()?.parsed(text, deadline, cancel).await,
        };
        let parsed = parsed.map_err(|error| unparsed(query, error))?;
        compare(&parsed, &native.sql.tables, native.about.writes)?;
        self.add(key);
        Ok(())
    }
}

impl Native {
    /// Whether the message that runs it has the engine's parser look at its text: at that of a query, and of an INSERT.
    pub fn is_looked_at_as_it_runs(&self) -> bool {
        const INSERT: &str = "INSERT ";
        let head = self.sql.sql.get(..INSERT.len());
        !self.about.writes || head.is_some_and(|head| head.eq_ignore_ascii_case(INSERT))
    }

    /// By which its last step is known to have been looked at. Reads that share a plan have one: in a query a parser finds
    /// the same tables and functions, whatever literals of the same forms it has, and labels that are these.
    pub fn checked_key(&self) -> CheckedKey {
        let text = if self.about.writes { self.sql.sql.as_str() } else { self.sql.named_alike() };
        CheckedKey::of(text, &self.sql.tables, self.about.writes)
    }
}

/// The same of one step of several, where it runs.
pub(in crate::pipeline) async fn step_agrees(
    query: &Query,
    session: &mut Session,
    text: &str,
    tables: &[String],
) -> Result<()> {
    let parsed = session.parsed(text, query.deadline, &query.ask.cancel).await;
    let parsed = parsed.map_err(|error| unparsed(query, error))?;
    compare(&parsed, tables, true)
}

/// The same of a statement that names what is in its session alone.
pub(in crate::pipeline) async fn agrees_here(query: &Query, session: &mut Session, native: &Native) -> Result<()> {
    let parsed = session.parsed(&native.sql.sql, query.deadline, &query.ask.cancel).await;
    let parsed = parsed.map_err(|error| unparsed(query, error))?;
    compare(&parsed, &native.sql.tables, native.about.writes)
}

fn unparsed(query: &Query, error: engine::Error) -> Error {
    match error.kind {
        Kind::Parser => Error::Unverified { why: "the engine does not parse what was generated".to_owned() },
        _ => query.fault(error), // names and types that do not fit together
    }
}

/// Functions that only the rewrite may call: a mask, a refusal raised where a row reaches it, and what
/// compares by meaning or by a pattern.
const OURS: [&str; 5] = [
    "sluice_mask_hash",
    "error",
    sql::functions::host::LIKE,
    sql::compile::meaning::LIKENESS,
    sql::compile::meaning::VECTOR_LIKENESS,
];

/// Whether the engine's parser finds these tables alone in a query, and functions that may be called; in a write, no
/// others. The engine's process asks that before it runs one.
pub fn agrees(parsed: &engine::Parsed, emitted: &[String], writes: bool) -> bool {
    compare(parsed, emitted, writes).is_ok()
}

pub(in crate::pipeline) fn compare(parsed: &engine::Parsed, emitted: &[String], writes: bool) -> Result<()> {
    let Some(found) = &parsed.tables else {
        // The engine names no tables of definitions; for what only reads, silence is a disagreement.
        return if writes {
            Ok(())
        } else {
            Err(Error::Unverified { why: "the engine cannot tell the tables".to_owned() })
        };
    };
    let plain = |name: &str| name.replace('"', "").to_ascii_lowercase();
    let found: BTreeSet<_> = found.iter().map(|name| plain(name)).collect();
    let emitted: BTreeSet<_> = emitted.iter().map(|name| plain(name)).collect();
    let agree = if writes { found.is_subset(&emitted) } else { found == emitted };
    if !agree {
        return Err(Error::Unverified { why: format!("tables found {found:?}, emitted {emitted:?}") });
    }
    let unlisted = |name: &&String| {
        sql::dialect::class(name).is_none_or(|class| class == sql::functions::catalogue::Class::Denied)
    };
    let callers = |name: &&String| !OURS.contains(&name.as_str());
    match parsed.functions.iter().flatten().filter(callers).find(unlisted) {
        Some(name) => Err(Error::Unverified { why: format!("function {name} is not on the list") }),
        None => Ok(()),
    }
}
