//! Links that are mailed to a person, and do one thing once.
//!
//! "Tokens 256-bit, single use, hashed, 15 minutes." Whoever asks for a link is answered the same,
//! after the same work, whether or not the address has an account: the request writes a job and
//! looks nothing up, and the job finds out.

mod store;

use chrono::Duration;
use contract::{Code, Timestamp};
use platform::http::call::Visit;
use platform::http::json::Accepted;
use platform::http::text::Email;
use platform::jobs::kind::BackgroundJob;
use platform::jobs::queue;
use platform::mails::{self, Cause, MailKind, OutgoingMail, Queued};
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::domain::accounts::page::{self, LinkPage};
use crate::domain::accounts::sessions::sha256;

pub use store::{MailedLink, verified};

/// How long a link is good.
const GOOD_FOR: Duration = Duration::minutes(15);
/// Links that one account is mailed in an hour; more are not written, and nobody is told.
const AN_HOUR_MAX: i64 = 6;
/// Characters of base62 that hold 256 bits.
const TOKEN_CHARACTERS: usize = 43;
/// How long it is remembered that there was a link.
const KEPT: Duration = Duration::days(1);

contract::named! {
    /// The purpose of a mailed link.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Purpose {
        SignIn = "sign_in",
        VerifyEmail = "verify_email",
        ResetPassword = "reset_password",
    }
}

impl Purpose {
    /// Where the link leads.
    const fn page(self) -> &'static LinkPage {
        match self {
            Self::SignIn => &page::SIGN_IN,
            Self::VerifyEmail => &page::VERIFY_EMAIL,
            Self::ResetPassword => &page::RESET_PASSWORD,
        }
    }

    const fn subject(self) -> &'static str {
        match self {
            Self::SignIn => "Sign in to Sluice",
            Self::VerifyEmail => "Confirm your e-mail address",
            Self::ResetPassword => "Choose a new password",
        }
    }
}

/// What everybody is answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinkRequested {
    status: &'static str,
    message: &'static str,
}

const ASKED: LinkRequested =
    LinkRequested { status: "accepted", message: "if this address has an account, a mail is on its way to it" };

/// Somebody asks for a link to an address.
pub async fn ask(visit: &Visit, purpose: Purpose, email: Email) -> Result<Accepted<LinkRequested>> {
    visit.app.limits().mail(visit.peer)?;
    mails::open(&visit.app)?;
    let mut tx = visit.begin().await?;
    promise(&visit.app, &mut tx, purpose, email).await?;
    tx.commit().await?;
    Ok(Accepted(ASKED))
}

/// Has a link written once the transaction is there.
pub async fn promise(app: &App, tx: &mut PgConnection, purpose: Purpose, email: Email) -> Result<()> {
    if app.mail_transport().is_none() {
        return Ok(());
    }
    queue::enqueue(app, tx, &MailLink { purpose, email }, app.now()).await
}

/// The job that mails a link to whoever has an account of this address.
#[derive(Debug, Serialize, Deserialize)]
pub struct MailLink {
    purpose: Purpose,
    email: Email,
}

impl BackgroundJob for MailLink {
    const KIND: &'static str = "mail_link";

    /// Mails a link for the account of this address, if there is one that the link is of use to. One
    /// that enters no organization but by single sign-on is sent no way around it.
    async fn run(&self, app: &App) -> Result<()> {
        let Self { purpose, email } = self;
        let mut tx = app.pool().begin().await?;
        let Some(account) = store::account(&mut tx, email).await? else {
            return Ok(());
        };
        let of_use = match purpose {
            Purpose::SignIn | Purpose::ResetPassword => account.enters,
            Purpose::VerifyEmail => account.email_verified_at.is_none(),
        };
        let now = app.now();
        if !of_use || store::written_since(&mut tx, &account.id, now - Duration::hours(1)).await? >= AN_HOUR_MAX {
            return Ok(());
        }
        let token = app.entropy().base62(TOKEN_CHARACTERS);
        let good_until = now + GOOD_FOR;
        store::end_all(&mut tx, &account.id, *purpose, now).await?;
        store::insert(&mut tx, &sha256(&token), &account.id, *purpose, now, good_until).await?;
        let text = text(*purpose, &url(app, purpose.page(), &token));
        let outgoing = OutgoingMail { to: email, subject: purpose.subject(), text: &text, good_until };
        let cause = Cause { kind: MailKind::Link, org_id: None };
        // Whoever asked is not told what became of it: that would say who has an account.
        if mails::queue(app, &mut tx, cause, &outgoing).await? == Queued::Yes {
            tx.commit().await?;
        }
        Ok(())
    }
}

/// The link itself, as callers reach this installation.
pub fn url(app: &App, page: &LinkPage, token: &str) -> String {
    format!("{}{}?token={token}", app.config().public_url(), page.path)
}

fn text(purpose: Purpose, url: &str) -> String {
    let what = match purpose {
        Purpose::SignIn => "Follow this link to sign in:",
        Purpose::VerifyEmail => "Follow this link to confirm that this address is yours:",
        Purpose::ResetPassword => "Follow this link to choose a new password:",
    };
    format!(
        "{what}\n\n{url}\n\nIt works once, within {} minutes.\nIf you did not ask for it, leave it: nothing happens.\n",
        GOOD_FOR.num_minutes()
    )
}

const UNKNOWN: Error = Error::Over {
    code: Code::InvalidToken,
    message: "this link is not whole, or of long ago: open it as it stands in the mail, or ask for another",
};
const USED: Error = Error::Over {
    code: Code::InvalidToken,
    message: "this link was used, or a newer one has taken its place: open the newest mail, or ask for another",
};
const LATE: Error = Error::Over {
    code: Code::ExpiredToken,
    message: "this link was good for 15 minutes, which are over: ask for another",
};

/// Whether a text can be a token of ours at all.
pub fn is_token(text: &str) -> bool {
    text.len() == TOKEN_CHARACTERS && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The link that somebody follows, held until the transaction ends.
pub async fn presented(tx: &mut PgConnection, token: &str, purpose: Purpose, now: Timestamp) -> Result<MailedLink> {
    if !is_token(token) {
        return Err(UNKNOWN);
    }
    let link = store::find(tx, &sha256(token), purpose).await?.ok_or(UNKNOWN)?;
    if link.ended_at.is_some() {
        return Err(USED);
    }
    if link.expires_at <= now {
        return Err(LATE);
    }
    Ok(link)
}

/// It has done what it is for. Its mail went to the address alone, so the address is proven too.
pub async fn followed(tx: &mut PgConnection, link: &MailedLink, now: Timestamp) -> Result<()> {
    store::end(tx, &link.token_sha256, now).await?;
    store::verified(tx, &link.account_id, now).await
}

/// Forgets links of long ago.
pub async fn sweep(app: &App) -> Result<()> {
    store::sweep(app, app.now() - KEPT).await
}
