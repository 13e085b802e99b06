//! The runtime under everything that goes wrong: workers stopped past their leases, workers and the
//! control plane killed, answers lost after the commit, PostgreSQL crashed and restarted, its
//! sessions cut, its tables locked until the pool is empty. Then: no lost lease was accepted, no
//! task has two attempts at once, each ended once, and nothing waited longer than lease and sweep.
//!
//! The database's clock, which leases go by, runs ten times as fast as the workers' own: a lease of
//! thirty seconds is lost in three. `./dev soak runtime` runs it for half an hour.

mod checker;
mod fault;
mod proxy;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use contract::Entropy;
use fault::Fault;
use proxy::Wire;
use serde_json::{Value, json};
use tests::runtime::{ControlPlane, Database, Worker, history, soak_secs};

const SEED: u64 = 20_261_122;
const WORKERS: usize = 6;
/// One answer in so many is lost.
const LOST_ANSWERS: u8 = 25;
/// How much faster the database's clock runs.
const SPEED: f64 = 10.0;
/// The sweeper's period, and what it may be late.
const SWEEP_SECS: f64 = 10.0 + 5.0;
/// For how long things go wrong at least, unless `SLUICE_SOAK_SECS` says otherwise: each once, and until
/// somebody has come back to a lease that was lost.
const CHAOS_SECS: u64 = 30;
/// How much longer at most.
const LONGER: Duration = Duration::from_mins(2);
/// Tasks that are new before something goes wrong.
const TASKS: u32 = 25;
/// Tasks that may be open before there are more: what workers get through while they drain.
const OPEN_MAX: i64 = 200;
/// By when what was begun has ended.
const DRAIN: Duration = Duration::from_mins(3);

struct Chaos {
    database: Database,
    control: ControlPlane,
    wire: Wire,
    workers: Vec<Worker>,
    authorization: String,
    entropy: Entropy,
    seeds: u64,
    folder: std::path::PathBuf,
    began: Instant,
    /// When nobody could have swept: seconds since the beginning.
    outages: Vec<(f64, f64)>,
    /// What will go wrong next, the last first.
    deck: Vec<Fault>,
    done: BTreeMap<Fault, u32>,
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_survive_whatever_goes_wrong() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let mut chaos = Chaos::start(folder.path()).await;
    let began_at = chaos.clock_begins().await;
    let lasts = Duration::from_secs(soak_secs().unwrap_or(CHAOS_SECS));
    let mut tasks = 0_u32;
    while chaos.began.elapsed() < lasts || (chaos.lacks() && chaos.began.elapsed() < lasts + LONGER) {
        chaos.until_open_at_most(OPEN_MAX).await;
        for _ in 0..TASKS {
            chaos.dispatch(&mut tasks).await;
        }
        chaos.something_happens().await;
    }
    chaos.drain().await;
    let told = read(&history(folder.path()));
    let client = chaos.database.client().await;
    checker::check(&client, &told).await;
    chaos.nothing_waited_too_long(&checker::lateness(&client).await, began_at);
    chaos.was_wild_enough(&told);
    drop(client);
    chaos.stop().await;
}

impl Chaos {
    async fn start(folder: &Path) -> Self {
        let database = Database::start(folder).await;
        let control = ControlPlane::start(&database).await;
        let authorization = control.signup().await;
        let entropy = Entropy::seeded(SEED);
        let wire = Wire::open(control.http, Entropy::seeded(SEED + 1), LOST_ANSWERS).await;
        let mut chaos = Self {
            database,
            control,
            wire,
            workers: Vec::new(),
            authorization,
            entropy,
            seeds: SEED,
            folder: folder.to_owned(),
            began: Instant::now(),
            outages: Vec::new(),
            deck: Vec::new(),
            done: BTreeMap::new(),
        };
        for _ in 0..WORKERS {
            let worker = chaos.worker();
            chaos.workers.push(worker);
        }
        chaos
    }

    fn worker(&mut self) -> Worker {
        self.seeds += 1;
        let url = format!("http://{}", self.wire.address);
        Worker::start(&url, &self.authorization, &history(&self.folder), self.seeds)
    }

    /// The database's clock runs fast from now on; answers its time, in seconds.
    async fn clock_begins(&mut self) -> f64 {
        let client = self.database.client().await;
        let fast = format!(
            "do $do$ declare began timestamptz := clock_timestamp(); begin
               execute format($fn$create or replace function svc_runtime.clock() returns timestamptz
                 language sql stable as $$ select timestamptz %L + (clock_timestamp() - timestamptz %L) * {SPEED} $$ $fn$,
                 began, began);
             end $do$"
        );
        client.batch_execute(&fast).await.unwrap();
        self.began = Instant::now();
        let now = client.query_one("select extract(epoch from svc_runtime.clock())::float8", &[]).await.unwrap();
        now.get(0)
    }

    fn dice(&self, sides: usize) -> usize {
        let [byte] = self.entropy.bytes::<1>();
        usize::from(byte) % sides
    }

    /// A new task, asked for until somebody has said that it is there.
    async fn dispatch(&mut self, tasks: &mut u32) {
        *tasks += 1;
        let body =
            json!({"kind": "build", "project_id": "p1", "work_item_key": format!("item {tasks}"), "max_retries": 5});
        let url = format!("http://{}/v2/runtime/tasks", self.control.http);
        loop {
            let request = reqwest::Client::new().post(&url).header("authorization", &self.authorization);
            match request.json(&body).send().await {
                Ok(answer) if answer.status().as_u16() == 200 => return,
                Ok(answer) if answer.status().is_client_error() => panic!("{}", answer.text().await.unwrap()),
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// What was begun ends, until so many are left.
    async fn until_open_at_most(&self, tasks: i64) {
        let client = self.database.client().await;
        let open = "select count(*) from svc_runtime.tasks where completed_at is null";
        let ended = async {
            while client.query_one(open, &[]).await.unwrap().get::<_, i64>(0) > tasks {
                self.rest(200).await;
            }
        };
        if tokio::time::timeout(DRAIN, ended).await.is_err() {
            let oldest = "select id || ' ' || status || ' ' || coalesce(not_before::text, '') || ' ' || coalesce(blocked_reason, '')
                          from svc_runtime.tasks where completed_at is null order by created_at limit 5";
            let rows = client.query(oldest, &[]).await.unwrap();
            panic!("stuck: {:?}", rows.iter().map(|row| row.get(0)).collect::<Vec<String>>());
        }
    }

    async fn rest(&self, millis: u64) {
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    /// Whether something has yet to happen.
    fn lacks(&self) -> bool {
        let told = std::fs::read_to_string(history(&self.folder)).unwrap();
        self.done.len() < Fault::ALL.len() || !told.contains(r#""status":409"#)
    }

    /// Nothing goes wrong any more: what was begun ends.
    async fn drain(&mut self) {
        self.until_open_at_most(0).await;
        for worker in &mut self.workers {
            worker.kill().await;
        }
    }

    /// A lease that was lost is found within a sweep, unless there was nobody to sweep.
    fn nothing_waited_too_long(&self, found: &[(f64, f64)], began_at: f64) {
        let real = |database: f64| (database - began_at) / SPEED;
        for (lost, ended) in found.iter().map(|(lost, ended)| (real(*lost), real(*ended))) {
            let out: f64 = self.outages.iter().map(|(from, to)| (to.min(ended) - from.max(lost)).max(0.0)).sum();
            let waited = ended - lost - out;
            assert!(waited <= SWEEP_SECS, "a lost lease was found after {waited:.1} s; outages {out:.1} s");
        }
    }

    /// A run in which nothing happened proves nothing.
    fn was_wild_enough(&self, told: &[Value]) {
        assert_eq!(self.done.len(), Fault::ALL.len(), "{:?}", self.done);
        let count =
            |what: &str, status: u64| told.iter().filter(|l| l["what"] == what && l["status"] == status).count();
        println!("{:?}; {} answers, {} lost", self.done, told.len(), told.iter().filter(|l| l["status"] == 0).count());
        assert!(count("complete", 200) > 50 && count("heartbeat", 200) > 50, "the workers did too little");
        assert!(told.iter().any(|line| line["status"] == 0), "no answer was lost");
        assert!(told.iter().any(|line| line["status"] == 409), "no lease was lost by somebody who came back");
    }

    async fn stop(mut self) {
        self.control.kill().await;
        self.database.stop().await;
    }
}

fn read(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
