//! The rounds of the mail transport: what is due leaves, one after another, and what could not leave is
//! tried again after longer and longer waits, as long as anybody needs it.

use std::time::Duration as Wait;

use chrono::Duration;

use super::OutgoingMail;
use super::outbox::{self, ClaimedMail};
use crate::database::notifications::{hear, listen};
use crate::http::text::Email;
use crate::{App, Error, Result};

/// Waits after the first, second, … failure; after the last one the mail is given up.
const RETRIES: [Duration; 6] = [
    Duration::seconds(10),
    Duration::seconds(30),
    Duration::minutes(2),
    Duration::minutes(10),
    Duration::hours(1),
    Duration::hours(6),
];
/// Longer than a mail server is listened to, so that no mail is in two hands.
const LOCK: Duration = Duration::minutes(2);
/// A notification may be missed, and time makes mails due without one.
const POLL: Wait = Wait::from_secs(5);

/// Goes on rounds until shutdown.
pub async fn work(app: App) {
    let mut listener = None;
    while !app.shutdown().is_cancelled() && app.mail_transport().is_some() {
        if let Err(error) = run_due(&app).await {
            tracing::warn!(%error, "the mails cannot be read");
        }
        if listener.is_none() {
            listener = listen(app.pool(), "mails").await;
        }
        tokio::select! {
            () = app.shutdown().cancelled() => break,
            () = tokio::time::sleep(POLL) => {}
            heard = hear(listener.as_mut()) => if heard.is_err() { listener = None },
        }
    }
}

/// Brings out every mail that is due now, and says how many there were.
pub async fn run_due(app: &App) -> Result<usize> {
    let mut count = 0;
    while let Some(mail) = outbox::claim(app, LOCK).await? {
        count += 1;
        if mail.good_until <= app.now() {
            outbox::close(app, &mail.mail_id, false, Some("nobody needs it any more")).await?;
        } else {
            match deliver(app, &mail).await {
                Ok(()) => outbox::close(app, &mail.mail_id, true, None).await?,
                Err(error) => again(app, &mail, &error.with_sources()).await?,
            }
        }
        if app.shutdown().is_cancelled() {
            break;
        }
    }
    Ok(count)
}

async fn deliver(app: &App, mail: &ClaimedMail) -> Result<()> {
    let mail_transport = app.mail_transport().ok_or(Error::NoMail)?;
    let text = mail.text(app)?;
    let to = Email::kept(mail.recipient.clone());
    let outgoing = OutgoingMail { to: &to, subject: &mail.subject, text: text.expose(), good_until: mail.good_until };
    mail_transport.send(&mail.mail_id, &outgoing, app.now()).await
}

async fn again(app: &App, mail: &ClaimedMail, error: &str) -> Result<()> {
    tracing::warn!(mail.id = mail.mail_id, mail.attempts = mail.attempts, error, "a mail could not leave");
    let failed = usize::try_from(mail.attempts).unwrap_or(usize::MAX);
    match RETRIES.get(failed.saturating_sub(1)) {
        Some(wait) => outbox::postpone(app, &mail.mail_id, app.now() + *wait, error).await,
        None => outbox::close(app, &mail.mail_id, false, Some(error)).await,
    }
}
