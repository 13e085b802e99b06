//! One data plane takes over from another on the same volume while clients go on.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tests::pods::{Installation, Pod};
use tokio::task::JoinSet;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const CLIENTS: usize = 20;

/// The pods that connections are sent to from now on.
pub fn routed(installation: &Installation, pods: &[&Pod]) {
    installation.psql.route(&pods.iter().map(|pod| pod.psql).collect::<Vec<_>>());
    installation.rest.route(&pods.iter().map(|pod| pod.rest).collect::<Vec<_>>());
}

pub async fn number(client: &Client, sql: &str) -> i64 {
    let text = client.simple_query(sql).await.unwrap();
    let row = text.iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    row.unwrap().parse().unwrap()
}

/// The observations of the clients.
#[derive(Default)]
struct Traffic {
    stop: AtomicBool,
    next: AtomicI64,
    done: AtomicU64,
    told: AtomicU64,
    acknowledged: Mutex<BTreeSet<i64>>,
    failures: Mutex<Vec<String>>,
    took: Mutex<Vec<Duration>>,
}

impl Traffic {
    /// Numbers, one after another; a number that was refused with 57P01 was not written, and is
    /// written again. Anything else that goes wrong is a failure.
    async fn write(self: Arc<Self>, installation: Arc<Installation>) {
        let mut client = None;
        let mut number = self.next.fetch_add(1, Ordering::Relaxed);
        while !self.stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            let wrote = self.attempt(&mut client, &installation, number).await;
            match wrote {
                Ok(()) => {
                    self.acknowledged.lock().unwrap().insert(number);
                    self.done.fetch_add(1, Ordering::Relaxed);
                    number = self.next.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) if error.code() == Some(&SqlState::ADMIN_SHUTDOWN) => {
                    self.told.fetch_add(1, Ordering::Relaxed);
                    client = None;
                }
                // Told while it was idle: the driver has read the farewell and closed.
                Err(error) if error.is_closed() => client = None,
                Err(error) => {
                    let phase = if client.is_none() { "connecting" } else { "writing" };
                    self.failures.lock().unwrap().push(format!("{phase}, {:?}: {error:?}", began.elapsed()));
                    client = None;
                }
            }
        }
    }

    async fn attempt(
        &self,
        client: &mut Option<Client>,
        installation: &Installation,
        number: i64,
    ) -> Result<(), tokio_postgres::Error> {
        let began = Instant::now();
        if client.is_none() {
            *client = Some(installation.psql().await?);
        }
        let connected = client.as_ref().unwrap();
        connected.execute("insert into ledger values ($1)", &[&number]).await?;
        self.took.lock().unwrap().push(began.elapsed());
        Ok(())
    }

    /// Through REST nobody is ever told to go elsewhere.
    async fn read(self: Arc<Self>, installation: Arc<Installation>) {
        while !self.stop.load(Ordering::Relaxed) {
            let (status, body) = installation.query("select count(*) from ledger").await;
            if status == 200 {
                self.done.fetch_add(1, Ordering::Relaxed);
            } else {
                self.failures.lock().unwrap().push(format!("{status} {body}"));
            }
        }
    }

    async fn until_done(&self, more: u64) {
        let wanted = self.done.load(Ordering::Relaxed) + more;
        let enough = async {
            while self.done.load(Ordering::Relaxed) < wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let came = tokio::time::timeout(Duration::from_mins(3), enough).await;
        assert!(came.is_ok(), "the clients go on: {:?}", self.failures.lock().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_fails_no_statement_and_writes_each_row_once() {
    let installation = Arc::new(Installation::new().await);
    let grace = [(contract::wire::setting::ENDPOINT_GRACE_SECS, "1")];
    let mut pod = Pod::start(&installation, &grace).await;
    routed(&installation, &[&pod]);
    pod.until("ready").await;
    installation.psql().await.unwrap().batch_execute("create table ledger (n bigint)").await.unwrap();
    let traffic = Arc::new(Traffic::default());
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(Arc::clone(&traffic).write(Arc::clone(&installation)));
    }
    for _ in 0..CLIENTS / 10 {
        clients.spawn(Arc::clone(&traffic).read(Arc::clone(&installation)));
    }
    for _ in 0..3 {
        traffic.until_done(200).await;
        let next = Pod::start(&installation, &grace).await;
        next.until("parked").await;
        routed(&installation, &[&pod, &next]);
        pod.signal(Signal::SIGTERM);
        let began = Instant::now();
        routed(&installation, &[&next]);
        assert_eq!(pod.ended().await.code(), Some(0));
        let ended = began.elapsed();
        next.until("ready").await;
        println!("ended {ended:?}, ready {:?}", began.elapsed());
        pod = next;
    }
    traffic.until_done(200).await;
    traffic.stop.store(true, Ordering::Relaxed);
    clients.join_all().await;
    assert_eq!(*traffic.failures.lock().unwrap(), Vec::<String>::new());
    let rows = installation.psql().await.unwrap().query("select n from ledger", &[]).await.unwrap();
    let kept: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let unique: BTreeSet<i64> = kept.iter().copied().collect();
    assert_eq!(unique.len(), kept.len(), "a row was written twice");
    assert!(traffic.acknowledged.lock().unwrap().is_subset(&unique), "a row was lost");
    let mut took = traffic.took.lock().unwrap().clone();
    took.sort();
    println!(
        "{} statements, {} told, p50 {:?} p95 {:?} max {:?}",
        traffic.done.load(Ordering::Relaxed),
        traffic.told.load(Ordering::Relaxed),
        took[took.len() / 2],
        took[took.len() * 95 / 100],
        took.last()
    );
    pod.signal(Signal::SIGTERM);
    pod.ended().await;
    Arc::into_inner(installation).unwrap().end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_statement_completes_and_what_waits_for_it_runs_then() {
    let installation = Installation::new().await;
    let mut first = Pod::start(&installation, &[]).await;
    routed(&installation, &[&first]);
    first.until("ready").await;
    let client = installation.psql().await.unwrap();
    client.batch_execute("create table ledger (n bigint)").await.unwrap();
    let rows = client.query_raw("select n, repeat('x', 200) from range(300000) t(n)", Vec::<i32>::new()).await.unwrap();
    let mut rows = std::pin::pin!(rows);
    futures::StreamExt::next(&mut rows).await.unwrap().unwrap();

    let second = Pod::start(&installation, &[]).await;
    second.until("parked").await;
    first.signal(Signal::SIGTERM);
    routed(&installation, &[&second]);
    let waiting = installation.psql().await.expect("a parked process lets callers in");
    let waits = async { waiting.execute("insert into ledger values (1)", &[]).await };
    let reads = async {
        first.said("stopping").await;
        assert_eq!(second.ready().await.1["engine"], "parked");
        let mut left = 0;
        while let Some(row) = futures::StreamExt::next(&mut rows).await {
            row.unwrap();
            left += 1;
        }
        left
    };
    let (wrote, left) = tokio::join!(waits, reads);
    assert_eq!((wrote.unwrap(), left), (1, 299_999));
    assert_eq!(first.ended().await.code(), Some(0));
    second.signal(Signal::SIGTERM);
    installation.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_process_takes_over_from_a_killed_one_and_refuses_in_time_until_then() {
    let installation = Installation::new().await;
    let mut first = Pod::start(&installation, &[]).await;
    first.until("ready").await;
    let mut second = Pod::start(&installation, &[]).await;
    routed(&installation, &[&second]);
    second.until("parked").await;
    let client = installation.psql().await.unwrap();
    client.batch_execute("set statement_timeout = 50").await.unwrap();
    let error = client.simple_query("select 1").await.expect_err("the other has the data");
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{error:?}");
    client.batch_execute("set statement_timeout = 30000").await.unwrap();
    let waits = client.simple_query("select 1");
    let kills = async {
        first.signal(Signal::SIGKILL);
        first.ended().await
    };
    let (ran, _) = tokio::join!(waits, kills);
    ran.unwrap();
    second.until("ready").await;
    second.signal(Signal::SIGTERM);
    assert_eq!(second.ended().await.code(), Some(0));
    installation.end().await;
}
