//! Temporary tables of a connection, which outlive the transaction that made them: an engine session keeps them.
//!
//! Their rows were let through by the rules of then. Where other rules would make something else of a statement that
//! filled them, or its caller may not do it any more, they are dropped, and the next statement that names one is told.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::policy::TableRef;
use contract::policy::abac::Operation;
use engine::Session;
use tokio_util::sync::CancellationToken;

use super::Result;
use super::authorization::transaction_recheck::TransactionRecheck;
use super::stages::tables::{self, StatementInfo};
use crate::Error;
use crate::governance::table_path::table_ref;

/// What dropping one table may take.
const DROP: Duration = Duration::from_secs(30);

/// The known temporary tables of a connection.
#[derive(Default)]
pub(super) struct TemporaryTables {
    /// Where they are, between two transactions.
    session: Option<Session>,
    /// Their names in lower case, as of the last commit.
    names: BTreeSet<String>,
    /// What the statements that filled them were let through by, as of the last commit.
    filled: Arc<TransactionRecheck>,
    /// The same with those of the transaction that is open.
    filling: Arc<TransactionRecheck>,
    /// Those of the open transaction that end with it: `ON COMMIT DROP`.
    ending: BTreeSet<String>,
    /// The open transaction has made or changed one.
    is_changed: bool,
    /// Those that were dropped since, until a statement has been told.
    gone: BTreeSet<String>,
}

/// Where the temporary tables of an open transaction stood at a savepoint.
#[derive(Debug, Clone, Default)]
pub(super) struct TemporarySavepoint {
    filling: Arc<TransactionRecheck>,
    ending: BTreeSet<String>,
    is_changed: bool,
}

impl TemporaryTables {
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the connection has any, or is to be told of one that is gone.
    pub fn is_known(&self) -> bool {
        !self.names.is_empty() || !self.gone.is_empty()
    }

    /// The session that keeps them; without it they are gone.
    pub fn take(&mut self) -> Option<Session> {
        let session = self.session.take();
        if session.is_none() {
            self.lose();
        }
        session
    }

    /// The open transaction has ended without a commit; this session, rolled back, keeps what was there before it.
    pub fn rolled_back(&mut self, session: Option<Session>) {
        self.to(&TemporarySavepoint { filling: Arc::clone(&self.filled), ..TemporarySavepoint::default() });
        if session.is_some() {
            self.session = session;
        }
    }

    /// They are no more; whoever names one is told once.
    pub fn lose(&mut self) {
        let Self { session, names, filled, filling, gone, .. } = self;
        gone.append(names);
        (*session, *filled, *filling) = (None, Arc::default(), Arc::default());
    }

    pub fn mark(&self) -> TemporarySavepoint {
        let Self { filling, ending, is_changed, .. } = self;
        TemporarySavepoint { filling: Arc::clone(filling), ending: ending.clone(), is_changed: *is_changed }
    }

    pub fn to(&mut self, mark: &TemporarySavepoint) {
        let TemporarySavepoint { filling, ending, is_changed } = mark.clone();
        (self.filling, self.ending, self.is_changed) = (filling, ending, is_changed);
    }

    /// What those that are seen in the open transaction were let through by.
    pub fn filling(&mut self) -> &mut TransactionRecheck {
        Arc::make_mut(&mut self.filling)
    }

    /// A statement is about to run; is it one that makes or fills any?
    pub fn changes(&mut self, about: &StatementInfo) -> bool {
        let mut any = false;
        for (path, operation) in about.written.iter().filter(|(path, _)| tables::is_temporary(path)) {
            any = true;
            let TableRef { name, .. } = table_ref(path);
            let name = name.to_ascii_lowercase();
            if *operation != Operation::Create || self.names.contains(&name) {
                continue;
            }
            if about.drops_at_commit {
                self.ending.insert(name);
            } else {
                self.ending.remove(&name);
            }
        }
        self.is_changed |= any;
        any
    }

    /// Are all of them in what the session sees?
    pub fn are_in(&self, read: &engine::Catalog) -> bool {
        let there = standing(read);
        self.names.iter().all(|name| there.contains(name))
    }

    /// Drops what ends with the transaction, which is about to be committed; whether any is left.
    pub async fn before_commit(&mut self, session: &mut Session) -> Result<Option<BTreeSet<String>>> {
        if self.names.is_empty() && !self.is_changed {
            return Ok(None);
        }
        let mut names = standing(&session.catalog().await?);
        // rows that were kept between the steps of a statement end too
        let ends = |name: &String| self.ending.contains(name) || sql::is_kept(sql::ast::names::TEMPORARY_SCHEMA, name);
        for name in names.extract_if(.., |name| ends(name)) {
            let statement = engine::Statement { sql: sql::drop_temporary(&name), params: Vec::new(), writes: true };
            session.run(statement, Instant::now() + DROP, &CancellationToken::new()).await?;
        }
        Ok(Some(names))
    }

    /// The transaction is committed, and these are left.
    pub fn committed(&mut self, left: BTreeSet<String>, session: Session) {
        self.filled = if left.is_empty() { Arc::default() } else { Arc::clone(&self.filling) };
        self.session = (!left.is_empty()).then_some(session);
        self.gone.retain(|name| !left.contains(name));
        self.names = left;
        self.to(&TemporarySavepoint { filling: Arc::clone(&self.filled), ..TemporarySavepoint::default() });
    }

    /// A statement that names one that is gone is told so, once.
    pub fn refuse_gone(&mut self, statement: &sql::Statement) -> Result<()> {
        let is_temporary = |schema: &String| schema.eq_ignore_ascii_case(sql::ast::names::TEMPORARY_SCHEMA);
        let named = statement.tables().iter().filter(|table| table.schema.as_ref().is_none_or(is_temporary));
        let told: Vec<_> = named.filter_map(|table| self.gone.take(&table.name.to_ascii_lowercase())).collect();
        told.into_iter().next().map_or(Ok(()), |table| Err(Error::TemporaryGone { table }))
    }
}

/// The names of all temporary tables, in lower case.
fn standing(read: &engine::Catalog) -> BTreeSet<String> {
    let temporary = read.tables.iter().filter(|table| table.schema == sql::ast::names::TEMPORARY_SCHEMA);
    temporary.map(|table| table.name.to_ascii_lowercase()).collect()
}
