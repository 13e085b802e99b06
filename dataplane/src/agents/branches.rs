//! Branches: tables of the environment, copied as they are, to be changed apart and merged back.
//!
//! A branch has its own copy of each of its tables, with their keys and checks, and a second copy
//! that nobody writes to: the base. Both are made when the branch is, in one transaction, so that no
//! later write of the mainline reaches it. Merging is row by row and three-way (`merge`): base,
//! mainline, branch; in one transaction with the branch's own end. What is remembered on it merges too (`remembered`).
//!
//! A statement is on a branch when its search path says so. Names, policies, grants and the audit
//! know its tables as the mainline's: whatever governs `main.orders` governs the branch's copy, and
//! only the text for the engine names the copy. Tables that the branch does not have are not there.

mod changed;
mod conflict;
mod ending;
mod fields;
mod kept;
mod key;
mod merge;
mod merging;
mod remembered;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::{Entropy, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, MutexGuard, OwnedRwLockReadGuard, RwLock};

use crate::Error;
use crate::agents::memory::{Memories, Reach};
use crate::agents::ownership::Made;
use crate::pipeline::Standing;
use crate::storage::system_tables::Place;

pub use changed::{Change, Changed, Changes};
pub use conflict::{Conflict, Granularity, Strategy};
pub use ending::Status;
pub use fields::{Listing, Merging, NewBranch, Wanted};
pub use kept::Kept;
pub use merging::{CONFLICTS_TOLD, Merged, Outcome};
pub use store::Listed;
pub(crate) use store::origin;

/// Branches that are open at a time.
const BRANCHES_MAX: usize = 20;
/// How long the record of a branch that has ended stays.
const KEPT_DAYS: i64 = 30;
/// Before the id in the name that a search path has for a branch.
const PREFIX: &str = "branch_";
/// The name that the log of changes has for the table of branches.
const TABLE: &str = "svc_branches.branches";

/// The id of the branch that a schema of this name is.
pub fn named(schema: &str) -> Option<String> {
    let id = schema.strip_prefix(PREFIX)?;
    (id.len() == 32 && id.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))).then(|| id.to_owned())
}

/// The schema of a statement that is asked on the branch of this id.
pub fn schema_on(branch_id: &str) -> Result<String, Error> {
    let schema = schema_name(branch_id);
    if named(&schema).is_some() { Ok(schema) } else { Err(Error::BranchNotFound) }
}

/// The name that a search path has for it.
pub fn schema_name(branch_id: &str) -> String {
    format!("{PREFIX}{branch_id}")
}

/// One branch, open or ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    pub branch_id: String,
    pub name: String,
    pub description: Option<String>,
    pub agent_id: String,
    pub made_by: Option<String>,
    pub tables: Vec<Copied>,
    pub base_snapshot: String,
    pub status: Status,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// Makes the ids of its conflicts, which would tell of keys without it.
    salt: String,
}

/// A table of a branch, as it was when it was copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    pub schema: String,
    pub name: String,
    pub columns: Vec<engine::Column>,
    pub primary_key: Vec<String>,
    /// The columns that tell its rows apart where it has no primary key, as they were given with the branch. Before
    /// they could be given there are none.
    #[serde(default)]
    pub given_key: Vec<String>,
    /// Its other keys; of a copy that was made before they were written down it is not known.
    #[serde(default)]
    pub unique: Option<Vec<Vec<String>>>,
    /// What its CHECKs are about; not known as above.
    #[serde(default)]
    pub checks: Option<Vec<Vec<String>>>,
    /// What was written down with it: who may read the copy.
    #[serde(default)]
    pub origin: Option<String>,
}

impl Copied {
    /// The columns of its keys beside the primary one, or of its CHECKs. What is not known may be of all of them.
    fn known(&self, written: Option<&Vec<Vec<String>>>) -> Vec<Vec<String>> {
        let all = || vec![self.columns.iter().map(|column| column.name.clone()).collect()];
        written.cloned().unwrap_or_else(all)
    }

    /// As policies name it.
    pub fn path(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }
}

impl Branch {
    fn made(&self) -> Made<'_> {
        Made { what: "branch", by: self.made_by.as_deref(), agent_id: Some(&self.agent_id) }
    }

    /// The paths of its tables.
    pub fn paths(&self) -> Vec<String> {
        self.tables.iter().map(Copied::path).collect()
    }

    /// The tables whose rows nothing tells apart.
    pub fn keyless(&self) -> Vec<String> {
        let keyless = |table: &&Copied| table.primary_key.is_empty() && table.given_key.is_empty();
        self.tables.iter().filter(keyless).map(Copied::path).collect()
    }

    /// With those of its tables that this caller may know of; where that is none of them, nothing of it is told.
    fn seen_by(mut self, standing: &Standing) -> Option<Self> {
        self.tables.retain(|table| standing.may_see_copy(&table.path(), table.origin.as_deref()));
        (!self.tables.is_empty()).then_some(self)
    }
}

/// A branch that can be read and written.
#[derive(Debug)]
pub struct Open {
    pub branch: Branch,
    /// Shared by who writes, alone for who ends it.
    gate: Arc<RwLock<()>>,
    ended: AtomicBool,
}

/// The right to write to a branch; it does not end meanwhile.
pub type Writing = OwnedRwLockReadGuard<()>;

impl Open {
    fn new(branch: Branch) -> Self {
        Self { branch, gate: Arc::default(), ended: AtomicBool::new(false) }
    }

    pub async fn writing(&self) -> Result<Writing, Error> {
        let writing = Arc::clone(&self.gate).read_owned().await;
        if self.ended.load(Ordering::Acquire) { Err(Error::BranchNotFound) } else { Ok(writing) }
    }

    /// Its tables: known as the mainline's, stored apart.
    pub fn tables(&self) -> Vec<sql::Table> {
        let column = |column: &engine::Column| sql::Column {
            name: column.name.clone(),
            type_name: column.type_name.clone(),
            nullable: column.nullable,
            comment: None,
        };
        let table = |table: &Copied| {
            let columns = table.columns.iter().map(column).collect();
            let known = sql::Table::new(&table.schema, &table.name, columns).with_primary_key(&table.primary_key);
            let known =
                known.with_unique(&table.known(table.unique.as_ref())).with_checks(&table.known(table.checks.as_ref()));
            known.with_origin(table.origin.clone()).stored_in(store::own_schema(&self.branch.branch_id))
        };
        self.branch.tables.iter().map(table).collect()
    }

    /// The table's name in the log of changes.
    pub fn names(&self, path: &str) -> String {
        format!("{}.{path}", schema_name(&self.branch.branch_id))
    }
}

/// What a new branch needs of the world.
#[derive(Debug, Clone)]
pub struct Fresh {
    branch_id: String,
    salt: String,
    now: Timestamp,
}

impl Fresh {
    pub fn new(entropy: &Entropy, now: Timestamp) -> Self {
        let id = || contract::ids::unguessable(entropy).replace('-', "");
        Self { branch_id: id(), salt: id(), now }
    }
}

/// The branches of one environment.
#[derive(Debug, Clone, Default)]
pub struct Branches(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    known: Mutex<Known>,
    /// One is made at a time.
    making: Mutex<()>,
    /// What is remembered on a branch ends with it.
    memories: Memories,
}

/// Those that are open.
#[derive(Debug, Default)]
struct Known {
    open: BTreeMap<String, Arc<Open>>,
    /// It is what the table says.
    sure: bool,
}

impl Branches {
    /// Beside what is remembered in the environment.
    pub fn beside(memories: Memories) -> Self {
        Self(Arc::new(Inner { memories, ..Inner::default() }))
    }

    /// Has anybody left a memory on this branch?
    pub async fn remember(&self, place: Place<'_>, branch_id: &str) -> Result<bool, Error> {
        remembered::any(place, branch_id).await
    }

    /// Copies the tables as they are now.
    pub async fn create(&self, standing: &Standing, new: &Wanted, fresh: Fresh) -> Result<Branch, Error> {
        standing.caller.may_query(true).map_err(Error::Lacks)?;
        let _making = self.0.making.lock().await;
        self.sweep(standing.into(), fresh.now).await?;
        if self.known(standing.into()).await?.open.len() >= BRANCHES_MAX {
            return Err(Error::BranchesFull { limit: BRANCHES_MAX });
        }
        let created = store::create(standing, new, Reach::of(standing).agent_id, fresh).await;
        let mut known = self.0.known.lock().await;
        match &created {
            Ok(branch) => {
                known.open.insert(branch.branch_id.clone(), Arc::new(Open::new(branch.clone())));
            }
            Err(_) => known.sure = false, // whether it was committed is not known
        }
        drop(known);
        created
    }

    /// The open branch of this id.
    pub async fn open(&self, place: Place<'_>, branch_id: &str, now: Timestamp) -> Result<Arc<Open>, Error> {
        let found = self.known(place).await?.open.get(branch_id).cloned();
        match found.filter(|open| now < open.branch.expires_at) {
            Some(open) => Ok(open),
            None => match store::record(place, branch_id).await?.map(|branch| branch.status) {
                Some(Status::Merged) => Err(Error::BranchClosed { status: Status::Merged.as_str() }),
                _ => Err(Error::BranchNotFound),
            },
        }
    }

    /// The same, for a caller who reaches it.
    pub async fn reached(&self, standing: &Standing, branch_id: &str, now: Timestamp) -> Result<Arc<Open>, Error> {
        let open = self.open(standing.into(), branch_id, now).await?;
        let reach = Reach::of(standing);
        if reach.bound && reach.agent_id != open.branch.agent_id {
            return Err(Error::BranchNotFound);
        }
        Ok(open)
    }

    /// The record of a branch that this caller reaches, as far as they may see it; also of one that has ended.
    pub async fn recorded(&self, standing: &Standing, branch_id: &str) -> Result<Branch, Error> {
        let reach = Reach::of(standing);
        let found = store::record(standing.into(), branch_id).await?;
        let found = found.filter(|branch| !reach.bound || reach.agent_id == branch.agent_id);
        found.and_then(|branch| branch.seen_by(standing)).ok_or(Error::BranchNotFound)
    }

    /// Branches of every state, or of one, the newest first, as far as the caller may see them; those of its agent for
    /// a key that is bound to one. And where the next page begins, if there is one.
    pub async fn list(
        &self,
        standing: &Standing,
        listing: &Listing,
        behind: Option<&Listed>,
        now: Timestamp,
    ) -> Result<(Vec<Branch>, Option<Listed>), Error> {
        let status = listing.status()?;
        self.sweep(standing.into(), now).await?;
        let agent = Reach::of(standing).narrowed(None)?;
        let (found, more) = store::page(standing, status, agent.as_deref(), behind).await?;
        let next = found.last().filter(|_| more).map(Branch::listed);
        Ok((found.into_iter().filter_map(|branch| branch.seen_by(standing)).collect(), next))
    }

    /// Ends it; nothing of it stays.
    pub async fn discard(&self, standing: &Standing, branch_id: &str, now: Timestamp) -> Result<(), Error> {
        let open = self.reached(standing, branch_id, now).await?;
        open.branch.made().may_change(standing)?;
        let _alone = alone(&open)?;
        let ended = store::end(standing.into(), &open.branch, Status::Discarded, now).await;
        self.forget(&open, ended).await
    }

    /// Ends what has lived its time.
    pub async fn sweep(&self, place: Place<'_>, now: Timestamp) -> Result<(), Error> {
        let known = self.known(place).await?;
        let over: Vec<_> = known.open.values().filter(|open| now >= open.branch.expires_at).cloned().collect();
        drop(known);
        for open in over {
            // One that is being written to is left for the next time.
            let Ok(_alone) = alone(&open) else { continue };
            let ended = store::end(place, &open.branch, Status::Expired, now).await;
            self.forget(&open, ended).await?;
        }
        Ok(())
    }

    /// What ended it decides whether it is known on.
    async fn forget(&self, open: &Open, ended: Result<(), Error>) -> Result<(), Error> {
        let mut known = self.0.known.lock().await;
        match &ended {
            Ok(()) => {
                open.ended.store(true, Ordering::Release);
                known.open.remove(&open.branch.branch_id);
            }
            Err(_) => known.sure = false,
        }
        drop(known);
        if ended.is_ok() {
            self.0.memories.left(&open.branch.branch_id).await;
        }
        ended
    }

    /// Something was given up halfway: the table is asked again.
    pub async fn doubt(&self) {
        self.0.known.lock().await.sure = false;
    }

    /// Those that are open, as the table says. One that stays is the same as before: who writes to it
    /// still keeps it from ending.
    async fn known(&self, place: Place<'_>) -> Result<MutexGuard<'_, Known>, Error> {
        let mut known = self.0.known.lock().await;
        if known.sure {
            return Ok(known);
        }
        let active = store::active(place).await?;
        let mut before = std::mem::take(&mut known.open);
        for branch in active {
            let id = branch.branch_id.clone();
            let open = before.remove(&id).unwrap_or_else(|| Arc::new(Open::new(branch)));
            known.open.insert(id, open);
        }
        for gone in before.values() {
            gone.ended.store(true, Ordering::Release);
        }
        known.sure = true;
        Ok(known)
    }
}

/// The right to end it, if nobody writes to it.
fn alone(open: &Open) -> Result<tokio::sync::OwnedRwLockWriteGuard<()>, Error> {
    let alone = Arc::clone(&open.gate).try_write_owned().map_err(|_| Error::BranchBusy)?;
    if open.ended.load(Ordering::Acquire) { Err(Error::BranchNotFound) } else { Ok(alone) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_of_ours_is_a_branch() {
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(named(&schema_name(id)).as_deref(), Some(id));
        for other in ["main", "branch_", "branch_of_mine", "branch_0123456789ABCDEF0123456789ABCDEF"] {
            assert_eq!(named(other), None, "{other}");
        }
    }

    #[test]
    fn a_table_of_a_branch_of_before_is_read_and_has_no_given_key() {
        let written = r#"{"schema": "main", "name": "note", "columns": [], "primary_key": []}"#;
        let table: Copied = serde_json::from_str(written).unwrap();
        assert!(table.given_key.is_empty() && table.unique.is_none());
    }
}
