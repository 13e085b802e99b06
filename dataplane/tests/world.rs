//! A pipeline over a real engine in a folder of its own, with rules that a test can change.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contract::policy::abac::Origin;
use contract::report::{Body, Entry, Finished, Started};
use contract::wire::{Numbers, Who};
use contract::{Entropy, Governance, KeyId, QueryId, RequestId, SharedClock, SystemClock};
use dataplane::agents::memory::{Embedder, Memories};
use dataplane::agents::triggers::Triggers;
use dataplane::encode::json;
use dataplane::governance::registry::Registry;
use dataplane::governance::report::{Cursor, Log};
use dataplane::model::{ModelMetrics, ModelSettings, Models};
use dataplane::pipeline::{
    CreditBudget, Gate, OwnershipState, PipelineCaches, QueryCounter, StartupGate, Storage, UsageLedger,
};
use dataplane::storage::branches::OpenBranches;
use dataplane::storage::catalogue::Catalogue;
use dataplane::storage::runtime_tables::RuntimeTables;
use dataplane::storage::stage_files::{ReachableHosts, StageFiles};
use dataplane::{Answer, Ask, Bounds, DeclaredAgent, Error, Names, Pipeline, testing};
use futures::StreamExt;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub struct World {
    pub pipeline: Arc<Pipeline>,
    pub rules: watch::Sender<Option<Arc<Governance>>>,
    pub ledger: Arc<UsageLedger>,
    pub ownership: watch::Sender<OwnershipState>,
    pub memories: Memories,
    pub triggers: Triggers,
    engine: engine::Engine,
    /// Reads the log on, so that nobody reads it from its beginning each time.
    tail: Mutex<Cursor>,
    /// Removed with the world.
    folder: tempfile::TempDir,
}

/// A world without policies and with the tables that most tests want.
pub async fn world() -> World {
    world_at(Arc::new(SystemClock)).await
}

/// The same, that gives up what nobody comes for.
pub async fn impatient(unread_for: Duration) -> World {
    let mut world = world().await;
    Arc::get_mut(&mut world.pipeline).unwrap().unread_for = unread_for;
    world
}

/// The same by another clock.
pub async fn world_at(clock: SharedClock) -> World {
    world_with(clock, &ModelSettings::default()).await
}

/// The same with models that are asked.
pub async fn world_with(clock: SharedClock, model: &ModelSettings) -> World {
    world_of(clock, model, 256 << 20).await
}

/// The same whose engine may use so many bytes of the disk; files that it reads have half of them.
pub async fn world_with_disk(temp_limit_bytes: u64) -> World {
    world_of(Arc::new(SystemClock), &ModelSettings::default(), temp_limit_bytes).await
}

async fn world_of(clock: SharedClock, model: &ModelSettings, temp_limit_bytes: u64) -> World {
    let folder = tempfile::tempdir().unwrap();
    let entropy = Entropy::seeded(7);
    let config = engine::Config {
        program: env!("CARGO_BIN_EXE_dataplane").into(),
        arguments: vec!["engine".into()],
        data: Some(folder.path().join("data")),
        run: folder.path().join("run"),
        memory_limit_bytes: 256 << 20,
        temp_limit_bytes,
        threads: 2,
        address_space_bytes: 16 << 30,
        sessions_max: 64,
        kept_statements: 16,
        mask_key: [2; 32],
    };
    let engine = engine::Engine::start(config.clone()).await.unwrap();
    let (rules, snapshots) = watch::channel(Some(Arc::new(testing::governance())));
    let log = Arc::new(Log::open(&folder.path().join("report"), &clock, &entropy).unwrap());
    let ledger = Arc::new(UsageLedger {
        log,
        budget: CreditBudget::new(None),
        query_counter: QueryCounter::unkept(),
        storage: Storage::default(),
    });
    let ownership = watch::Sender::new(OwnershipState::Open(ledger.clone()));
    let models = Models::new(model, &clock, ModelMetrics::default()).unwrap();
    let memories = Memories::embedded_by(Embedder::of(models.embedding));
    let triggers = Triggers::default();
    let pipeline = Arc::new(Pipeline {
        snapshots,
        engine: watch::channel(Some(engine.clone())).1,
        gate: Gate::new(100),
        startup_gate: StartupGate::new(ownership.subscribe()),
        remembered: PipelineCaches::default(),
        catalogue: Catalogue::new(config.clone()),
        runtime: RuntimeTables::new(config, None),
        branches: OpenBranches::default(),
        stage_files: StageFiles::new(folder.path().join("stages")),
        storage_hosts: ReachableHosts::default(),
        observer: Arc::new(triggers.asked.clone()),
        registry: Registry::default(),
        healer: models.healing,
        metrics: dataplane::metrics::Metrics::default(),
        tracer: telemetry::Tracer::default(),
        clock,
        entropy,
        tasks: TaskTracker::new(),
        unread_for: dataplane::pipeline::UNREAD_FOR,
        unread: dataplane::pipeline::UnreadAnswers::default(),
        closed: CancellationToken::new(),
    });
    let tail = Mutex::new(ledger.log.after(0));
    let world = World { pipeline, rules, ledger, ownership, memories, triggers, engine, tail, folder };
    for sql in [
        "create table customer (id integer, name varchar, region varchar, ssn varchar, balance decimal(12,2))",
        "insert into customer values (1, 'Ada', 'EU', '078-05-1120', 10.50), (2, 'Bob', 'US', '219-09-9999', 20.25), \
         (3, 'Cleo', 'EU', '457-55-5462', 30.75)",
    ] {
        world.run(sql).await.unwrap();
    }
    world
}

/// A whole answer.
#[derive(Debug)]
pub struct Got {
    pub answer: Answer,
    pub json: String,
}

impl World {
    pub fn ask(&self, who: KeyId, sql: &str) -> Ask {
        let (clock, entropy) = (&self.pipeline.clock, &self.pipeline.entropy);
        Ask {
            query_id: QueryId::fresh(clock.now(), entropy),
            request_id: RequestId::minted(clock.now(), entropy),
            sql: sql.to_owned(),
            params: vec![],
            types: vec![],
            who: Who::Key { key_id: who },
            peer: None,
            origin: Origin::Rest,
            by_dashboard: false,
            agent: DeclaredAgent::default(),
            timeout: Some(Duration::from_mins(1)),
            cancel: CancellationToken::new(),
            transaction: None,
            names: Names::default(),
            bounds: Bounds::default(),
            place: telemetry::Place::default(),
        }
    }

    /// As the owner.
    pub async fn run(&self, sql: &str) -> Result<Got, Error> {
        self.whole(self.ask(testing::owner_id(), sql)).await
    }

    /// As the analyst of region EU.
    pub async fn analyst(&self, sql: &str) -> Result<Got, Error> {
        self.whole(self.ask(testing::analyst_id(), sql)).await
    }

    pub async fn whole(&self, ask: Ask) -> Result<Got, Error> {
        let mut answer = self.pipeline.run(ask).await?;
        let (mut rows, mut first) = (String::new(), true);
        while let Some(batch) = answer.rows.next().await {
            let batch = batch?;
            json::rows(&mut rows, &answer.columns, &batch, Numbers::Json, &mut first);
        }
        Ok(Got { answer, json: rows })
    }

    /// A number, from the engine itself.
    pub async fn count(&self, sql: &str) -> i64 {
        let mut session = self.engine.session().await.unwrap();
        let statement = engine::Statement { sql: sql.to_owned(), params: vec![], writes: false };
        let deadline = std::time::Instant::now() + Duration::from_mins(1);
        let ran = session.run(statement, deadline, &CancellationToken::new()).await.unwrap();
        let engine::Outcome::Rows(mut rows) = ran else { panic!("no rows: {sql}") };
        let batch = rows.next().await.unwrap().unwrap();
        let numbers = batch.column(0).as_any().downcast_ref::<arrow::array::Int64Array>().unwrap();
        numbers.value(0)
    }

    /// A file of so many bytes that the engine may read, as another statement would have it.
    pub async fn spooled(&self, bytes: usize) -> engine::SpoolFile {
        let mut file = self.engine.file().await.unwrap();
        file.write(&vec![0; bytes]).await.unwrap();
        file
    }

    /// Files that wait to be read, or are.
    pub fn spool(&self) -> std::path::PathBuf {
        self.folder.path().join("run/spool")
    }

    /// A change by the engine itself, past everything of ours.
    pub async fn behind_our_back(&self, sql: &str) {
        let mut session = self.engine.session().await.unwrap();
        let statement = engine::Statement { sql: sql.to_owned(), params: vec![], writes: true };
        let deadline = std::time::Instant::now() + Duration::from_mins(1);
        session.run(statement, deadline, &CancellationToken::new()).await.unwrap();
    }

    pub fn change(&self, change: impl FnOnce(&mut Governance)) {
        self.rules.send_modify(|rules| {
            let mut changed = rules.as_deref().cloned().unwrap_or_else(testing::governance);
            changed.version += 1;
            change(&mut changed);
            *rules = Some(Arc::new(changed));
        });
    }

    /// The process id of the engine: whose process, of all that this one has started, has a file of this world open.
    pub fn engine_id(&self) -> u32 {
        let ours = self.folder.path().join("data");
        let holds = |process: &Path| {
            let files = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
            files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|file| file.starts_with(&ours))
        };
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut ids = processes.filter(|process| holds(&process.path()));
        ids.find_map(|process| process.file_name().to_str()?.parse().ok()).unwrap()
    }

    /// Everything in the log, in order.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries_after(0)
    }

    /// Entries behind this one.
    pub fn entries_after(&self, sequence: u64) -> Vec<Entry> {
        let mut tail = self.tail.lock().unwrap();
        if tail.position() > sequence {
            *tail = self.ledger.log.after(sequence);
        }
        let lines = tail.next(u64::MAX, usize::MAX, usize::MAX).unwrap();
        let entries = lines.iter().map(|line| serde_json::from_slice::<Entry>(line).unwrap());
        entries.filter(|entry| entry.sequence > sequence).collect()
    }

    /// The two entries of the last query.
    pub fn last(&self) -> (Started, Finished) {
        let mut entries = self.entries();
        let (finished, started) = (entries.pop().unwrap().body, entries.pop().unwrap().body);
        match (started, finished) {
            (Body::Started(started), Body::Finished(finished)) if started.query_id == finished.query_id => {
                (*started, *finished)
            }
            other => panic!("not the two entries of one query: {other:?}"),
        }
    }

    pub fn last_stages(&self) -> String {
        self.last().1.stages.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
    }

    pub async fn stop(self) {
        self.pipeline.catalogue.stop().await;
        self.pipeline.runtime.stop().await;
        self.engine.stop().await;
    }
}
