//! Mail: what a person is told at their address.
//!
//! "Invitation email sent"; "send a sign-in link by email". An [`OutgoingMail`] is queued in the transaction
//! of what it tells (`outbox`) and leaves on rounds of its own (`rounds`): a request never waits for
//! a mail server, one that hangs keeps no job waiting, and a mail that was queued leaves though the
//! process dies. It leaves at least once, with the same `Message-ID`.
//!
//! A mail may hold a link that opens an account. It is sealed while it waits, and its text is
//! forgotten once it has left or is of no use any more.
//!
//! Where nothing is configured no mail leaves, and what needs one says so ([`open`]).

mod limits;
mod mail_transport;
pub mod names;
mod outbox;
mod rounds;
#[cfg(test)]
mod tests;

use contract::Timestamp;

use crate::http::text::Email;
use crate::{App, Error, Result};

pub use limits::{Cause, MailKind};
pub use mail_transport::{BadMail, MailTransport};
pub use outbox::{ClaimedMail, Queued, claim, queue, sweep};
pub use rounds::{run_due, work};

/// A mail that is to be sent.
#[derive(Debug)]
pub struct OutgoingMail<'a> {
    pub to: &'a Email,
    pub subject: &'a str,
    pub text: &'a str,
    /// It does not leave after this.
    pub good_until: Timestamp,
}

/// Refuses what would need a mail where none can leave.
pub fn open(app: &App) -> Result<()> {
    app.mail_transport().is_some().then_some(()).ok_or(Error::NoMail)
}
