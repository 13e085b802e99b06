//! Mails in PostgreSQL.

use chrono::Duration;
use contract::{OrgId, Redacted, Timestamp};
use sqlx::PgConnection;

use super::{Cause, OutgoingMail, limits};
use crate::{App, Error, Result, execute};

/// How long it is remembered that a mail has left.
const KEPT: Duration = Duration::days(30);

/// The outcome of queueing a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queued {
    /// It leaves, or no mail leaves here at all.
    Yes,
    /// The receiver, or the organization, has had as many of this kind as there may be in a day.
    Full,
}

/// Queues a mail in the transaction of what it tells. Nothing is queued where no mail leaves.
pub async fn queue(app: &App, tx: &mut PgConnection, cause: Cause<'_>, outgoing: &OutgoingMail<'_>) -> Result<Queued> {
    if app.mail_transport().is_none() {
        return Ok(Queued::Yes);
    }
    if !limits::admits(tx, cause, outgoing.to, app.now()).await? {
        tracing::warn!(kind = cause.kind.as_str(), org.id = ?cause.org_id, "a mail beyond the day's limit is not sent");
        return Ok(Queued::Full);
    }
    let mail_id = contract::ids::fresh(app.now(), app.entropy());
    let text = Redacted::new(outgoing.text.to_owned());
    let sealed = app.keyring().seal(&record(&mail_id), &text, app.entropy()).map_err(Error::internal)?;
    sqlx::query!(
        "insert into mails
             (mail_id, recipient, subject, body, good_until, next_attempt_at, created_at, kind, org_id)
         values ($1, $2, $3, $4, $5, $6, $6, $7, $8)",
        mail_id,
        outgoing.to.as_str(),
        outgoing.subject,
        sealed,
        outgoing.good_until,
        app.now(),
        cause.kind.as_str(),
        cause.org_id.map(OrgId::as_str),
    )
    .execute(tx)
    .await?;
    Ok(Queued::Yes)
}

/// What a sealed text belongs to.
fn record(mail_id: &str) -> String {
    format!("mail:{mail_id}")
}

/// A mail that is being sent.
#[derive(Debug)]
pub struct ClaimedMail {
    pub mail_id: String,
    pub recipient: String,
    pub subject: String,
    pub body: Vec<u8>,
    pub good_until: Timestamp,
    /// This one counted.
    pub attempts: i32,
}

impl ClaimedMail {
    pub fn text(&self, app: &App) -> Result<Redacted<String>> {
        app.keyring().open(&record(&self.mail_id), &self.body).map_err(Error::internal)
    }
}

/// The mail that is due longest, for as long as the lock holds.
pub async fn claim(app: &App, lock: Duration) -> Result<Option<ClaimedMail>> {
    let claimed = sqlx::query_as!(
        ClaimedMail,
        r#"
        update mails
        set locked_until = $2, attempts = attempts + 1
        where mail_id = (
            select mail_id from mails
            where body is not null and next_attempt_at <= $1 and (locked_until is null or locked_until <= $1)
            order by next_attempt_at, mail_id
            limit 1
            for update skip locked
        )
        returning mail_id, recipient, subject, body as "body!", good_until, attempts
        "#,
        app.now(),
        app.now() + lock,
    );
    Ok(claimed.fetch_optional(app.pool()).await?)
}

/// It has left, or is given up: what it said is forgotten.
pub async fn close(app: &App, mail_id: &str, sent: bool, error: Option<&str>) -> Result<()> {
    execute!(
        app.pool(),
        "update mails set body = null, locked_until = null, sent_at = $2, last_error = $3 where mail_id = $1",
        mail_id,
        sent.then(|| app.now()),
        error,
    )
}

pub async fn postpone(app: &App, mail_id: &str, until: Timestamp, error: &str) -> Result<()> {
    execute!(
        app.pool(),
        "update mails set locked_until = null, next_attempt_at = $2, last_error = $3 where mail_id = $1",
        mail_id,
        until,
        error,
    )
}

/// Forgets mails of long ago.
pub async fn sweep(app: &App) -> Result<()> {
    execute!(app.pool(), "delete from mails where created_at < $1", app.now() - KEPT)
}
