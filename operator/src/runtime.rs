//! The operator as a whole: election, watches, workers, probes; started together, stopped in order.
//!
//! A standby differs from the leader in one thing: its workers do nothing. When it leads it looks
//! at everything once, from stores that it has kept all the time.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::Entropy;
use contract::clock::SharedClock;
use futures::FutureExt;
use kube::Client;
use kube::client::ClientBuilder;
use telemetry::Log;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Error;
use crate::authority::Signers;
use crate::cluster::backoff::Range;
use crate::cluster::events::Events;
use crate::cluster::lease::Election;
use crate::cluster::limits::{Fence, Limits};
use crate::cluster::queue::{Priority, Queue};
use crate::config::Config;
use crate::context::{Context, Failures};
use crate::control_plane::ControlPlane;
use crate::controllers::{api_key, environment, organization, release};
use crate::error::{Class, WAITING};
use crate::metrics::Metrics;
use crate::objects::agreed::Agreements;
use crate::objects::contest::Contested;
use crate::probes::{self, Heartbeat};
use crate::stores::{Expected, Item, LISTS, SecretClient, Stores, Synced, Watches};

/// A stop does not wait longer than this for what is being written.
const STOP: Duration = Duration::from_secs(20);

/// What the API server refuses for what it is, it refuses again: a change wakes the object, and this
/// is only in case that something else was the reason.
const INVALID: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("no client of the API server: {0}")]
    Client(#[from] kube::Error),
    #[error(transparent)]
    Model(#[from] crate::model::PlaintextEndpoint),
    #[error("the probes cannot listen: {0}")]
    Listen(#[from] std::io::Error),
}

/// An operator that runs.
pub struct Operator {
    tracker: TaskTracker,
    workers: TaskTracker,
    stop_workers: CancellationToken,
    stop: CancellationToken,
    /// Where the probes answer.
    pub address: std::net::SocketAddr,
    pub metrics: Metrics,
    synced: Arc<Synced>,
    fence: Fence,
}

impl Operator {
    /// Connects, and starts everything. It leads as soon as it may.
    pub async fn start(
        config: Config,
        kube: kube::Config,
        clock: SharedClock,
        entropy: Entropy,
        log: Option<Log>,
    ) -> Result<Self, StartError> {
        config.model.check()?;
        let metrics = Metrics::default();
        let (stop, stop_workers) = (CancellationToken::new(), CancellationToken::new());
        let (tracker, workers) = (TaskTracker::new(), TaskTracker::new());
        // two processes of one name, or one that was restarted, are two candidates
        let identity = format!("{}_{}", config.pod_name, hex::encode(entropy.bytes::<4>()));
        let free = client(kube.clone(), &Limits::new(config.budget(), None, metrics.clone()))?;
        let election = Election::new(free, &config.release_namespace, identity, config.timing(), Arc::clone(&clock));
        let fence = election.fence();
        let client = client(kube, &Limits::new(config.budget(), Some(fence.clone()), metrics.clone()))?;
        let (events, writer) = Events::new(client.clone(), config.pod_name.clone(), metrics.clone());
        let context = Arc::new(context(&config, client, clock, entropy, metrics.clone(), events, fence.clone()));
        let synced = Arc::new(Synced::default());
        watches(&config, &context, &synced, &tracker, &stop).start();

        let listener = TcpListener::bind(config.listen).await?;
        let address = listener.local_addr()?;
        tracing::info!(%address, "answers probes");
        let heartbeat = Arc::new(Heartbeat::new());
        tracker.spawn(Arc::clone(&heartbeat).run(stop.clone()));
        let probed = probes::Probed { context: Arc::clone(&context), synced: Arc::clone(&synced), heartbeat };
        tracker.spawn(probes::serve(listener, probed, log, stop.clone()));
        tracker.spawn(writer.run(stop.clone()));
        tracker.spawn(election.run(stop.clone()));
        tracker.spawn(announce(Arc::clone(&context), Arc::clone(&synced), fence.clone(), stop.clone()));
        for _ in 0..config.concurrency {
            let worker = Worker { context: Arc::clone(&context), synced: Arc::clone(&synced), fence: fence.clone() };
            workers.spawn(worker.run(stop_workers.clone()));
        }
        Ok(Self { tracker, workers, stop_workers, stop, address, metrics, synced, fence })
    }

    /// Until every store is complete.
    pub async fn ready(&self) {
        self.synced.wait().await;
    }

    pub fn leads(&self) -> bool {
        leads(&self.fence)
    }

    /// What is being written is finished, then the Lease is given back.
    pub async fn stop(self) {
        self.stop_workers.cancel();
        self.workers.close();
        if tokio::time::timeout(STOP, self.workers.wait()).await.is_err() {
            tracing::warn!("stops although something is still being written");
        }
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

fn leads(fence: &Fence) -> bool {
    fence.borrow().is_some_and(|until| Instant::now() < until)
}

fn client(mut kube: kube::Config, limits: &Limits) -> Result<Client, kube::Error> {
    // retries would pass the fence by
    kube.default_retry = false;
    kube.connect_timeout = Some(Duration::from_secs(5));
    Ok(ClientBuilder::try_from(kube)?.with_layer(limits).build())
}

fn context(
    config: &Config,
    client: Client,
    clock: SharedClock,
    entropy: Entropy,
    metrics: Metrics,
    events: Events,
    fence: Fence,
) -> Context {
    let release = Arc::new(config.release());
    let (stores, expected) = (Arc::new(Stores::default()), Arc::new(Expected::default()));
    let secrets = SecretClient::new(client.clone(), Arc::clone(&expected));
    let signers = Signers::new(secrets.clone(), Arc::clone(&stores), Arc::clone(&clock), entropy.clone());
    let signers = Arc::new(signers);
    let authority = release::authority(&release);
    Context {
        control_plane: ControlPlane::new(release.control_plane.clone(), fence, authority, Arc::clone(&signers)),
        client,
        release,
        rollout: config.rollout(),
        stores,
        queue: Arc::new(Queue::new()),
        metrics,
        events,
        clock,
        entropy,
        secrets,
        signers,
        expected,
        failures: Failures::default(),
        turned_away: AtomicBool::new(false),
        agreed: Agreements::default(),
        contested: Contested::default(),
        behind: std::sync::Mutex::default(),
    }
}

fn watches(
    config: &Config,
    context: &Context,
    synced: &Arc<Synced>,
    tracker: &TaskTracker,
    stop: &CancellationToken,
) -> Watches {
    Watches {
        client: context.client.clone(),
        namespaces: config.watch_namespaces.iter().filter(|name| !name.is_empty()).cloned().collect(),
        release_namespace: config.release_namespace.clone(),
        stores: Arc::clone(&context.stores),
        queue: Arc::clone(&context.queue),
        synced: Arc::clone(synced),
        metrics: context.metrics.clone(),
        events: context.events.clone(),
        entropy: context.entropy.clone(),
        lists: Arc::new(Semaphore::new(LISTS)),
        tracker: tracker.clone(),
        stop: stop.clone(),
    }
}

/// Who has just begun to lead looks at everything. So does who leads again without having noticed that it did not: a
/// renewal may be answered when the one before has run out, and the workers turned away whatever came up in between.
async fn announce(context: Arc<Context>, synced: Arc<Synced>, mut fence: Fence, stop: CancellationToken) {
    let mut led = false;
    loop {
        let leads = leads(&fence);
        context.metrics.leads(leads);
        if leads && (context.turned_away.swap(false, Ordering::SeqCst) || !led) {
            if stop.run_until_cancelled(synced.wait()).await.is_none() {
                return;
            }
            // a standby may say nothing: what it found is said now
            for invalid in context.stores.invalid_objects.all() {
                context.events.invalid(invalid.about, &invalid.error);
            }
            for item in context.stores.everything() {
                context.queue.wake(item, Priority::Normal);
            }
        }
        led = leads;
        tokio::select! {
            () = stop.cancelled() => return,
            changed = fence.changed() => if changed.is_err() { return },
        }
    }
}

/// A worker, which takes objects from the queue.
struct Worker {
    context: Arc<Context>,
    synced: Arc<Synced>,
    fence: Fence,
}

impl Worker {
    async fn run(self, stop: CancellationToken) {
        if stop.run_until_cancelled(self.synced.wait()).await.is_none() {
            return;
        }
        while let Some(item) = stop.run_until_cancelled(self.context.queue.next()).await {
            // not cancelled: what has begun is finished
            let again = self.look_at(&item).await;
            self.context.queue.done(&item, again);
        }
    }

    async fn look_at(&self, item: &Item) -> Option<(Duration, Priority)> {
        if !leads(&self.fence) {
            return self.turn_away();
        }
        let context = &self.context;
        let (outcome, again) = match contained(reconcile(context, item)).await {
            Ok(None) => ("gone", None),
            Ok(Some(after)) => ("done", Some((self.spread(after), Priority::Background))),
            Err(error) => self.failed(item, &error),
        };
        if matches!(outcome, "gone" | "done") {
            context.failures.succeeded(item);
        }
        context.metrics.reconciled(item.kind(), outcome);
        again
    }

    fn failed(&self, item: &Item, error: &Error) -> (&'static str, Option<(Duration, Priority)>) {
        match error.class() {
            Class::Standby => ("standby", self.turn_away()),
            Class::Conflict => ("conflict", Some((Duration::ZERO, Priority::Normal))),
            Class::Waiting => ("waiting", Some((WAITING, Priority::Normal))),
            class => {
                let wait = self.context.failures.failed(item, Range::after(error), &self.context.entropy);
                tracing::warn!(?item, %error, ?class, "could not be reconciled");
                // what has failed stands behind what has not: one organization's troubles are its own
                match class {
                    _ if matches!(error, Error::Panicked(_)) => ("panicked", Some((wait, Priority::Background))),
                    Class::Invalid => ("invalid", Some((wait.max(INVALID), Priority::Background))),
                    _ => ("failed", Some((wait, Priority::Background))),
                }
            }
        }
    }

    /// Not looked at again before this operator leads: [`announce`] wakes everything then.
    fn turn_away(&self) -> Option<(Duration, Priority)> {
        self.context.turned_away.store(true, Ordering::SeqCst);
        None
    }

    /// A long wait is made up to a tenth shorter: what began together does not come back together.
    fn spread(&self, after: Duration) -> Duration {
        let part = f64::from(u16::from_le_bytes(self.context.entropy.bytes())) / f64::from(u16::MAX);
        if after > Duration::from_mins(10) { after.mul_f64(1.0 - part / 10.0) } else { after }
    }
}

/// A worker outlives what it works on: a panic is a failure of that one object. No lock is left poisoned behind it,
/// for every one of ours is taken as it is.
async fn contained<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Error::Panicked(text.unwrap_or_else(|| "it left no message".to_owned())))
    })
}

async fn reconcile(context: &Context, item: &Item) -> Result<Option<Duration>, Error> {
    match item {
        Item::Release => release::reconcile(context).await.map(Some),
        Item::Organization(place) => organization::reconcile(context, place).await,
        Item::Environment(place) => environment::reconcile(context, place).await,
        Item::ApiKey(place) => api_key::reconcile(context, place).await,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use contract::clock::SystemClock;
    use tokio::sync::watch;

    use super::*;
    use crate::cluster::queue::DEBOUNCE;

    /// Of an operator whose API server never answers.
    fn context_of(fence: Fence) -> Context {
        let config = Config::try_parse_from(["operator", "--release-namespace", "sluice"]).unwrap();
        let never = tower::service_fn(|_: http::Request<kube::client::Body>| {
            std::future::pending::<Result<http::Response<kube::client::Body>, kube::Error>>()
        });
        let client = Client::new(never, "sluice");
        let (metrics, entropy) = (Metrics::default(), Entropy::seeded(1));
        let (events, _) = Events::new(client.clone(), "one".to_owned(), metrics.clone());
        context(&config, client, Arc::new(SystemClock), entropy, metrics, events, fence)
    }

    #[tokio::test]
    async fn whatever_was_turned_away_before_a_late_renewal_is_looked_at_after_it() {
        const LONG: Duration = Duration::from_mins(1);
        let (lease, fence) = watch::channel(Some(Instant::now() + LONG));
        let context = Arc::new(context_of(fence.clone()));
        let (synced, stop) = (Arc::new(Synced::default()), CancellationToken::new());
        let tasks = TaskTracker::new();
        tasks.spawn(announce(Arc::clone(&context), Arc::clone(&synced), fence.clone(), stop.clone()));
        let worker = Worker { context: Arc::clone(&context), synced, fence };
        let item = context.queue.next().await;
        context.queue.done(&item, None);
        for refused_by_the_fence in [false, true] {
            // it runs out, and nobody is told
            lease.send_if_modified(|until| {
                *until = Some(Instant::now());
                false
            });
            let again = if refused_by_the_fence {
                worker.failed(&item, &Error::NotLeading).1
            } else {
                worker.look_at(&item).await
            };
            assert_eq!(again, None, "it does not lead");
            lease.send(Some(Instant::now() + LONG)).unwrap();
            let woken = tokio::time::timeout(LONG, context.queue.next()).await;
            assert_eq!(woken.as_ref(), Ok(&item), "it leads again");
            context.queue.done(&item, None);
        }
        lease.send(Some(Instant::now() + 2 * LONG)).unwrap();
        let woken = tokio::time::timeout(4 * DEBOUNCE, context.queue.next()).await;
        assert!(woken.is_err(), "a renewal in time wakes nothing");
        stop.cancel();
    }

    #[tokio::test]
    async fn a_panic_is_a_failure_of_one_object_and_is_tried_again() {
        let panics = async |told: bool| if told { panic!("no such {}", "thing") } else { Ok(7) };
        assert_eq!(contained(panics(false)).await.ok(), Some(7));
        let error = contained(panics(true)).await.unwrap_err();
        assert_eq!(
            (error.class(), error.to_string().as_str()),
            (Class::Transient, "a reconcile panicked: no such thing")
        );
    }
}
