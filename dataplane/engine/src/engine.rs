//! An environment's engine, as the rest of the product sees it.

use std::future::Future;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedMutexGuard, Semaphore, watch};
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::catalog::Catalog;
use crate::config::Config;
use crate::error::{Error, Kind};
use crate::line::Connected;
use crate::message::{Parsed, What};
use crate::process::{self, DYING, Line, Process};
use crate::session::{Described, Session, step_ends};
use crate::spool::{Spool, SpoolFile};
use crate::supervisor::{Stage, Supervisor};
use crate::turns::{SessionPermit, Turn, Turns};
use crate::waiting::{self, Waiting};

/// How long a new session waits for a child that is being restarted.
const RESTART: Duration = Duration::from_secs(10);
/// Row estimates may be this old.
const ESTIMATES: Duration = Duration::from_secs(5);
/// Sessions kept for questions about SQL; they execute nothing of a caller's.
const QUESTION_SESSIONS: usize = 4;

/// A handle; clones drive the same child. The last one gone ends it.
#[derive(Clone)]
pub struct Engine(Arc<Handle>);

/// What is between the clones and what sessions share too: gone with the last clone, with the sessions that wait.
struct Handle(Arc<Shared>);

pub(crate) struct Shared {
    stage: watch::Receiver<Stage>,
    stop: CancellationToken,
    permits: Arc<Semaphore>,
    tasks: TaskTracker,
    runtime: tokio::runtime::Handle,
    pool: Mutex<Vec<Session>>,
    waiting: Waiting,
    turns: Arc<Turns>,
    /// None for databases in memory.
    spool: Option<Arc<Spool>>,
    cached: Mutex<Option<Cached>>,
    /// Commits of definitions that have begun, and those that are over, however they ended.
    defining: AtomicU64,
    definitions: AtomicU64,
    /// Commits of rows.
    writes: AtomicU64,
}

/// A commit of definitions, over when this is dropped.
pub(crate) struct Defining(Arc<Shared>);

struct Cached {
    catalog: Arc<Catalog>,
    definitions: u64,
    writes: u64,
    at: Instant,
}

impl Engine {
    /// Starts the child and waits until it serves.
    ///
    /// # Errors
    /// When the first child does not come up; later ones are tried again and again.
    pub async fn start(config: Config) -> Result<Self, Error> {
        let permits = Arc::new(Semaphore::new(usize::from(config.sessions_max) + QUESTION_SESSIONS));
        let (process, control) = Process::launch(&config).await?;
        let spool = process::spool(&config).map_err(|e| Error::unavailable(format!("folders of the engine: {e}")))?;
        let spool = spool.map(|folder| Arc::new(Spool::new(folder, config.temp_limit_bytes / 2)));
        let (stage, staged) = watch::channel(Stage::Ready(Arc::clone(&process)));
        let stop = CancellationToken::new();
        let supervisor = Supervisor { config, stage, stop: stop.clone() };
        let tasks = TaskTracker::new();
        // A session of a database in memory ends with what is in it.
        let places = if supervisor.config.data.is_some() { waiting::places() } else { 0 };
        tasks.spawn(supervisor.run(process, control));
        let shared = Arc::new(Shared {
            stage: staged,
            stop,
            permits,
            tasks,
            runtime: tokio::runtime::Handle::current(),
            pool: Mutex::default(),
            waiting: Waiting::new(places),
            turns: Turns::new(places),
            spool,
            cached: Mutex::default(),
            defining: AtomicU64::new(0),
            definitions: AtomicU64::new(0),
            writes: AtomicU64::new(0),
        });
        shared.spawn(waiting::close_unused(Arc::downgrade(&shared), shared.stop.clone()));
        Ok(Self(Arc::new(Handle(shared))))
    }

    /// A connection that nobody used before, or that is as if nobody had.
    ///
    /// Where many want one at once, each waits for its turn, but not for long statements.
    pub async fn session(&self) -> Result<Session, Error> {
        let turn = self.0.turns.next().await;
        self.session_by(Instant::now() + RESTART, turn).await
    }

    async fn session_by(&self, deadline: Instant, turn: Option<Turn>) -> Result<Session, Error> {
        let permit = Arc::clone(&self.0.permits).try_acquire_owned();
        let permit = permit.map_err(|_| Error::unavailable("too many sessions of the engine are open"))?;
        let permit = match self.0.waiting.take(SessionPermit::new(permit, turn)) {
            Ok(session) => return Ok(session),
            Err(permit) => permit,
        };
        let (process, line) = self.0.line(deadline, None).await?;
        Ok(Session::new(Connected::new(Arc::clone(&self.0.0), process, line, permit)))
    }

    /// The tables as last committed; row estimates may be some seconds old.
    pub async fn catalog(&self) -> Result<Arc<Catalog>, Error> {
        if let Some(catalog) = self.0.cached() {
            return Ok(catalog);
        }
        // In this order: equal, they say that no commit of definitions was on its way.
        let definitions = self.0.definitions.load(Ordering::SeqCst);
        let defining = self.0.defining.load(Ordering::SeqCst);
        let writes = self.0.writes.load(Ordering::Acquire);
        let mut catalog = self.question::<Catalog>(What::Catalog, step_ends(), &CancellationToken::new()).await?;
        catalog.as_of = (definitions == defining).then_some(defining);
        let catalog = Arc::new(catalog);
        let cached = Cached { catalog: Arc::clone(&catalog), definitions, writes, at: Instant::now() };
        *self.0.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(cached);
        Ok(catalog)
    }

    /// Raised with every committed definition: a key for what depends on the catalog.
    pub fn schema_version(&self) -> u64 {
        self.0.definitions.load(Ordering::SeqCst)
    }

    /// Is this sure to be what a transaction sees that has begun before this is asked? It is while nobody has begun
    /// to commit a definition since it was read. A transaction's own catalog never is.
    pub fn is_current(&self, catalog: &Catalog) -> bool {
        catalog.as_of == Some(self.0.defining.load(Ordering::SeqCst))
    }

    /// As [`Session::describe`].
    pub async fn describe(&self, sql: &str, deadline: Instant, cancel: &CancellationToken) -> Result<Described, Error> {
        Described::read(self.question(What::Describe { sql: sql.to_owned() }, deadline, cancel).await?)
    }

    /// The types of a statement's parameters, where the engine can tell them without values.
    pub async fn parameters(
        &self,
        sql: &str,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<Option<String>>, Error> {
        self.question(What::Parameters { sql: sql.to_owned() }, deadline, cancel).await
    }

    /// As [`Session::parsed`].
    pub async fn parsed(&self, sql: &str, deadline: Instant, cancel: &CancellationToken) -> Result<Parsed, Error> {
        self.question(What::Parse { sql: sql.to_owned() }, deadline, cancel).await
    }

    async fn question<T: serde::de::DeserializeOwned>(
        &self,
        what: What,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<T, Error> {
        let idle = self.0.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut pooled = match idle {
            Some(pooled) => pooled,
            None => self.session_by(deadline.min(Instant::now() + RESTART), None).await?,
        };
        let answer = pooled.question(what, deadline, cancel).await;
        let mut pool = self.0.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() < QUESTION_SESSIONS {
            pool.push(pooled);
        }
        answer
    }

    /// An empty file for the engine to read, gone with whoever holds it. All files together take half the room that
    /// what is spilled may.
    pub async fn file(&self) -> Result<SpoolFile, Error> {
        let none = || Error::new(Kind::InvalidInput, "a database in memory reads no files");
        SpoolFile::create(self.0.spool.as_ref().ok_or_else(none)?).await
    }

    /// Bytes that all such files may take together.
    pub fn files_bytes_max(&self) -> u64 {
        self.0.spool.as_ref().map_or(0, |spool| spool.bytes_max())
    }

    /// Writes everything to the file and ends the child.
    pub async fn stop(&self) {
        self.0.stop.cancel();
        self.0.waiting.close();
        self.0.pool.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let mut stage = self.0.stage.clone();
        // An error means that the supervisor is gone, and the child with it.
        let _ = stage.wait_for(|stage| matches!(stage, Stage::Stopped)).await;
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    pub fn is_alive(&self) -> bool {
        matches!(&*self.0.stage.borrow(), Stage::Ready(process) if process.is_alive())
    }

    /// The engine that this is built for.
    pub const fn version() -> &'static str {
        "1.5.5"
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("alive", &self.is_alive()).finish_non_exhaustive()
    }
}

impl Deref for Handle {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.waiting.close();
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Shared {
    /// Nobody has this session any more: it is reset and waits, if it may, or ends.
    pub(crate) fn rest(self: Arc<Self>, mut connected: OwnedMutexGuard<Connected>) {
        if !connected.can_be_reset() || !self.waiting.reserve() {
            return;
        }
        if let Some(permit) = connected.waits() {
            let session = Arc::clone(OwnedMutexGuard::mutex(&connected));
            drop(connected);
            self.waiting.add(Some(session), Instant::now());
            drop(permit); // whose turn is next finds it there
            return;
        }
        let shared = Arc::clone(&self);
        self.spawn(async move {
            let reset = connected.reset().await;
            let session = Arc::clone(OwnedMutexGuard::mutex(&connected));
            drop(connected);
            shared.waiting.add(reset.is_ok().then_some(session), Instant::now());
        });
    }

    pub(crate) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// A new line to the child that serves, or the next one that will. One that a caller believes
    /// dead is taken only when it is still there after a while.
    pub(crate) async fn line(
        &self,
        deadline: Instant,
        dead: Option<&Arc<Process>>,
    ) -> Result<(Arc<Process>, Line), Error> {
        let mut stage = self.stage.clone();
        let mut dead = dead;
        let patience = Instant::now() + DYING;
        loop {
            let (process, why) = match &*stage.borrow_and_update() {
                Stage::Ready(process) => (Some(Arc::clone(process)), None),
                Stage::Restarting(why) => (None, why.clone()),
                Stage::Stopped => return Err(Error::unavailable("the engine is stopped")),
            };
            let believed = |process: &Arc<Process>| !dead.is_some_and(|dead| Arc::ptr_eq(dead, process));
            if let Some(process) = process.filter(|process| process.is_alive() && believed(process))
                && let Ok(line) = process.open()
            {
                return Ok((process, line));
            }
            let until = if dead.is_some() { deadline.min(patience) } else { deadline };
            match timeout_at(until.into(), stage.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Error::unavailable("the engine is stopped")),
                Err(_) if until < deadline => dead = None,
                Err(_) => {
                    return Err(why.unwrap_or_else(|| Error::unavailable("the engine is not running")));
                }
            }
        }
    }

    pub(crate) fn wrote(&self) {
        self.writes.fetch_add(1, Ordering::Release);
    }

    /// A definition is about to be committed.
    pub(crate) fn defining(self: &Arc<Self>) -> Defining {
        self.defining.fetch_add(1, Ordering::SeqCst);
        Defining(Arc::clone(self))
    }

    /// For what is finished whether or not anybody waits for it.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.tasks.spawn_on(task, &self.runtime)
    }

    fn cached(&self) -> Option<Arc<Catalog>> {
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = cached.as_ref()?;
        let current = cached.definitions == self.definitions.load(Ordering::SeqCst)
            && (cached.writes == self.writes.load(Ordering::Acquire) || cached.at.elapsed() < ESTIMATES);
        current.then(|| Arc::clone(&cached.catalog))
    }
}

impl Drop for Defining {
    fn drop(&mut self) {
        self.0.definitions.fetch_add(1, Ordering::SeqCst);
    }
}
