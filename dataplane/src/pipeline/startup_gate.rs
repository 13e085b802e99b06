//! Before stage 1: a statement waits here until this process owns the data.
//!
//! While another data plane hands over, this one is parked: callers are let in and their statements
//! wait, at most a thousand, each at most its own timeout. Who is refused here has asked nothing
//! yet: it is neither billed nor written down, because there is no log to write into.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use contract::wire::TIMEOUT_MS_MAX;
use tokio::sync::watch;

use super::authorization::transaction_recheck::RecheckedStatement;
use super::stages::semaphore::WaitingPlace;
use super::{CreditBudget, Pipeline, Query, QueryCounter, Result, Storage};
use crate::governance::report::Log;
use crate::storage::branches;
use crate::{Ask, Error, Names};

const WAITING_MAX: usize = 1_000;

/// Whether statements can run here.
#[derive(Debug, Clone)]
pub enum OwnershipState {
    /// This process starts.
    Opening,
    /// Another process has the data.
    Parked,
    /// The engine has been started, or will be.
    Open(Arc<UsageLedger>),
}

impl OwnershipState {
    fn ledger(&self) -> Option<Arc<UsageLedger>> {
        match self {
            Self::Open(ledger) => Some(Arc::clone(ledger)),
            Self::Opening | Self::Parked => None,
        }
    }
}

/// The records that only the owner of the data writes into.
#[derive(Debug)]
pub struct UsageLedger {
    pub log: Arc<Log>,
    pub budget: CreditBudget,
    pub query_counter: QueryCounter,
    pub storage: Storage,
}

/// The places to wait in, and the state of ownership that is waited for.
#[derive(Debug)]
pub struct StartupGate {
    ownership: watch::Receiver<OwnershipState>,
    waiting: AtomicUsize,
}

impl StartupGate {
    pub fn new(ownership: watch::Receiver<OwnershipState>) -> Self {
        Self { ownership, waiting: AtomicUsize::new(0) }
    }

    /// The usage ledger, if this process owns the data.
    pub fn opened(&self) -> Option<Arc<UsageLedger>> {
        self.ownership.borrow().ledger()
    }

    /// The usage ledger, once this process owns the data; and whether it was waited for.
    async fn ledger(&self, pipeline: &Pipeline, ask: &Ask, timeout: Duration) -> Result<(Arc<UsageLedger>, bool)> {
        if let Some(ledger) = self.opened() {
            return Ok((ledger, false));
        }
        let _place = WaitingPlace::join(&self.waiting, WAITING_MAX).ok_or(Error::ConcurrentLimit)?;
        let mut ownership = self.ownership.clone();
        let opened = async {
            let open = ownership.wait_for(|ownership| ownership.ledger().is_some()).await;
            open.ok().and_then(|ownership| ownership.ledger()).ok_or(Error::ShuttingDown)
        };
        tokio::select! {
            ledger = opened => ledger.map(|ledger| (ledger, true)),
            () = ask.cancel.cancelled() => Err(Error::Cancelled),
            () = pipeline.closed.cancelled() => Err(Error::ShuttingDown),
            () = tokio::time::sleep(timeout) => Err(Error::Timeout(timeout)),
        }
    }
}

/// Lets a statement in. Its time counts from here.
pub(super) async fn enter(pipeline: &Pipeline, ask: Ask) -> Result<Query> {
    let settings = pipeline.rules()?.environment.settings.query_timeout();
    let timeout = ask.timeout.unwrap_or(settings).min(Duration::from_millis(TIMEOUT_MS_MAX));
    let deadline = Instant::now() + timeout;
    if pipeline.closed.is_cancelled() {
        return Err(Error::ShuttingDown);
    }
    let (ledger, waited) = pipeline.startup_gate.ledger(pipeline, &ask, timeout).await?;
    let closed = pipeline.closed.clone();
    let mut ask = ask;
    let branch = branches::named(&ask.names.schema);
    if branch.is_some() {
        ask.names.schema = Names::default().schema; // its tables are known by the mainline's names
        ask.names.searched.clear();
    }
    let (started, committing, under) = (AtomicBool::new(false), AtomicBool::new(false), OnceLock::new());
    let (judged_by, once) = (None, None);
    Ok(Query { ask, once, branch, judged_by, timeout, deadline, ledger, waited, closed, started, committing, under })
}

/// A statement of an open transaction that is judged once more, and not run.
pub(super) fn again(pipeline: &Pipeline, statement: &RecheckedStatement) -> Result<Query> {
    let timeout = pipeline.rules()?.environment.settings.query_timeout();
    Ok(Query {
        ask: statement.ask.clone(),
        once: None,
        branch: statement.branch.clone(),
        judged_by: Some(statement.seen.clone()),
        timeout,
        deadline: Instant::now() + timeout,
        ledger: pipeline.startup_gate.opened().ok_or(Error::NotReady)?,
        waited: false,
        closed: pipeline.closed.clone(),
        started: AtomicBool::new(false),
        committing: AtomicBool::new(false),
        under: OnceLock::new(),
    })
}
