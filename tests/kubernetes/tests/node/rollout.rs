//! A rollout under load: the successor starts beside its predecessor on the one volume, and nobody
//! who asks by psql or REST sees anything fail.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use kubernetes::{figure, until};
use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::installation::{Rest, Tenant, eventually};
use super::wire_client::{Session, WireClient};

const WRITERS: u32 = 20;
const READERS: u32 = 2;
/// Of REST, between two requests.
const PAUSE: Duration = Duration::from_millis(50);
/// Statements that every kind of client does before and after.
const WARM: u64 = 200;
const LONG: Duration = Duration::from_secs(20);
const LONG_ROWS: u32 = 200_000;

/// The observations of one client.
#[derive(Default)]
struct Seen {
    acknowledged: Vec<i64>,
    answered: u64,
    /// The server said that it goes.
    told: u64,
    failures: Vec<String>,
    longest: Duration,
}

struct Load {
    wire: WireClient,
    rest: Rest,
    query: String,
    done: AtomicU64,
    stop: CancellationToken,
}

impl Load {
    /// Writes numbers of its own, one after another. One that was refused because the server goes
    /// was not written, and is written again; everything else that goes wrong is a failure.
    async fn write(self: Arc<Self>, writer: u32) -> Seen {
        let (mut seen, mut session, mut number) = (Seen::default(), None, i64::from(writer) << 32);
        while !self.stop.is_cancelled() {
            let began = Instant::now();
            match self.insert(&mut session, number).await {
                Ok(()) => {
                    seen.acknowledged.push(number);
                    number += 1;
                    self.done.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    let told = match session.take() {
                        Some(session) => session.was_told(&error).await,
                        None => false,
                    };
                    if told {
                        seen.told += 1;
                    } else {
                        seen.failures.push(format!("{error:?}"));
                    }
                }
            }
            seen.longest = seen.longest.max(began.elapsed());
        }
        seen
    }

    async fn insert(&self, session: &mut Option<Session>, number: i64) -> Result<(), tokio_postgres::Error> {
        if session.is_none() {
            *session = Some(self.wire.connect().await?);
        }
        let client = &session.as_ref().unwrap().client;
        // one message, one answer: the driver hides an error that meets its own housekeeping
        client.batch_execute(&format!("insert into ledger values ({number})")).await
    }

    /// By REST nobody is ever told to go elsewhere.
    async fn read(self: Arc<Self>) -> Seen {
        let (mut seen, mut turns) = (Seen::default(), interval(PAUSE));
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.stop.is_cancelled() {
            turns.tick().await;
            let began = Instant::now();
            match self.rest.send(Method::POST, &self.query, json!({"sql": "select count(*) from ledger"})).await {
                (200, _) => seen.answered += 1,
                (status, body) => seen.failures.push(format!("{status} {body}")),
            }
            seen.longest = seen.longest.max(began.elapsed());
        }
        seen
    }

    async fn more(&self) {
        let wanted = self.done.load(Ordering::Relaxed) + WARM;
        eventually("as busy as before", async || self.done.load(Ordering::Relaxed) >= wanted).await;
    }

    /// A statement whose rows are asked for so slowly that it runs for [`LONG`]; its rows.
    async fn long(self: Arc<Self>) -> usize {
        let session = self.wire.connect().await.unwrap();
        let sql = format!("select n, repeat('x', 200) from range({LONG_ROWS}) t(n)");
        let rows = session.client.query_raw(&sql, Vec::<i32>::new()).await.unwrap();
        let (mut rows, mut count) = (pin!(rows), 0);
        let mut turns = interval(LONG / 100);
        turns.tick().await;
        while rows.try_next().await.expect("a statement that runs is not cut off").is_some() {
            count += 1;
            if count % (LONG_ROWS as usize / 100) == 0 {
                turns.tick().await;
            }
        }
        count
    }
}

/// Waits until a change of the specification is what runs, and nothing else does.
async fn rolled_out(tenant: &Tenant, before: i64) {
    until(&tenant.world.api::<Deployment>(), &tenant.name, "rolled out", |it: &Deployment| {
        let status = it.status.clone().unwrap_or_default();
        let generation = it.metadata.generation.unwrap_or_default();
        let one = [status.updated_replicas, status.replicas, status.available_replicas] == [Some(1); 3];
        generation > before && status.observed_generation == Some(generation) && one
    })
    .await;
    tenant.has_pods(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_under_twenty_psql_clients_and_rest_fails_nothing_and_writes_each_row_once() {
    let tenant = Tenant::ready("rolled").await;
    let wire = tenant.wire("app").await;
    wire.ask("create table ledger (n bigint)").await;
    let rest = Rest::of(&tenant.world, format!("ApiKey {}", wire.key)).await;
    let query = format!("/v1/environments/{}/query", tenant.settled().await.metadata.uid.unwrap());
    let load = Arc::new(Load { wire, rest, query, done: AtomicU64::new(0), stop: CancellationToken::new() });
    let (mut writers, mut readers, mut long) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
    for writer in 0..WRITERS {
        writers.spawn(Arc::clone(&load).write(writer));
    }
    for _ in 0..READERS {
        readers.spawn(Arc::clone(&load).read());
    }
    load.more().await;

    let (began, asked) = (Instant::now(), Instant::now());
    long.spawn(Arc::clone(&load).long());
    let before = tenant.world.api::<Deployment>().get(&tenant.name).await.unwrap().metadata.generation.unwrap();
    let resources = json!({"requests": {"cpu": "50m", "memory": "256Mi"}, "limits": {"memory": "1200Mi"}});
    tenant.apply(json!({"dataPlane": {"resources": resources}})).await;
    rolled_out(&tenant, before).await;
    let took = began.elapsed();
    let rows = long.join_all().await;
    let ran = asked.elapsed();
    load.more().await;
    load.stop.cancel();
    let (writers, readers) = (writers.join_all().await, readers.join_all().await);

    let failures: Vec<_> = writers.iter().chain(&readers).flat_map(|seen| &seen.failures).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(rows, [LONG_ROWS as usize]);
    assert!(ran >= LONG, "{ran:?}");
    let kept = load.wire.connect().await.unwrap().client.query("select n from ledger", &[]).await.unwrap();
    let unique: BTreeSet<i64> = kept.iter().map(|row| row.get(0)).collect();
    assert_eq!(unique.len(), kept.len(), "a row was written twice");
    assert!(writers.iter().flat_map(|seen| &seen.acknowledged).all(|number| unique.contains(number)), "a row was lost");
    let told: u64 = writers.iter().map(|seen| seen.told).sum();
    assert!(told > 0, "the sessions of the old pod were told to go");
    let longest = |all: &[Seen]| all.iter().map(|seen| seen.longest).max().unwrap();
    figure(
        11,
        format_args!(
            "rollout {took:?}, 0 failed: {} statements by psql, {told} told, longest {:?}; {} by REST, longest {:?}; a statement of {ran:?} completed",
            kept.len(),
            longest(&writers),
            readers.iter().map(|seen| seen.answered).sum::<u64>(),
            longest(&readers),
        ),
    );
}
