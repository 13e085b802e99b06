//! Who is behind a key or a session's token, and whether they still are.
//!
//! "Only Argon2id hashes" are kept, and Argon2id costs tens of milliseconds, so what is remembered
//! is that a key fits a hash, and nothing else: status, expiry, scopes and addresses are asked of
//! the current snapshot at every statement. A key that the snapshot has dropped is nobody's.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contract::governance::{Key, KeySecret};
use contract::key::Presented;
use contract::secrets::hmac_sha256;
use contract::wire::Who;
use contract::{Caller, Code, Entropy, Governance, KeyId, SharedClock, Timestamp};
use moka::future::Cache;
use tokio::sync::{Semaphore, watch};

use crate::Error;
use crate::governance::vouching::TokenIntrospection;

const VERIFIED_MAX: u64 = 10_000;
const VERIFIED_FOR: Duration = Duration::from_mins(5);
/// How long a snapshot with a key may be on its way, usually tens of milliseconds. A revoked key is refused as late.
const KEY_WITHIN: Duration = Duration::from_millis(200);
/// The same for a user or a key that the control plane has just confirmed, who would be refused otherwise.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(5);
/// Keys that may wait for a core to be checked on.
const WAITING_MAX: usize = 64;

/// The latest snapshot; `None` until one was ever known.
pub type Snapshots = watch::Receiver<Option<Arc<Governance>>>;

/// Somebody whose credential was checked.
#[derive(Debug, Clone)]
pub struct AuthenticatedCaller {
    pub who: Who,
    pub caller: Caller,
    /// Prefix of the key's secret that was shown, which may end before the key does.
    pub secret: Option<String>,
}

/// The credential of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential<'r> {
    Key(&'r str),
    /// Of a session, if the control plane says so.
    Token(&'r str),
}

/// The check of credentials that a data plane makes itself.
#[derive(Debug, Clone)]
pub struct Sessions(Arc<SessionsInner>);

#[derive(Debug)]
struct SessionsInner {
    snapshots: Snapshots,
    clock: SharedClock,
    /// HMAC of key and hash under a key of this process: known to fit.
    verified: Cache<[u8; 32], ()>,
    process_key: [u8; 32],
    cores: Semaphore,
    waiting: AtomicUsize,
    vouching: TokenIntrospection,
}

impl Sessions {
    /// Of keys; a token is nobody's here.
    pub fn new(snapshots: Snapshots, clock: SharedClock, entropy: &Entropy) -> Self {
        Self::asking(snapshots, clock, entropy, TokenIntrospection::default())
    }

    /// Who also asks whose a token is.
    pub fn asking(snapshots: Snapshots, clock: SharedClock, entropy: &Entropy, vouching: TokenIntrospection) -> Self {
        let cores = engine::processors::available().map_or(1, |n| n.get().saturating_sub(1).max(1));
        Self(Arc::new(SessionsInner {
            snapshots,
            clock,
            verified: Cache::builder().max_capacity(VERIFIED_MAX).time_to_live(VERIFIED_FOR).build(),
            process_key: entropy.bytes(),
            cores: Semaphore::new(cores),
            waiting: AtomicUsize::new(0),
            vouching,
        }))
    }

    /// Checks whatever a request shows.
    pub async fn admit_shown(&self, shown: Credential<'_>, peer: Option<IpAddr>) -> Result<AuthenticatedCaller, Error> {
        match shown {
            Credential::Key(text) => self.admit(text, peer).await,
            Credential::Token(text) => self.admit_token(text, peer).await,
        }
    }

    /// The snapshot, for somebody who may connect from there.
    fn reached(&self, peer: Option<IpAddr>) -> Result<Arc<Governance>, Error> {
        let rules = self.rules()?;
        if rules.environment.admits(peer) { Ok(rules) } else { Err(Error::Caller(Code::AddressDenied)) }
    }

    /// Asks whose a token is. What they may is the snapshot's to say: their role, and one that they were lent.
    async fn admit_token(&self, text: &str, peer: Option<IpAddr>) -> Result<AuthenticatedCaller, Error> {
        self.reached(peer)?;
        let who = self.0.vouching.whose(text).await?;
        let rules = confirmed(&self.0.snapshots, &who).await?;
        let caller = standing_in(&rules, &who, None, self.0.clock.now())?;
        Ok(AuthenticatedCaller { who, caller, secret: None })
    }

    /// Checks a presented key: form and check characters, snapshot, then Argon2id, once.
    pub async fn admit(&self, key_text: &str, peer: Option<IpAddr>) -> Result<AuthenticatedCaller, Error> {
        let rules = self.reached(peer)?;
        if key_text.is_empty() {
            return Err(Error::Caller(Code::MissingAuth));
        }
        let refused = Error::Caller(Code::InvalidKey);
        let Some(presented) = Presented::parse(key_text, &rules.key_pepper.0) else {
            return Err(refused);
        };
        let has_key = |rules: &Governance| rules.key_by_prefix(presented.prefix()).is_some();
        let rules = announced(&self.0.snapshots, KEY_WITHIN, has_key).await?;
        let Some((key, secret)) = rules.key_by_prefix(presented.prefix()) else {
            return Err(refused);
        };
        if !self.fits(presented, &secret.hash).await? {
            return Err(refused);
        }
        let caller = rules.caller_of_key(key, Some(secret), peer, self.0.clock.now()).map_err(Error::Caller)?;
        Ok(AuthenticatedCaller {
            who: Who::Key { key_id: key.key_id.clone() },
            caller,
            secret: Some(secret.prefix.clone()),
        })
    }

    /// Looks an admitted caller up again: what each statement of an open session asks. By the secret that was shown: one
    /// that was rotated opens nothing after its grace, not even what it opened before.
    pub fn standing(&self, who: &Who, secret: Option<&str>, peer: Option<IpAddr>) -> Result<Caller, Error> {
        let (rules, now) = (self.reached(peer)?, self.0.clock.now());
        let Some(prefix) = secret else { return standing_in(&rules, who, peer, now) };
        let (key, secret) = shown(&rules, who, prefix)?;
        rules.caller_of_key(key, Some(secret), peer, now).map_err(Error::Caller)
    }

    /// Why that caller stands no more, if so: asked several times in each statement, of whoever it is.
    pub fn refusal(&self, who: &Who, secret: Option<&str>, peer: Option<IpAddr>) -> Option<Error> {
        let Some(prefix) = secret else { return self.standing(who, secret, peer).err() };
        let refused = || -> Result<Option<Code>, Error> {
            let (rules, now) = (self.reached(peer)?, self.0.clock.now());
            let (key, secret) = shown(&rules, who, prefix)?;
            Ok(rules.refuses_key(key, Some(secret), peer, now))
        };
        refused().map_or_else(Some, |code| code.map(Error::Caller))
    }

    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Does the snapshot still have the key?
    pub fn knows(&self, key_id: &KeyId) -> bool {
        self.0.snapshots.borrow().as_ref().is_some_and(|rules| rules.key(key_id).is_some())
    }

    /// To wait for the next snapshot: an idle session ends when its key does.
    pub fn snapshots(&self) -> Snapshots {
        self.0.snapshots.clone()
    }

    /// The current snapshot; without any, everything is refused.
    pub fn rules(&self) -> Result<Arc<Governance>, Error> {
        self.0.snapshots.borrow().clone().ok_or(Error::NoGovernance)
    }

    /// Whether a key fits a hash. Whoever shows a key that is being checked waits for that check: after a rollout all
    /// connections of a pool come back at once, with one key.
    async fn fits(&self, presented: Presented, hash: &str) -> Result<bool, Error> {
        let inner = &*self.0;
        let mark = hmac_sha256(&inner.process_key, &[presented.text().expose().as_bytes(), hash.as_bytes()]);
        match inner.verified.try_get_with(mark, inner.check(presented, hash.to_owned())).await {
            Ok(()) => Ok(true),
            Err(unverified) => match *unverified {
                Unverified::DoesNotFit => Ok(false),
                Unverified::Busy => Err(Error::KeyChecksBusy),
                Unverified::ShuttingDown => Err(Error::ShuttingDown),
            },
        }
    }
}

/// Why a key is not known to fit.
#[derive(Debug)]
enum Unverified {
    DoesNotFit,
    Busy,
    ShuttingDown,
}

impl SessionsInner {
    /// Computes it, on one of the processors that such checks have.
    async fn check(&self, presented: Presented, hash: String) -> Result<(), Unverified> {
        let _place = QueuePlace::take(&self.waiting).ok_or(Unverified::Busy)?;
        let _core = self.cores.acquire().await.map_err(|_| Unverified::ShuttingDown)?;
        let checked = tokio::task::spawn_blocking(move || presented.fits(&hash)).await;
        if checked.map_err(|_| Unverified::ShuttingDown)? { Ok(()) } else { Err(Unverified::DoesNotFit) }
    }
}

/// The snapshot that knows what was made a moment ago: a key must be accepted as soon as its
/// creation was answered, and the snapshot that holds it is on its way. Only what somebody has
/// proven to be ours is waited for, and never long.
async fn announced(
    snapshots: &Snapshots,
    within: Duration,
    known: impl Fn(&Governance) -> bool,
) -> Result<Arc<Governance>, Error> {
    let mut snapshots = snapshots.clone();
    let arrived = |rules: &Option<Arc<Governance>>| rules.as_deref().is_some_and(&known);
    // Too late, or no more to come: the snapshot there is decides.
    let _ = tokio::time::timeout(within, snapshots.wait_for(arrived)).await;
    let rules = snapshots.borrow().clone();
    rules.ok_or(Error::NoGovernance)
}

/// The snapshot that knows somebody whom the control plane has just confirmed, or the last one that came in time.
pub(crate) async fn confirmed(snapshots: &Snapshots, who: &Who) -> Result<Arc<Governance>, Error> {
    announced(snapshots, CONFIRMED_WITHIN, |rules| is_known(rules, who)).await
}

/// Does the snapshot have the key or the user at all?
fn is_known(rules: &Governance, who: &Who) -> bool {
    match who {
        Who::Key { key_id } => rules.key(key_id).is_some(),
        Who::Session { user_id, .. } => rules.members.contains_key(user_id),
    }
}

/// The key whose secret was shown at the beginning, and that secret.
fn shown<'r>(rules: &'r Governance, who: &Who, prefix: &str) -> Result<(&'r Key, &'r KeySecret), Error> {
    let is_theirs = |key: &Key| matches!(who, Who::Key { key_id } if *key_id == key.key_id);
    rules.key_by_prefix(prefix).filter(|(key, _)| is_theirs(key)).ok_or(Error::Caller(Code::InvalidKey))
}

/// The caller in this snapshot, now.
pub(crate) fn standing_in(
    rules: &Governance,
    who: &Who,
    peer: Option<IpAddr>,
    now: Timestamp,
) -> Result<Caller, Error> {
    let caller = match who {
        Who::Key { key_id } => {
            let key = rules.key(key_id).ok_or(Error::Caller(Code::InvalidKey))?;
            rules.caller_of_key(key, None, peer, now)
        }
        Who::Session { user_id, session_id } => rules.caller_of_user(user_id, session_id.clone(), now),
    };
    caller.map_err(Error::Caller)
}

/// Why that caller does not stand in this snapshot, now, if so: asked for each batch of rows, of whoever it is.
pub(crate) fn refusal_in(rules: &Governance, who: &Who, peer: Option<IpAddr>, now: Timestamp) -> Option<Error> {
    let Who::Key { key_id } = who else { return standing_in(rules, who, peer, now).err() };
    let refused = rules.key(key_id).map_or(Some(Code::InvalidKey), |key| rules.refuses_key(key, None, peer, now));
    refused.map(Error::Caller)
}

/// A place in a bounded queue, given back when dropped.
struct QueuePlace<'a>(&'a AtomicUsize);

impl<'a> QueuePlace<'a> {
    fn take(waiting: &'a AtomicUsize) -> Option<Self> {
        let before = waiting.fetch_add(1, Ordering::AcqRel);
        let place = Self(waiting);
        (before < WAITING_MAX).then_some(place)
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{demo_key, governance};
    use contract::{Clock, SystemClock};

    fn sessions(rules: Option<Governance>) -> (watch::Sender<Option<Arc<Governance>>>, Sessions) {
        let (publish, snapshots) = watch::channel(rules.map(Arc::new));
        (publish, Sessions::new(snapshots, Arc::new(SystemClock), &Entropy::seeded(1)))
    }

    /// Why a caller stands no more: the same, whether or not somebody wants to know who it is.
    fn refused(sessions: &Sessions, who: &Who, secret: Option<&str>, peer: Option<IpAddr>) -> Option<Code> {
        let refusal = sessions.refusal(who, secret, peer).map(|error| error.code());
        assert_eq!(refusal, sessions.standing(who, secret, peer).err().map(|error| error.code()));
        let (rules, now) = (sessions.rules().unwrap(), sessions.now());
        let by_rows = refusal_in(&rules, who, peer, now).map(|error| error.code());
        assert_eq!(by_rows, standing_in(&rules, who, peer, now).err().map(|error| error.code()));
        refusal
    }

    #[tokio::test]
    async fn a_key_is_admitted_when_its_snapshot_comes_a_moment_later() {
        let mut before = governance();
        before.keys.clear();
        let (publish, sessions) = sessions(Some(before));
        let admitting = sessions.admit(demo_key(), None);
        let publishing = async {
            tokio::task::yield_now().await;
            publish.send_replace(Some(Arc::new(governance())));
        };
        let (admitted, ()) = tokio::join!(admitting, publishing);
        assert!(admitted.is_ok());
    }

    #[tokio::test]
    async fn a_key_is_admitted_until_the_snapshot_drops_it() {
        let (publish, sessions) = sessions(Some(governance()));
        let admitted = sessions.admit(demo_key(), None).await.unwrap();
        assert_eq!(refused(&sessions, &admitted.who, admitted.secret.as_deref(), None), None);
        publish.send_modify(|rules| {
            let mut changed = governance();
            changed.keys.clear();
            *rules = Some(Arc::new(changed));
        });
        assert_eq!(refused(&sessions, &admitted.who, admitted.secret.as_deref(), None), Some(Code::InvalidKey));
        assert_eq!(sessions.admit(demo_key(), None).await.unwrap_err().code(), Code::InvalidKey);
    }

    #[tokio::test]
    async fn what_a_rotated_secret_opened_ends_with_its_grace() {
        let (publish, sessions) = sessions(Some(governance()));
        let AuthenticatedCaller { who, secret, .. } = sessions.admit(demo_key(), None).await.unwrap();
        assert!(refused(&sessions, &who, secret.as_deref(), None).is_none());
        let rotated = |not_after: Option<Timestamp>| {
            let mut rules = governance();
            for old in rules.keys.iter_mut().flat_map(|key| &mut key.secrets) {
                old.not_after = not_after;
            }
            publish.send_replace(Some(Arc::new(rules)));
        };
        rotated(Some(SystemClock.now() + chrono::Duration::hours(1)));
        assert!(refused(&sessions, &who, secret.as_deref(), None).is_none());
        rotated(Some(SystemClock.now() - chrono::Duration::hours(1)));
        assert_eq!(refused(&sessions, &who, secret.as_deref(), None), Some(Code::ExpiredKey));
        assert!(refused(&sessions, &who, None, None).is_none(), "the key itself is as it was");
        rotated(None);
        let another = Who::Key { key_id: "another".into() };
        assert_eq!(refused(&sessions, &another, secret.as_deref(), None), Some(Code::InvalidKey));
    }

    #[tokio::test]
    async fn who_connects_from_elsewhere_is_refused_whatever_they_show_and_in_the_middle_of_a_session() {
        let (publish, sessions) = sessions(Some(governance()));
        let (near, far) = (Some("10.1.2.3".parse().unwrap()), Some("192.0.2.1".parse().unwrap()));
        let AuthenticatedCaller { who, secret, .. } = sessions.admit(demo_key(), far).await.unwrap();
        let mut rules = governance();
        rules.environment.allowed_networks = vec!["10.0.0.0/8".parse().unwrap()];
        publish.send_replace(Some(Arc::new(rules)));
        for shown in
            [Credential::Key(demo_key()), Credential::Key("admin"), Credential::Key(""), Credential::Token("a.b.c")]
        {
            for peer in [far, None] {
                assert_eq!(sessions.admit_shown(shown, peer).await.unwrap_err().code(), Code::AddressDenied);
            }
        }
        assert_eq!(refused(&sessions, &who, secret.as_deref(), far), Some(Code::AddressDenied));
        assert!(sessions.admit(demo_key(), near).await.is_ok());
        assert!(refused(&sessions, &who, secret.as_deref(), near).is_none());
        assert!(sessions.admit(demo_key(), Some("127.0.0.1".parse().unwrap())).await.is_ok(), "by port-forward");
    }

    #[tokio::test]
    async fn a_key_that_many_show_at_once_is_checked_once() {
        let (_publish, sessions) = sessions(Some(governance()));
        let all = futures::future::join_all((0..3 * WAITING_MAX).map(|_| sessions.admit(demo_key(), None))).await;
        assert_eq!(all.into_iter().find_map(Result::err).map(|error| error.code()), None);
        assert_eq!(sessions.0.verified.iter().count(), 1);
    }

    #[tokio::test]
    async fn a_forged_key_never_reaches_argon2() {
        let (_publish, sessions) = sessions(Some(governance()));
        for (text, code) in [("", Code::MissingAuth), ("svc_test_x", Code::InvalidKey), ("admin", Code::InvalidKey)] {
            assert_eq!(sessions.admit(text, None).await.unwrap_err().code(), code, "{text}");
        }
        assert_eq!(sessions.0.verified.iter().count(), 0);
    }

    #[tokio::test]
    async fn without_a_snapshot_nobody_is_admitted() {
        let (_publish, sessions) = sessions(None);
        assert_eq!(sessions.admit(demo_key(), None).await.unwrap_err().code(), Code::ControlPlaneDown);
    }
}
