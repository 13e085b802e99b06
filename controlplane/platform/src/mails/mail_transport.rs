//! The transport of mails: to a mail server by SMTP, or into a folder of this machine where a
//! person can read it.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use contract::{Redacted, Timestamp};
use lettre::message::header::{ContentTransferEncoding, ContentType};
use lettre::message::{Body, Mailbox};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use reqwest::Url;
use tokio::fs;
use tokio::io::AsyncWriteExt;

use super::OutgoingMail;
use crate::{Config, Error, Result};

/// For each step of the conversation with a mail server.
const REPLY_WITHIN: Duration = Duration::from_secs(15);
/// Of a line as it is: RFC 5322 allows 998.
const LINE_BYTES_MAX: usize = 900;
/// For the whole of it.
const SENT_WITHIN: Duration = Duration::from_mins(1);

/// The settings for mail cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadMail {
    #[error("SLUICE_MAIL_FROM is not an address, such as Sluice <sluice@example.com>: {0}")]
    From(#[from] lettre::address::AddressError),
    #[error("SLUICE_SMTP_URL cannot be used: {0}")]
    Url(#[from] lettre::transport::smtp::Error),
    #[error(
        "SLUICE_SMTP_URL has to be smtps://host or smtp://host?tls=required: only a server of this machine is spoken to in the clear"
    )]
    Cleartext,
}

enum MailRoute {
    Server(Box<AsyncSmtpTransport<Tokio1Executor>>),
    Folder(PathBuf),
}

pub struct MailTransport {
    way: MailRoute,
    from: Mailbox,
}

impl MailTransport {
    /// None where neither a server nor a folder is named.
    pub fn of(config: &Config) -> Result<Option<Self>, BadMail> {
        let way = match (&config.smtp_url, &config.mail_folder) {
            (Some(url), _) => MailRoute::Server(Box::new(server(url)?)),
            (None, Some(folder)) => MailRoute::Folder(folder.clone()),
            (None, None) => return Ok(None),
        };
        Ok(Some(Self { way, from: config.mail_from.parse()? }))
    }

    pub async fn send(&self, mail_id: &str, outgoing: &OutgoingMail<'_>, now: Timestamp) -> Result<()> {
        let message = self.message(mail_id, outgoing, now)?;
        match &self.way {
            MailRoute::Server(server) => {
                let sent = tokio::time::timeout(SENT_WITHIN, server.send(message)).await;
                sent.map_err(|_| Error::Unavailable("the mail server takes too long"))?.map_err(Error::internal)?;
                Ok(())
            }
            MailRoute::Folder(folder) => put(folder, mail_id, &message.formatted()).await.map_err(Error::internal),
        }
    }

    fn message(&self, mail_id: &str, outgoing: &OutgoingMail<'_>, now: Timestamp) -> Result<Message> {
        let to: Address = outgoing.to.as_str().parse().map_err(Error::internal)?;
        let message_id = format!("<{mail_id}@{}>", self.from.email.domain());
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(outgoing.subject)
            .date(SystemTime::from(now))
            .message_id(Some(message_id))
            .header(ContentType::TEXT_PLAIN)
            .body(body(outgoing.text))
            .map_err(Error::internal)
    }
}

/// As it is, where it can be: a link that is longer than a line of quoted-printable stays whole for
/// whoever reads the file.
fn body(text: &str) -> Body {
    let lines = text.replace('\n', "\r\n");
    if text.is_ascii() && text.lines().all(|line| line.len() <= LINE_BYTES_MAX) {
        Body::dangerous_pre_encoded(lines.into_bytes(), ContentTransferEncoding::SevenBit)
    } else {
        Body::new(text.to_owned())
    }
}

fn server(url: &Redacted<String>) -> Result<AsyncSmtpTransport<Tokio1Executor>, BadMail> {
    let parsed = Url::parse(url.expose()).map_err(|_| BadMail::Cleartext)?;
    let host = parsed.host_str().unwrap_or_default();
    let own = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let sealed = parsed.scheme() == "smtps" || parsed.query_pairs().any(|(k, v)| k == "tls" && v == "required");
    if !own && !sealed {
        return Err(BadMail::Cleartext);
    }
    Ok(AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose())?.timeout(Some(REPLY_WITHIN)).build())
}

/// Whole or not at all, and for its owner's eyes.
async fn put(folder: &Path, mail_id: &str, bytes: &[u8]) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).await?;
    let (fresh, path) = (folder.join(format!("{mail_id}.new")), folder.join(format!("{mail_id}.eml")));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh).await?;
    file.write_all(bytes).await?;
    file.sync_all().await?;
    fs::rename(&fresh, &path).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_another_machine_is_spoken_to_under_tls_alone() {
        for (url, fits) in [
            ("smtps://user:hush@mail.example.com", true),
            ("smtp://mail.example.com:587?tls=required", true),
            ("smtp://127.0.0.1:2525", true),
            ("smtp://localhost", true),
            ("smtp://mail.example.com", false),
            ("smtp://mail.example.com?tls=opportunistic", false),
            ("smtp://127.0.0.1.example.com", false),
            ("http://mail.example.com?tls=required", false),
            ("mail.example.com", false),
        ] {
            assert_eq!(server(&Redacted::new(url.to_owned())).is_ok(), fits, "{url}");
        }
    }
}
