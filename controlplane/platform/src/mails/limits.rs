//! How many mails leave in a day: for one receiver, and for one organization.
//!
//! Without limits anybody who may sign up has a mail server of ours at their disposal, and it is
//! blocked for everybody.

use chrono::Duration;
use contract::{OrgId, Timestamp};
use sqlx::PgConnection;

use crate::Result;
use crate::http::text::Email;

contract::named! {
    /// The kind of a mail.
    pub enum MailKind {
        /// A link that somebody asked for.
        Link = "link",
        Invitation = "invitation",
        /// What the runtime tells people of their reviews.
        Notification = "notification",
    }
}

/// Why a mail is written.
#[derive(Debug, Clone, Copy)]
pub struct Cause<'a> {
    pub kind: MailKind,
    /// Who has it written, where that is an organization.
    pub org_id: Option<&'a OrgId>,
}

/// Mails of a kind in a day.
struct Day {
    of_receiver: i64,
    of_organization: i64,
}

impl MailKind {
    /// The table of limits. A link is of no organization.
    const fn day(self) -> Day {
        match self {
            Self::Link => Day { of_receiver: 20, of_organization: i64::MAX },
            Self::Invitation => Day { of_receiver: 10, of_organization: 100 },
            Self::Notification => Day { of_receiver: 100, of_organization: 1_000 },
        }
    }
}

/// Whether another mail may leave.
pub async fn admits(tx: &mut PgConnection, cause: Cause<'_>, to: &Email, now: Timestamp) -> Result<bool> {
    let counted = sqlx::query!(
        r#"
        select count(*) filter (where recipient = $2) as "of_receiver!",
               count(*) filter (where org_id = $3) as "of_organization!"
        from mails
        where kind = $1 and created_at > $4 and (recipient = $2 or org_id = $3)
        "#,
        cause.kind.as_str(),
        to.as_str(),
        cause.org_id.map(OrgId::as_str),
        now - Duration::days(1),
    )
    .fetch_one(tx)
    .await?;
    let day = cause.kind.day();
    Ok(counted.of_receiver < day.of_receiver && counted.of_organization < day.of_organization)
}
