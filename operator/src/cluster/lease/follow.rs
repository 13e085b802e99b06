//! Talks to the API server about the Lease, and tells the process whether it leads.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use contract::clock::SharedClock;
use futures::StreamExt;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Candidate, ElectionStep, LeaseRecord, Timing};
use crate::time::timestamp;

/// The Lease that operators of one release compete for.
pub const LEASE_NAME: &str = "sluice-operator";

#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("the Lease could not be written: {0}")]
    Api(#[from] kube::Error),
    #[error("the API server did not answer in time")]
    Timeout,
    #[error("the API server answered a Lease without resourceVersion")]
    NoVersion,
}

/// One candidate that competes until it is told to stop.
pub struct Election {
    api: Api<Lease>,
    candidate: Candidate,
    clock: SharedClock,
    until: Arc<watch::Sender<Option<Instant>>>,
}

impl Election {
    /// `client` must not be fenced: a renewal is what lifts the fence.
    pub fn new(client: Client, namespace: &str, identity: String, timing: Timing, clock: SharedClock) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            candidate: Candidate::new(identity, timing, Instant::now()),
            clock,
            until: Arc::new(watch::Sender::new(None)),
        }
    }

    /// Until when this process may write; absent: it may not. What the fence asks.
    pub fn fence(&self) -> watch::Receiver<Option<Instant>> {
        self.until.subscribe()
    }

    /// Competes until `stop`; then gives the Lease back, so that another leads within a blink.
    /// Whoever cancels `stop` has made sure that nothing is being written any more.
    pub async fn run(mut self, stop: CancellationToken) {
        let config = watcher::Config::default().fields(&format!("metadata.name={LEASE_NAME}"));
        let mut changes = pin!(watcher::watcher(self.api.clone(), config).default_backoff());
        while !stop.is_cancelled() {
            let wake = match self.candidate.step(Instant::now()) {
                ElectionStep::Wait(at) => at,
                write => {
                    self.attempt(write).await;
                    continue;
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep_until(self.next_wake(wake)) => self.publish(),
                Some(change) = changes.next() => self.take(change),
            }
        }
        self.release().await;
    }

    /// Also when leadership runs out: whoever waits on the fence must learn of it then.
    fn next_wake(&self, wake: Instant) -> Instant {
        self.candidate.leads_until(Instant::now()).map_or(wake, |until| until.min(wake))
    }

    fn publish(&self) {
        let until = self.candidate.leads_until(Instant::now());
        self.until.send_if_modified(|old| {
            let changed = *old != until;
            *old = until;
            changed
        });
    }

    fn take(&mut self, change: Result<watcher::Event<Lease>, watcher::Error>) {
        let now = Instant::now();
        match change {
            Ok(watcher::Event::Apply(lease)) => {
                if let Some(seen) = seen(&lease) {
                    self.candidate.changed(seen, now);
                }
            }
            Ok(watcher::Event::InitApply(lease)) => self.candidate.saw(seen(&lease), now),
            Ok(watcher::Event::Delete(_)) => self.candidate.saw(None, now),
            Ok(watcher::Event::Init | watcher::Event::InitDone) => {}
            Err(error) => tracing::warn!(%error, "the Lease cannot be watched"),
        }
        self.publish();
    }

    async fn attempt(&mut self, step: ElectionStep) {
        let sent = Instant::now();
        match self.write(step).await {
            Ok(lease) => {
                if self.candidate.leads_until(sent).is_none() {
                    tracing::info!(identity = self.candidate.identity(), "leads");
                }
                self.candidate.won(lease, sent, Instant::now());
            }
            Err(error) => {
                tracing::debug!(%error, "the Lease is not ours");
                self.candidate.lost(Instant::now());
            }
        }
        self.publish();
    }

    async fn write(&self, step: ElectionStep) -> Result<LeaseRecord, LeaseError> {
        let written = match step {
            ElectionStep::Wait(_) => return Err(LeaseError::Timeout),
            ElectionStep::Create => {
                let lease = self.lease(None, self.candidate.identity(), 0);
                self.bounded(self.api.create(&PostParams::default(), &lease)).await?
            }
            ElectionStep::Replace { resource_version, transitions } => {
                let lease = self.lease(Some(resource_version), self.candidate.identity(), transitions);
                self.bounded(self.api.replace(LEASE_NAME, &PostParams::default(), &lease)).await?
            }
        };
        seen(&written).ok_or(LeaseError::NoVersion)
    }

    async fn release(&mut self) {
        let given = self.candidate.give_back(Instant::now());
        self.publish();
        let Some(given) = given else { return };
        let lease = self.lease(Some(given.resource_version), "", given.transitions);
        match self.bounded(self.api.replace(LEASE_NAME, &PostParams::default(), &lease)).await {
            Ok(_) => tracing::info!("gave the Lease back"),
            Err(error) => tracing::warn!(%error, "the Lease was not given back: another waits for it to run out"),
        }
    }

    /// An answer that comes after the lease would have run out is worth nothing.
    async fn bounded<T>(&self, call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, LeaseError> {
        let limit: Duration = self.candidate.timing().renew / 2;
        Ok(tokio::time::timeout(limit, call).await.map_err(|_| LeaseError::Timeout)??)
    }

    fn lease(&self, resource_version: Option<String>, holder: &str, transitions: i32) -> Lease {
        let now = MicroTime(timestamp(self.clock.now()));
        let seconds = i32::try_from(self.candidate.timing().lease.as_secs()).unwrap_or(i32::MAX);
        Lease {
            metadata: ObjectMeta { name: Some(LEASE_NAME.to_owned()), resource_version, ..ObjectMeta::default() },
            spec: Some(LeaseSpec {
                holder_identity: Some(holder.to_owned()),
                lease_duration_seconds: Some(seconds),
                lease_transitions: Some(transitions),
                acquire_time: Some(now.clone()),
                renew_time: Some(now),
                ..LeaseSpec::default()
            }),
        }
    }
}

fn seen(lease: &Lease) -> Option<LeaseRecord> {
    let spec = lease.spec.clone().unwrap_or_default();
    Some(LeaseRecord {
        resource_version: lease.metadata.resource_version.clone()?,
        holder: spec.holder_identity.unwrap_or_default(),
        transitions: spec.lease_transitions.unwrap_or_default(),
    })
}
