//! "Rate limits are counted per authentication identity": the key, else the user, by the tier of
//! the organization. Before anybody is known the address counts instead.
//!
//! "The meaning of burst: not shown." A bucket holds one minute's requests and refills evenly, so
//! a whole minute's worth may come at once, and the request after it gets 429.
//!
//! Credentials that fail are counted by address, and turn from 401 to 429 when there are too many.
//! They never keep a good credential of the same address out: checking a forged one is cheap.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use contract::{OrgId, SharedClock, Tier, Timestamp};
use governor::clock::Clock as GovernorClock;
use governor::middleware::{NoOpMiddleware, StateInformationMiddleware};
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::{Config, Error, Result};

/// Buckets kept before full ones are first forgotten.
const BUCKETS_MAX: usize = 100_000;
/// Failed logins of one account from one address, a minute.
const FAILED_LOGINS: u32 = 10;
/// Mails that one address may ask for, a minute.
const MAILS: u32 = 10;
/// Heartbeats of one attempt, a minute: its lease must not hang on what else the key does.
const HEARTBEATS: u32 = 60;
const MINUTE: Duration = Duration::from_mins(1);

/// The product's clock as the limiter reads it: nanoseconds since 1970.
#[derive(Debug, Clone)]
struct LimiterClock(SharedClock);

impl GovernorClock for LimiterClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        let nanos = self.0.now().timestamp_nanos_opt().unwrap_or_default();
        Nanos::from(u64::try_from(nanos).unwrap_or_default())
    }
}

#[derive(Debug)]
struct Buckets {
    limit: NonZeroU32,
    clock: LimiterClock,
    limiter: RateLimiter<String, DashMapStateStore<String>, LimiterClock, StateInformationMiddleware>,
    /// At so many buckets the full ones are forgotten next.
    sweep_at: AtomicUsize,
}

impl Buckets {
    fn new(per_minute: u32, clock: &SharedClock) -> Self {
        let limit = NonZeroU32::new(per_minute).unwrap_or(NonZeroU32::MIN);
        let clock = LimiterClock(clock.clone());
        let limiter: RateLimiter<_, _, _, NoOpMiddleware<Nanos>> =
            RateLimiter::new(Quota::per_minute(limit), DashMapStateStore::default(), clock.clone());
        Self { limit, clock, limiter: limiter.with_middleware(), sweep_at: AtomicUsize::new(BUCKETS_MAX) }
    }

    fn spend(&self, key: &str) -> RateLimitState {
        self.forget();
        let (remaining, retry_after) = match self.limiter.check_key(&key.to_owned()) {
            Ok(state) => (state.remaining_burst_capacity(), None),
            Err(until) => (0, Some(until.wait_time_from(self.clock.now()))),
        };
        let missing = self.limit.get().saturating_sub(remaining);
        let full_in = MINUTE.saturating_mul(missing).checked_div(self.limit.get()).unwrap_or(MINUTE);
        RateLimitState {
            limit: self.limit.get(),
            remaining,
            reset: self.clock.0.now() + full_in,
            full_in,
            retry_after,
            of_runtime: false,
            else_counts_for: None,
        }
    }

    /// Forgets the buckets that are full again. Each walk is paid for by as many new buckets as it left: whoever
    /// makes many, and keeps them all from filling, does not make every request walk through them.
    fn forget(&self) {
        let sweep_at = self.sweep_at.load(Ordering::Relaxed);
        let is_mine = || self.sweep_at.compare_exchange(sweep_at, usize::MAX, Ordering::Relaxed, Ordering::Relaxed);
        if self.limiter.len() < sweep_at || is_mine().is_err() {
            return;
        }
        self.limiter.retain_recent();
        self.sweep_at.store(BUCKETS_MAX.max(2 * self.limiter.len()), Ordering::Relaxed);
    }
}

/// Where an identity stands after a request.
#[derive(Debug, Clone)]
pub struct RateLimitState {
    limit: u32,
    remaining: u32,
    /// When the bucket is full again.
    reset: Timestamp,
    full_in: Duration,
    /// Set when the request was one too many.
    retry_after: Option<Duration>,
    of_runtime: bool,
    /// Of a heartbeat: for whom it counts, should it turn out to keep no lease.
    else_counts_for: Option<String>,
}

impl RateLimitState {
    pub fn allowed(&self) -> Result<()> {
        match self.retry_after {
            None => Ok(()),
            Some(wait) => Err(Error::RateLimited { retry_after_s: rounded_up(wait) }),
        }
    }

    /// "Every response carries `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset`
    /// (Unix seconds)." For `/v2` "reported through `RateLimit-Limit`, `RateLimit-Remaining`,
    /// `RateLimit-Reset`", whose reset is in seconds from now.
    pub fn stamp(&self, headers: &mut HeaderMap) {
        if self.of_runtime {
            headers.insert("ratelimit-limit", HeaderValue::from(self.limit));
            headers.insert("ratelimit-remaining", HeaderValue::from(self.remaining));
            headers.insert("ratelimit-reset", HeaderValue::from(rounded_up(self.full_in)));
            return;
        }
        headers.insert("x-ratelimit-limit", HeaderValue::from(self.limit));
        headers.insert("x-ratelimit-remaining", HeaderValue::from(self.remaining));
        headers.insert("x-ratelimit-reset", HeaderValue::from(self.reset.timestamp().saturating_add(1)));
    }
}

fn rounded_up(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// All limiters of a process.
#[derive(Debug)]
pub struct RateLimits {
    tiers: Vec<(Tier, Buckets)>,
    addresses: Buckets,
    failed_credentials: Buckets,
    failed_logins: Buckets,
    mails: Buckets,
    runtime_orgs: Buckets,
    runtime_identities: Buckets,
    heartbeats: Buckets,
    /// Who has failed too often, and until when no password of theirs is looked at.
    waiting: moka::sync::Cache<String, Timestamp>,
}

impl RateLimits {
    pub fn new(clock: &SharedClock, config: &Config) -> Self {
        let tier = |tier: &Tier| (*tier, Buckets::new(tier.rate().0, clock));
        Self {
            tiers: Tier::ALL.iter().map(tier).collect(),
            addresses: Buckets::new(config.rate_limit_address, clock),
            failed_credentials: Buckets::new(config.rate_limit_failed_credentials, clock),
            runtime_orgs: Buckets::new(config.rate_limit_org, clock),
            runtime_identities: Buckets::new(config.rate_limit_key, clock),
            heartbeats: Buckets::new(HEARTBEATS, clock),
            failed_logins: Buckets::new(FAILED_LOGINS, clock),
            mails: Buckets::new(MAILS, clock),
            waiting: moka::sync::Cache::new(BUCKETS_MAX as u64),
        }
    }

    /// One request of somebody known.
    pub fn spend(&self, identity: &str, tier: Tier) -> RateLimitState {
        let buckets = self.tiers.iter().find(|(of, _)| *of == tier).map_or(&self.addresses, |(_, buckets)| buckets);
        buckets.spend(identity)
    }

    /// One request to `/v2`: "600 per minute per organization and 200 per minute per API key". A
    /// heartbeat counts for its attempt and not for all that the key does; each key has a count of its own, so that
    /// nobody uses up a worker's by naming its attempt. Whether it is one is known when it is answered
    /// ([`kept_nothing`](Self::kept_nothing)).
    pub fn spend_runtime(&self, org_id: &OrgId, identity: &str, heartbeat_of: Option<&str>) -> RateLimitState {
        let own = match heartbeat_of {
            Some(attempt_id) => self.heartbeats.spend(&format!("{org_id} {identity} {attempt_id}")),
            None => self.runtime_identities.spend(identity),
        };
        // What is refused for itself does not use up what others share.
        let nearest = if own.retry_after.is_some() {
            own
        } else {
            let shared = self.runtime_orgs.spend(org_id.as_str());
            let shared_first = shared.retry_after.is_some() || shared.remaining < own.remaining;
            if shared_first { shared } else { own }
        };
        RateLimitState { of_runtime: true, else_counts_for: heartbeat_of.map(|_| identity.to_owned()), ..nearest }
    }

    /// What kept no lease was no heartbeat, whatever its path: it counts for the key, as any other request.
    pub fn kept_nothing(&self, state: RateLimitState) -> RateLimitState {
        let Some(identity) = state.else_counts_for.as_ref().filter(|_| state.retry_after.is_none()) else {
            return state;
        };
        let own = self.runtime_identities.spend(identity);
        let own_first = own.retry_after.is_some() || own.remaining < state.remaining;
        if own_first { RateLimitState { of_runtime: true, ..own } } else { state }
    }

    /// One request of nobody known.
    pub fn spend_address(&self, peer: IpAddr) -> RateLimitState {
        self.addresses.spend(&origin(peer))
    }

    /// The error to answer when a credential was refused with `error`.
    pub fn after_failed_credential(&self, peer: IpAddr, error: Error) -> Error {
        if !matches!(error, Error::BadCredential(_) | Error::Over { .. } | Error::WrongPassword) {
            return error;
        }
        let state = self.failed_credentials.spend(&origin(peer));
        state.allowed().err().unwrap_or(error)
    }

    /// One mail that somebody asks for, to whomever: what is answered must not depend on that.
    pub fn mail(&self, peer: IpAddr) -> Result<()> {
        self.mails.spend(&origin(peer)).allowed()
    }

    /// Before a password is looked at. Failures count by account and address together, so that
    /// nobody locks somebody else out.
    pub fn login(&self, email: &str, peer: IpAddr) -> Result<()> {
        let now = self.failed_logins.clock.0.now();
        match self.waiting.get(&who(email, peer)) {
            Some(until) if until > now => {
                let wait = (until - now).to_std().unwrap_or_default();
                Err(Error::RateLimited { retry_after_s: rounded_up(wait) })
            }
            _ => Ok(()),
        }
    }

    pub fn failed_login(&self, email: &str, peer: IpAddr) {
        let who = who(email, peer);
        if self.failed_logins.spend(&who).remaining == 0 {
            self.waiting.insert(who, self.failed_logins.clock.0.now() + MINUTE / FAILED_LOGINS);
        }
    }
}

fn who(email: &str, peer: IpAddr) -> String {
    format!("{} {email}", origin(peer))
}

/// Whom an address stands for: one host in the old protocol, one network in the new, whose every customer has 2^64
/// addresses to change between.
fn origin(peer: IpAddr) -> String {
    match peer.to_canonical() {
        IpAddr::V4(host) => host.to_string(),
        IpAddr::V6(host) => {
            let [a, b, c, d, ..] = host.segments();
            std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chrono::DateTime;
    use contract::TestClock;

    use super::*;

    fn limits() -> (RateLimits, TestClock) {
        let clock = TestClock::at(DateTime::from_timestamp(1_800_000_000, 0).unwrap());
        let shared: SharedClock = Arc::new(clock.clone());
        let mut config = Config::new(String::new(), contract::Keyring::new([7; 32]));
        (config.rate_limit_address, config.rate_limit_failed_credentials) = (5, 3);
        (RateLimits::new(&shared, &config), clock)
    }

    #[test]
    fn a_minutes_worth_passes_at_once_and_the_next_waits() {
        let (limits, clock) = limits();
        for left in (0..60).rev() {
            assert_eq!(limits.spend("user", Tier::Free).remaining, left);
        }
        let refused = limits.spend("user", Tier::Free);
        assert_eq!(refused.allowed().unwrap_err().problem().retry_after_s, Some(1));
        assert!(limits.spend("another", Tier::Free).allowed().is_ok());
        clock.advance(chrono::Duration::seconds(1));
        assert!(limits.spend("user", Tier::Free).allowed().is_ok());
    }

    #[test]
    fn who_has_a_network_is_counted_as_one() {
        let same = |a: &str, b: &str| origin(a.parse().unwrap()) == origin(b.parse().unwrap());
        assert!(same("2001:db8:1:2::1", "2001:db8:1:2:ffff::9") && same("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(!same("2001:db8:1:2::1", "2001:db8:1:3::1") && !same("10.0.0.1", "10.0.0.2"));
    }

    #[test]
    fn too_many_failed_credentials_turn_401_into_429() {
        let (limits, _) = limits();
        let peer = IpAddr::from([10, 0, 0, 1]);
        let codes: Vec<_> = (0..4)
            .map(|_| {
                limits.after_failed_credential(peer, Error::BadCredential(contract::Code::InvalidKey)).code().http()
            })
            .collect();
        assert_eq!(codes, [401, 401, 401, 429]);
    }

    #[test]
    fn nobody_uses_up_the_heartbeats_of_somebody_elses_attempt() {
        let (limits, _) = limits();
        let [org, other] = ["org", "other"].map(OrgId::from);
        let beat = |org: &OrgId, key: &str, attempt: &str| limits.spend_runtime(org, key, Some(attempt)).allowed();
        for _ in 0..HEARTBEATS {
            assert!(beat(&other, "stranger", "attempt").is_ok() && beat(&org, "colleague", "attempt").is_ok());
        }
        assert!(beat(&other, "stranger", "attempt").is_err() && beat(&org, "colleague", "attempt").is_err());
        assert!(beat(&org, "worker", "attempt").is_ok());
        assert!(beat(&org, "colleague", "their own attempt").is_ok(), "each attempt has a count of its own");
    }

    #[test]
    fn buckets_are_walked_once_for_as_many_new_ones_and_forgotten_when_full() {
        let clock = TestClock::at(DateTime::from_timestamp(1_800_000_000, 0).unwrap());
        let shared: SharedClock = Arc::new(clock.clone());
        let buckets = Buckets::new(60, &shared);
        let spend = |count: usize| {
            for key in 0..count {
                buckets.spend(&key.to_string());
            }
        };
        spend(BUCKETS_MAX + 1);
        // None was full: the next walk is not for the next request.
        assert_eq!(buckets.limiter.len(), BUCKETS_MAX + 1);
        assert_eq!(buckets.sweep_at.load(Ordering::Relaxed), 2 * BUCKETS_MAX);
        clock.advance(chrono::Duration::minutes(1));
        spend(BUCKETS_MAX);
        assert_eq!(buckets.limiter.len(), BUCKETS_MAX + 1, "not yet");
        buckets.sweep_at.store(BUCKETS_MAX, Ordering::Relaxed);
        clock.advance(chrono::Duration::minutes(1));
        spend(1);
        assert_eq!((buckets.limiter.len(), buckets.sweep_at.load(Ordering::Relaxed)), (1, BUCKETS_MAX));
    }

    #[test]
    fn the_reset_is_when_the_bucket_is_full_again() {
        let (limits, _) = limits();
        let mut headers = HeaderMap::new();
        limits.spend("user", Tier::Free).stamp(&mut headers);
        assert_eq!(headers["x-ratelimit-limit"], "60");
        assert_eq!(headers["x-ratelimit-remaining"], "59");
        assert_eq!(headers["x-ratelimit-reset"], "1800000002");
    }
}
