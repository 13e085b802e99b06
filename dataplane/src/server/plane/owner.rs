//! Opens what the state folder holds, once the folder is ours, and keeps it going.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use contract::{Entropy, SharedClock};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::engines::Engines;
use crate::governance::disk::Disk;
use crate::governance::follow::Follower;
use crate::governance::link::Link;
use crate::governance::report::Log;
use crate::governance::sealing::SnapshotSeal;
use crate::governance::{ship, stored};
use crate::pipeline::{CreditBudget, OwnershipState, QueryCounter, Storage, UsageLedger};
use crate::server::folder_lock::Claim;
use crate::shutdown::Ending;
use crate::storage::stage_files::StageFiles;

pub(super) struct Owner {
    pub claim: Arc<Claim>,
    pub folder: Folder,
    pub ownership: watch::Sender<OwnershipState>,
    pub engines: Engines,
    pub ending: Ending,
    /// Set when the folder cannot be opened.
    pub failed: CancellationToken,
    /// What works on the folder; let go before the folder is.
    pub keeping: TaskTracker,
    pub closing: CancellationToken,
    /// A successor waits: it ships what is left of the log.
    pub handed_over: CancellationToken,
}

/// How the folder is opened.
#[derive(Clone)]
pub(super) struct Folder {
    pub state: PathBuf,
    /// Where the engine keeps the environment's data.
    pub data: PathBuf,
    pub stage_files: StageFiles,
    pub follower: Arc<Follower>,
    pub link: Link,
    pub clock: SharedClock,
    pub entropy: Entropy,
    /// Of credentials in the snapshot that is kept.
    pub seal: SnapshotSeal,
}

impl Folder {
    /// For its owner alone. Blocking.
    pub fn open(&self) -> io::Result<Arc<UsageLedger>> {
        self.follower.settle(Disk::new(&self.state, self.seal.clone()));
        self.stage_files.forget_unfinished()?;
        let log = Arc::new(Log::open(&self.state.join("report"), &self.clock, &self.entropy)?);
        let budget = CreditBudget::new(Some((self.link.clone(), log.id().to_owned())));
        let query_counter = QueryCounter::open(&self.state)?;
        Ok(Arc::new(UsageLedger { log, budget, query_counter, storage: Storage::default() }))
    }
}

impl Owner {
    /// Takes over, unless the usage ledger is open already, and keeps an engine until everything is closed.
    pub async fn run(self, ledger: Option<Arc<UsageLedger>>) {
        let ledger = match ledger {
            Some(ledger) => ledger,
            None => match self.take_over().await {
                Some(ledger) => ledger,
                None => return,
            },
        };
        self.keep(&ledger);
        let open = || {
            self.ownership.send_if_modified(|ownership| {
                let opens = !matches!(ownership, OwnershipState::Open(_));
                if opens {
                    tracing::info!("statements run");
                    *ownership = OwnershipState::Open(Arc::clone(&ledger));
                }
                opens
            });
        };
        self.ending.closed.run_until_cancelled(self.engines.keep(open)).await;
    }

    async fn take_over(&self) -> Option<Arc<UsageLedger>> {
        tracing::info!("parked: another process owns the state folder");
        self.ending.closed.run_until_cancelled(self.claim.take()).await?;
        tracing::info!("the state folder is ours");
        let folder = self.folder.clone();
        match tokio::task::spawn_blocking(move || folder.open()).await {
            Ok(Ok(ledger)) => Some(ledger),
            Ok(Err(error)) => {
                tracing::error!(%error, "the state folder cannot be opened");
                self.failed.cancel();
                self.ending.leaving.cancel();
                None
            }
            Err(_) => None,
        }
    }

    /// The log goes to disk and to the control plane, as does what there is on disk; the credits that
    /// are held stay held.
    fn keep(&self, ledger: &UsageLedger) {
        self.keeping.spawn(ledger.budget.clone().keep(self.closing.clone()));
        self.keeping.spawn(Arc::clone(&ledger.log).flush(self.closing.clone()));
        let storage = ledger.storage.clone();
        let measuring = stored::run(
            [self.folder.data.clone(), self.folder.stage_files.root().to_owned()],
            self.folder.link.clone(),
            move |bytes| storage.told(bytes),
            self.closing.clone(),
        );
        self.keeping.spawn(measuring);
        let shipping = ship::run(Arc::clone(&ledger.log), self.folder.link.clone(), self.closing.clone());
        let handed_over = self.handed_over.clone();
        self.keeping.spawn(async move { handed_over.run_until_cancelled(shipping).await });
    }
}
