//! Follows the control plane's stream of snapshots.
//!
//! Whole snapshots with a version: a version that was passed is ignored, one that cannot be parsed
//! leaves the last in force and raises an alarm. The control plane away: the last snapshot rules. None
//! ever: everything is refused, never allowed. Who owns the state folder keeps each new one on disk;
//! who waits for the folder knows what it was sent, and no more.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use contract::{EnvId, Governance};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::RulesSource;
use super::disk::Disk;
use super::link::{Backoff, Link};
use super::proto::{AppliedRequest, Snapshot, WatchRequest};
use crate::governance::sessions::Snapshots;

/// The receiving end: holds what rules now, and where it came from.
#[derive(Debug)]
pub struct Follower {
    env_id: EnvId,
    /// Ours once we own the folder.
    disk: OnceLock<Disk>,
    /// One at a time, so that the newest is the last one written; false once the folder is let go.
    keeping: Mutex<bool>,
    snapshots: watch::Sender<Option<Arc<Governance>>>,
    source: watch::Sender<RulesSource>,
}

impl Follower {
    /// Knows nothing yet.
    pub fn new(env_id: EnvId) -> Self {
        let (snapshots, source) = (watch::Sender::new(None), watch::Sender::new(RulesSource::Unknown));
        Self { env_id, disk: OnceLock::new(), keeping: Mutex::new(true), snapshots, source }
    }

    /// The folder is ours: the snapshot kept there rules if it is newer than what was sent, and from
    /// now on the newest is kept. Blocking.
    pub fn settle(&self, disk: Disk) {
        let kept = disk.load(&self.env_id).map(Arc::new);
        let _ = self.disk.set(disk);
        let in_force = kept.is_some_and(|kept| self.publish(kept));
        let connected = *self.source.borrow() == RulesSource::Connected;
        self.set_source(connected);
        if !in_force {
            self.keep();
        }
    }

    pub fn snapshots(&self) -> Snapshots {
        self.snapshots.subscribe()
    }

    pub fn source(&self) -> watch::Receiver<RulesSource> {
        self.source.subscribe()
    }

    /// Follows until told to stop; a broken stream is opened again, with growing pauses.
    pub async fn run(self: Arc<Self>, link: Link, shutdown: CancellationToken) {
        let mut backoff = Backoff::new();
        while !shutdown.is_cancelled() {
            tokio::select! {
                () = shutdown.cancelled() => break,
                ended = self.stream(&link, &mut backoff) => {
                    if let Err(status) = ended {
                        tracing::warn!(code = ?status.code(), message = status.message(), "the control plane is away");
                    }
                }
            }
            self.set_source(false);
            shutdown.run_until_cancelled(tokio::time::sleep(backoff.next())).await;
        }
    }

    async fn stream(self: &Arc<Self>, link: &Link, backoff: &mut Backoff) -> Result<(), tonic::Status> {
        let have_version = self.snapshots.borrow().as_ref().map_or(0, |rules| rules.version);
        // One connection for both: by it the control plane knows which of us has applied what.
        let mut client = link.client();
        let mut stream = client.watch(WatchRequest { have_version }).await?.into_inner();
        self.set_source(true);
        backoff.reset();
        while let Some(snapshot) = stream.message().await? {
            self.take(snapshot).await;
            self.set_source(true);
            let version = self.snapshots.borrow().as_ref().map_or(0, |rules| rules.version);
            // Somebody may be waiting to say that the change is in force.
            client.applied(AppliedRequest { version }).await?;
        }
        Ok(())
    }

    async fn take(self: &Arc<Self>, snapshot: Snapshot) {
        let rules: Governance = match serde_json::from_slice(&snapshot.governance) {
            Ok(rules) => rules,
            Err(error) => {
                tracing::error!(version = snapshot.version, %error, "a snapshot cannot be read: the last one stays in force");
                return;
            }
        };
        if rules.environment.env_id != self.env_id {
            tracing::error!("a snapshot of another environment was sent: ignored");
            return;
        }
        if self.publish(Arc::new(rules)) && self.disk.get().is_some() {
            let follower = Arc::clone(self);
            let _ = tokio::task::spawn_blocking(move || follower.keep()).await;
        }
    }

    /// The folder is about to be let go: nothing is written any more.
    pub fn close(&self) {
        *self.keeping.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }

    /// Keeps what rules now. Blocking.
    fn keep(&self) {
        let keeping = self.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        if !*keeping {
            return;
        }
        let rules = self.snapshots.borrow().clone();
        if let (Some(disk), Some(rules)) = (self.disk.get(), rules)
            && let Err(error) = disk.keep(&rules)
        {
            tracing::error!(%error, "the snapshot could not be kept on disk");
        }
    }

    /// In force from now on, unless a later version is.
    fn publish(&self, rules: Arc<Governance>) -> bool {
        self.snapshots.send_if_modified(|current| {
            let newer = current.as_ref().is_none_or(|current| current.version < rules.version);
            if newer {
                *current = Some(rules);
            }
            newer
        })
    }

    fn set_source(&self, connected: bool) {
        let known = self.snapshots.borrow().is_some();
        self.source.send_if_modified(|source| {
            let now = match (connected, known) {
                (_, false) => RulesSource::Unknown,
                (true, true) => RulesSource::Connected,
                (false, true) => RulesSource::Cached,
            };
            std::mem::replace(source, now) != now
        });
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::governance::sealing::testing::seal;
    use crate::testing::governance;

    fn sent(rules: &Governance) -> Snapshot {
        Snapshot { version: rules.version, governance: serde_json::to_vec(rules).unwrap() }
    }

    fn settled(folder: &std::path::Path) -> Arc<Follower> {
        let follower = Follower::new(governance().environment.env_id);
        follower.settle(Disk::new(folder, seal("k")));
        Arc::new(follower)
    }

    fn version(follower: &Follower) -> Option<u64> {
        follower.snapshots.borrow().as_ref().map(|rules| rules.version)
    }

    #[tokio::test]
    async fn a_passed_version_and_an_unreadable_one_change_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let follower = settled(folder.path());
        assert_eq!((version(&follower), *follower.source().borrow()), (None, RulesSource::Unknown));
        let mut rules = governance();
        rules.version = 7;
        follower.take(sent(&rules)).await;
        rules.version = 6;
        follower.take(sent(&rules)).await;
        follower.take(Snapshot { version: 8, governance: b"{}".to_vec() }).await;
        rules.version = 9;
        rules.environment.env_id = "another".into();
        follower.take(sent(&rules)).await;
        assert_eq!(version(&follower), Some(7));
    }

    #[tokio::test]
    async fn the_last_snapshot_rules_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        settled(folder.path()).take(sent(&governance())).await;
        let again = settled(folder.path());
        assert_eq!(version(&again), Some(governance().version));
        assert_eq!(*again.source().borrow(), RulesSource::Cached);
    }

    #[tokio::test]
    async fn a_successor_keeps_the_newer_of_what_it_was_sent_and_what_it_finds() {
        for (found, was_sent) in [(4, 7), (7, 4)] {
            let folder = tempfile::tempdir().unwrap();
            let disk = Disk::new(folder.path(), seal("k"));
            let rules = |version| Governance { version, ..governance() };
            disk.keep(&rules(found)).unwrap();
            let successor = Arc::new(Follower::new(governance().environment.env_id));
            successor.take(sent(&rules(was_sent))).await;
            assert_eq!(disk.load(&successor.env_id).unwrap().version, found, "the folder is not ours yet");
            successor.settle(disk.clone());
            assert_eq!(version(&successor), Some(7));
            assert_eq!(disk.load(&successor.env_id).unwrap().version, 7);
        }
    }

    /// A snapshot as a control plane of a later version sends it.
    #[derive(Clone, PartialEq, prost::Message)]
    struct Later {
        #[prost(uint64, tag = "1")]
        version: u64,
        #[prost(bytes = "vec", tag = "2")]
        governance: Vec<u8>,
        #[prost(string, tag = "99")]
        of_later: String,
    }

    fn heals(follower: &Follower) -> Option<contract::Heal> {
        follower.snapshots.borrow().as_ref().map(|rules| rules.environment.settings.heal)
    }

    /// What a control plane of another version sends, as it arrives; without `settings.heal`, or with what it says.
    fn arriving(version: u64, heal: Option<&str>) -> Snapshot {
        let mut rules = serde_json::to_value(Governance { version, ..governance() }).unwrap();
        rules["of_later"] = true.into();
        let environment = rules["environment"].as_object_mut().unwrap();
        environment.insert("of_later".to_owned(), 1.into());
        match heal {
            Some(heal) => environment.insert("heal".to_owned(), heal.into()),
            None => environment.remove("heal"),
        };
        let later = Later { version, governance: serde_json::to_vec(&rules).unwrap(), of_later: "x".to_owned() };
        Snapshot::decode(later.encode_to_vec().as_slice()).unwrap()
    }

    #[tokio::test]
    async fn a_snapshot_of_another_version_rules_and_heals_by_rule_alone_unless_it_says_otherwise() {
        use contract::Heal::{Auto, Off, Safe};
        let folder = tempfile::tempdir().unwrap();
        let follower = settled(folder.path());
        for (sent, said, heal) in [(1, Some("auto"), Auto), (2, None, Safe), (3, Some("off"), Off)] {
            follower.take(arriving(sent, said)).await;
            assert_eq!((version(&follower), heals(&follower)), (Some(sent), Some(heal)));
        }
        follower.take(arriving(4, Some("bold"))).await;
        assert_eq!((version(&follower), heals(&follower)), (Some(3), Some(Off)), "what is not understood adds nothing");
    }

    #[tokio::test]
    async fn what_a_data_plane_of_before_kept_rules_after_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("governance.json"), arriving(5, None).governance).unwrap();
        let successor = settled(folder.path());
        assert_eq!((version(&successor), heals(&successor)), (Some(5), Some(contract::Heal::Safe)));
    }
}
