//! The branches that can be read and written, in memory as the table of branches has them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::Timestamp;
use tokio::sync::{Mutex, MutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::{Branch, Copied, Status, own_schema, records, schema_name};
use crate::Error;
use crate::storage::system_tables::ReadTarget;

/// A branch that can be read and written.
#[derive(Debug)]
pub struct OpenBranch {
    pub branch: Branch,
    /// Shared by who writes, alone for who ends it.
    gate: Arc<RwLock<()>>,
    ended: AtomicBool,
}

/// The right to write to a branch; it does not end meanwhile.
pub type Writing = OwnedRwLockReadGuard<()>;

impl OpenBranch {
    fn new(branch: Branch) -> Self {
        Self { branch, gate: Arc::default(), ended: AtomicBool::new(false) }
    }

    pub async fn writing(&self) -> Result<Writing, Error> {
        let writing = Arc::clone(&self.gate).read_owned().await;
        if self.ended.load(Ordering::Acquire) { Err(Error::BranchNotFound) } else { Ok(writing) }
    }

    /// The right to end it, if nobody writes to it.
    pub(crate) fn alone(&self) -> Result<OwnedRwLockWriteGuard<()>, Error> {
        let alone = Arc::clone(&self.gate).try_write_owned().map_err(|_| Error::BranchBusy)?;
        if self.ended.load(Ordering::Acquire) { Err(Error::BranchNotFound) } else { Ok(alone) }
    }

    /// Its tables: known as the mainline's, stored apart.
    pub fn tables(&self) -> Vec<sql::Table> {
        let column = |table: &Copied, column: &engine::Column| {
            let length = table.lengths.get(&column.name).copied();
            let kept = sql::ColumnComment { length, ..sql::ColumnComment::default() };
            let type_name = kept.declared(&column.type_name);
            sql::Column { nullable: column.nullable, ..sql::Column::new(&column.name, type_name) }
        };
        let table = |table: &Copied| {
            let columns = table.columns.iter().map(|one| column(table, one)).collect();
            let known = sql::Table::new(&table.schema, &table.name, columns).with_primary_key(&table.primary_key);
            let known =
                known.with_unique(&table.known(table.unique.as_ref())).with_checks(&table.known(table.checks.as_ref()));
            known.with_origin(table.origin.clone()).stored_in(own_schema(&self.branch.branch_id))
        };
        self.branch.tables.iter().map(table).collect()
    }

    /// The table's name in the log of changes.
    pub fn names(&self, path: &str) -> String {
        format!("{}.{path}", schema_name(&self.branch.branch_id))
    }
}

/// The branches of one environment that are open.
#[derive(Debug, Clone, Default)]
pub struct OpenBranches {
    known: Arc<Mutex<BranchIndex>>,
    /// One is made at a time.
    making: Arc<Mutex<()>>,
}

/// The open branches by their ids.
#[derive(Debug, Default)]
struct BranchIndex {
    open: BTreeMap<String, Arc<OpenBranch>>,
    /// It is what the table says.
    sure: bool,
}

impl OpenBranches {
    /// The right to make one.
    pub(crate) async fn making(&self) -> MutexGuard<'_, ()> {
        self.making.lock().await
    }

    /// How many there are.
    pub(crate) async fn count(&self, place: ReadTarget<'_>) -> Result<usize, Error> {
        Ok(self.known(place).await?.open.len())
    }

    /// The open branch of this id.
    pub(crate) async fn open(
        &self,
        place: ReadTarget<'_>,
        branch_id: &str,
        now: Timestamp,
    ) -> Result<Arc<OpenBranch>, Error> {
        let found = self.known(place).await?.open.get(branch_id).cloned();
        match found.filter(|open| now < open.branch.expires_at) {
            Some(open) => Ok(open),
            None => match records::record(place, branch_id).await?.map(|branch| branch.status) {
                Some(Status::Merged) => Err(Error::BranchClosed { status: Status::Merged.as_str() }),
                _ => Err(Error::BranchNotFound),
            },
        }
    }

    /// Those that have lived their time.
    pub(crate) async fn over(&self, place: ReadTarget<'_>, now: Timestamp) -> Result<Vec<Arc<OpenBranch>>, Error> {
        let known = self.known(place).await?;
        Ok(known.open.values().filter(|open| now >= open.branch.expires_at).cloned().collect())
    }

    /// Knows one that was made; whether it was is not known where making it failed.
    pub(crate) async fn made(&self, created: &Result<Branch, Error>) {
        let mut known = self.known.lock().await;
        match created {
            Ok(branch) => {
                known.open.insert(branch.branch_id.clone(), Arc::new(OpenBranch::new(branch.clone())));
            }
            Err(_) => known.sure = false, // whether it was committed is not known
        }
    }

    /// What ended it decides whether it is known on.
    pub(crate) async fn ended(&self, open: &OpenBranch, ended: &Result<(), Error>) {
        let mut known = self.known.lock().await;
        match ended {
            Ok(()) => {
                open.ended.store(true, Ordering::Release);
                known.open.remove(&open.branch.branch_id);
            }
            Err(_) => known.sure = false,
        }
    }

    /// Something was given up halfway: the table is asked again.
    pub(crate) async fn doubt(&self) {
        self.known.lock().await.sure = false;
    }

    /// Those that are open, as the table says. One that stays is the same as before: who writes to it
    /// still keeps it from ending.
    async fn known(&self, place: ReadTarget<'_>) -> Result<MutexGuard<'_, BranchIndex>, Error> {
        let mut known = self.known.lock().await;
        if known.sure {
            return Ok(known);
        }
        let active = records::active(place).await?;
        let mut before = std::mem::take(&mut known.open);
        for branch in active {
            let id = branch.branch_id.clone();
            let open = before.remove(&id).unwrap_or_else(|| Arc::new(OpenBranch::new(branch)));
            known.open.insert(id, open);
        }
        for gone in before.values() {
            gone.ended.store(true, Ordering::Release);
        }
        known.sure = true;
        Ok(known)
    }
}
