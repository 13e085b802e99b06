//! The second factor: a code of an authenticator (RFC 6238), or a recovery code when it is lost.
//!
//! It belongs to the account and is asked for wherever its password or its mailbox opens a session.
//! "Organization settings `mfa_required` … enforce MFA": who has none there may do nothing but enrol
//! one. Single sign-on is its provider's to make strong: it is never asked here.
//!
//! A code is worth something once: the step of the last one taken is kept, and no earlier one is
//! taken after it. Wrong codes make the account wait longer and longer, wherever they come from;
//! only who has the password gets that far, so nobody else can lock its owner out.

mod http;
mod recovery;
mod store;
#[cfg(test)]
mod tests;
mod totp;

use std::net::IpAddr;

use chrono::Duration;
use contract::Timestamp;
use platform::http::text::Email;
use platform::{App, Error, Result};
use sqlx::PgConnection;

use crate::domain::accounts::failures::{self, Reason};

pub use http::{confirm, enrol, remove, verify};

/// A code this old still counts where one is asked for again.
const FRESH_FOR: Duration = Duration::minutes(15);
/// Wrong codes before the account waits.
const FREE_FAILURES: i32 = 5;
const WAIT_MAX: Duration = Duration::hours(1);

/// The second factor of a caller's session.
#[derive(Debug, Clone, Copy, Default)]
pub struct SecondFactorState {
    /// The organization asks for one.
    pub required: bool,
    /// The account has one.
    pub enrolled: bool,
    /// When the session's holder last showed it.
    pub shown_at: Option<Timestamp>,
}

impl SecondFactorState {
    /// Refuses a session that lacks what its organization requires.
    pub fn suffices(&self) -> Result<()> {
        match (self.required, self.enrolled, self.shown_at) {
            (false, ..) | (true, true, Some(_)) => Ok(()),
            (true, true, None) => Err(Error::MfaRequired),
            (true, false, _) => Err(Error::MfaEnrollmentRequired),
        }
    }

    /// Who has a second factor shows it anew before what cannot easily be undone.
    pub fn is_fresh(&self, now: Timestamp) -> Result<()> {
        let fresh = self.shown_at.is_some_and(|shown_at| now - shown_at <= FRESH_FOR);
        if self.enrolled && !fresh { Err(Error::StepUpRequired) } else { Ok(()) }
    }
}

/// Codes that are sent besides a password. Empty is absent: a form sends its empty fields.
#[derive(Debug, Default)]
pub struct Codes {
    totp: Option<String>,
    recovery: Option<String>,
}

impl Codes {
    pub fn new(totp: Option<String>, recovery: Option<String>) -> Self {
        let given = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        Self { totp: given(totp), recovery: given(recovery) }
    }
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecondFactorVerdict {
    /// The account has none.
    Unasked,
    Right,
    Wrong,
}

/// When the second factor of an account was shown: now, if it has one. What was wrong is written
/// down in a transaction of its own, so it counts though the login fails.
pub async fn passed(app: &App, account: &SecondFactorSubject<'_>, codes: &Codes) -> Result<Option<Timestamp>> {
    let mut tx = app.pool().begin().await?;
    let verdict = judge(app, &mut tx, account.id, codes).await?;
    tx.commit().await?;
    match verdict {
        SecondFactorVerdict::Unasked => Ok(None),
        SecondFactorVerdict::Right => Ok(Some(app.now())),
        SecondFactorVerdict::Wrong => {
            failures::remember(app, account.email, account.peer, Reason::SecondFactor).await?;
            Err(Error::WrongCode)
        }
    }
}

/// Whose second factor is asked for, and from where it comes.
#[derive(Debug)]
pub struct SecondFactorSubject<'a> {
    pub id: &'a str,
    pub email: &'a Email,
    pub peer: IpAddr,
}

async fn judge(app: &App, tx: &mut PgConnection, account_id: &str, codes: &Codes) -> Result<SecondFactorVerdict> {
    let now = app.now();
    let Some(enrolled) = store::lock(tx, account_id).await?.filter(|found| found.confirmed_at.is_some()) else {
        return Ok(SecondFactorVerdict::Unasked);
    };
    if codes.totp.is_none() && codes.recovery.is_none() {
        return Err(Error::MfaRequired);
    }
    if let Some(wait) = enrolled.waits_until.map(|until| until - now).filter(|wait| *wait > Duration::zero()) {
        return Err(Error::RateLimited { retry_after_s: u64::try_from(wait.num_seconds()).unwrap_or(0) + 1 });
    }
    let right = match (&codes.totp, &codes.recovery) {
        (Some(code), _) => match totp::step_of(app, account_id, &enrolled, code)? {
            Some(step) => {
                store::took(tx, account_id, step).await?;
                true
            }
            None => false,
        },
        (None, Some(code)) => store::use_recovery(tx, account_id, &recovery::digest(code), now).await?,
        (None, None) => false,
    };
    if right {
        store::succeeded(tx, account_id).await?;
        return Ok(SecondFactorVerdict::Right);
    }
    store::failed(tx, account_id, wait_after(enrolled.failures + 1).map(|wait| now + wait)).await?;
    Ok(SecondFactorVerdict::Wrong)
}

/// A minute after the fifth wrong code in a row, twice as long after each that follows, an hour at most.
fn wait_after(failures: i32) -> Option<Duration> {
    let beyond = u32::try_from(failures - FREE_FAILURES).ok()?;
    let minutes = 1_i64.checked_shl(beyond.min(16)).unwrap_or(i64::MAX);
    Some(Duration::minutes(minutes).min(WAIT_MAX))
}
