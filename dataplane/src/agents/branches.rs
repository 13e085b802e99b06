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
mod fields;
mod kept;
mod key;
mod merge;
mod merging;
mod remembered;
mod store;

use std::sync::Arc;

use contract::{Entropy, Timestamp};

use crate::Error;
use crate::agents::memory::{self, Memories, MemoryReach};
use crate::agents::ownership::Ownership;
use crate::pipeline::CallerContext;
use crate::storage::branches::{Branch, OpenBranch, OpenBranches, Status, record};
use crate::storage::system_tables::ReadTarget;

pub use changed::{ChangedRow, Changes, RowChange};
pub use conflict::{Conflict, Granularity, Strategy};
pub use fields::{BranchListing, MergeRequest, NewBranch, Wanted};
pub use kept::KeptRows;
pub use merging::{CONFLICTS_TOLD, Merged, Outcome};
pub use store::BranchPosition;

/// Branches that are open at a time.
const BRANCHES_MAX: usize = 20;
/// How long the record of a branch that has ended stays.
const KEPT_DAYS: i64 = 30;
/// The name that the log of changes has for the table of branches.
const TABLE: &str = "svc_branches.branches";

impl Branch {
    fn made(&self) -> Ownership<'_> {
        Ownership { what: "branch", by: self.made_by.as_deref(), agent_id: Some(&self.agent_id) }
    }

    /// With those of its tables that this caller may know of; where that is none of them, nothing of it is told.
    fn seen_by(mut self, standing: &CallerContext) -> Option<Self> {
        self.tables.retain(|table| standing.may_see_copy(&table.path(), table.origin.as_deref()));
        (!self.tables.is_empty()).then_some(self)
    }
}

/// The id, salt and time of a new branch.
#[derive(Debug, Clone)]
pub struct BranchSeed {
    branch_id: String,
    salt: String,
    now: Timestamp,
}

impl BranchSeed {
    pub fn new(entropy: &Entropy, now: Timestamp) -> Self {
        let id = || contract::ids::unguessable(entropy).replace('-', "");
        Self { branch_id: id(), salt: id(), now }
    }
}

/// The branches of one environment, with what is remembered on them.
#[derive(Debug, Clone, Default)]
pub struct Branches {
    open: OpenBranches,
    /// What is remembered on a branch ends with it.
    memories: Memories,
}

impl Branches {
    /// Those that are open, beside what is remembered in the environment.
    pub fn beside(open: OpenBranches, memories: Memories) -> Self {
        Self { open, memories }
    }

    /// The names of a branch's tables, that of memories too if any were left on it.
    pub async fn tables(&self, place: ReadTarget<'_>, branch_id: &str, now: Timestamp) -> Result<Vec<String>, Error> {
        let mut tables = self.open.open(place, branch_id, now).await?.branch.paths();
        if remembered::any(place, branch_id).await? {
            tables.push(memory::TABLE.to_owned());
        }
        Ok(tables)
    }

    /// Copies the tables as they are now.
    pub async fn create(&self, standing: &CallerContext, new: &Wanted, fresh: BranchSeed) -> Result<Branch, Error> {
        standing.caller.may_query(true).map_err(Error::Lacks)?;
        let _making = self.open.making().await;
        self.sweep(standing.into(), fresh.now).await?;
        if self.open.count(standing.into()).await? >= BRANCHES_MAX {
            return Err(Error::BranchesFull { limit: BRANCHES_MAX });
        }
        let created = store::create(standing, new, MemoryReach::of(standing).agent_id, fresh).await;
        self.open.made(&created).await;
        created
    }

    /// The open branch of this id, for a caller who reaches it.
    pub async fn reached(
        &self,
        standing: &CallerContext,
        branch_id: &str,
        now: Timestamp,
    ) -> Result<Arc<OpenBranch>, Error> {
        let open = self.open.open(standing.into(), branch_id, now).await?;
        let reach = MemoryReach::of(standing);
        if reach.bound && reach.agent_id != open.branch.agent_id {
            return Err(Error::BranchNotFound);
        }
        Ok(open)
    }

    /// The record of a branch that this caller reaches, as far as they may see it; also of one that has ended.
    pub async fn recorded(&self, standing: &CallerContext, branch_id: &str) -> Result<Branch, Error> {
        let reach = MemoryReach::of(standing);
        let found = record(standing.into(), branch_id).await?;
        let found = found.filter(|branch| !reach.bound || reach.agent_id == branch.agent_id);
        found.and_then(|branch| branch.seen_by(standing)).ok_or(Error::BranchNotFound)
    }

    /// Branches of every state, or of one, the newest first, as far as the caller may see them; those of its agent for
    /// a key that is bound to one. And where the next page begins, if there is one.
    pub async fn list(
        &self,
        standing: &CallerContext,
        listing: &BranchListing,
        behind: Option<&BranchPosition>,
        now: Timestamp,
    ) -> Result<(Vec<Branch>, Option<BranchPosition>), Error> {
        let status = listing.status()?;
        self.sweep(standing.into(), now).await?;
        let agent = MemoryReach::of(standing).narrowed(None)?;
        let (found, more) = store::page(standing, status, agent.as_deref(), behind).await?;
        let next = found.last().filter(|_| more).map(Branch::listed);
        Ok((found.into_iter().filter_map(|branch| branch.seen_by(standing)).collect(), next))
    }

    /// Ends it; nothing of it stays.
    pub async fn discard(&self, standing: &CallerContext, branch_id: &str, now: Timestamp) -> Result<(), Error> {
        let open = self.reached(standing, branch_id, now).await?;
        open.branch.made().may_change(standing)?;
        let _alone = open.alone()?;
        let ended = store::end(standing.into(), &open.branch, Status::Discarded, now).await;
        self.forget(&open, ended).await
    }

    /// Ends what has lived its time.
    pub async fn sweep(&self, place: ReadTarget<'_>, now: Timestamp) -> Result<(), Error> {
        for open in self.open.over(place, now).await? {
            // One that is being written to is left for the next time.
            let Ok(_alone) = open.alone() else { continue };
            let ended = store::end(place, &open.branch, Status::Expired, now).await;
            self.forget(&open, ended).await?;
        }
        Ok(())
    }

    /// What ended it decides whether it is known on.
    async fn forget(&self, open: &OpenBranch, ended: Result<(), Error>) -> Result<(), Error> {
        self.open.ended(open, &ended).await;
        if ended.is_ok() {
            self.memories.left(&open.branch.branch_id).await;
        }
        ended
    }

    /// Something was given up halfway: the table is asked again.
    pub async fn doubt(&self) {
        self.open.doubt().await;
    }
}
