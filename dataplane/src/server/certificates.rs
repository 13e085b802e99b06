//! Certificates that change while the process runs.
//!
//! The files are read again every few seconds, by content: in a pod they are links that are swapped
//! as a whole. The next connection is shown the new certificate; open ones stay as they are. A pair
//! that cannot be used changes nothing, and is warned about once.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use contract::Redacted;
use rustls::ServerConfig;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::governance::link::{Link, TlsIdentity};
use crate::protocols::tls::{self, TlsError};
use crate::protocols::{http, pgwire};
use crate::server::config::PgTls;

/// Longer than any bundle of certificates.
const PEM_BYTES_MAX: u64 = 1 << 20;

/// Where the certificates are, as PEM.
#[derive(Debug, Clone)]
pub struct Files {
    pub ca: PathBuf,
    pub cert: PathBuf,
    pub key: PathBuf,
    /// Of the PostgreSQL wire; the identity's own when absent.
    pub pg: Option<(PathBuf, PathBuf)>,
}

impl Files {
    pub fn identity(&self) -> io::Result<TlsIdentity> {
        Ok(TlsIdentity {
            ca_pem: text(&self.ca)?,
            cert_pem: text(&self.cert)?,
            key_pem: Redacted::new(text(&self.key)?),
        })
    }

    pub fn pg(&self) -> io::Result<PgTls> {
        let (cert, key) = self.pg.as_ref().map_or((&self.cert, &self.key), |(cert, key)| (cert, key));
        Ok(PgTls { cert_pem: text(cert)?, key_pem: Redacted::new(text(key)?) })
    }
}

fn text(path: &Path) -> io::Result<String> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut text = String::new();
    std::fs::File::open(path).map_err(named)?.take(PEM_BYTES_MAX).read_to_string(&mut text).map_err(named)?;
    Ok(text)
}

/// The certificates that the listeners show now.
#[derive(Debug, Clone)]
pub struct ServedCertificates {
    pub rest: watch::Sender<Arc<ServerConfig>>,
    /// None where the PostgreSQL wire is plain.
    pub pg: Option<watch::Sender<Arc<ServerConfig>>>,
    /// The same certificate, for HTTP.
    pub tools: Option<watch::Sender<Arc<ServerConfig>>>,
}

impl ServedCertificates {
    pub fn new(identity: &TlsIdentity, pg: Option<&PgTls>) -> Result<Self, TlsError> {
        let rest = watch::Sender::new(tls::mutual(identity, &http::PROTOCOLS)?);
        let clients = |protocols: &[&[u8]]| pg.map(|pg| for_clients(pg, protocols)).transpose();
        let (pg, tools) = (clients(&pgwire::PROTOCOLS)?, clients(&http::PROTOCOLS)?);
        Ok(Self { rest, pg: pg.map(watch::Sender::new), tools: tools.map(watch::Sender::new) })
    }

    fn show_identity(&self, link: &Link, identity: &TlsIdentity) -> Result<(), TlsError> {
        let config = tls::mutual(identity, &http::PROTOCOLS)?;
        link.renew(identity)?;
        self.rest.send_replace(config);
        Ok(())
    }

    fn show_pg(&self, pg: &PgTls) -> Result<(), TlsError> {
        let (Some(wire), Some(tools)) = (&self.pg, &self.tools) else { return Ok(()) };
        let (for_wire, for_tools) = (for_clients(pg, &pgwire::PROTOCOLS)?, for_clients(pg, &http::PROTOCOLS)?);
        wire.send_replace(for_wire);
        tools.send_replace(for_tools);
        Ok(())
    }
}

fn for_clients(pg: &PgTls, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, TlsError> {
    tls::plain(&pg.cert_pem, pg.key_pem.expose(), protocols)
}

/// Follows the files until told to stop.
pub async fn follow(files: Files, every: Duration, shown: ServedCertificates, link: Link, closing: CancellationToken) {
    let (identity, pg) = (Followed::new("identity", files.identity()), Followed::new("PostgreSQL wire", files.pg()));
    let (mut identity, mut pg) = (identity, pg);
    while closing.run_until_cancelled(tokio::time::sleep(every)).await.is_some() {
        let files = files.clone();
        let read = tokio::task::spawn_blocking(move || (files.identity(), files.pg())).await;
        let Ok((read_identity, read_pg)) = read else { return };
        identity.look(read_identity, |read| shown.show_identity(&link, read));
        pg.look(read_pg, |read| shown.show_pg(read));
    }
}

/// One certificate with its key, as last seen.
struct Followed<T> {
    what: &'static str,
    seen: Option<T>,
}

impl<T: Same> Followed<T> {
    fn new(what: &'static str, seen: io::Result<T>) -> Self {
        Self { what, seen: seen.ok() }
    }

    fn look(&mut self, read: io::Result<T>, show: impl FnOnce(&T) -> Result<(), TlsError>) {
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                if self.seen.take().is_some() {
                    tracing::warn!(what = self.what, %error, "a certificate cannot be read: the last one stays");
                }
                return;
            }
        };
        if self.seen.as_ref().is_some_and(|seen| seen.same(&read)) {
            return;
        }
        match show(&read) {
            Ok(()) => tracing::info!(what = self.what, "a new certificate is shown"),
            Err(error) => {
                tracing::warn!(what = self.what, %error, "a certificate cannot be used: the last one stays");
            }
        }
        self.seen = Some(read);
    }
}

trait Same {
    fn same(&self, other: &Self) -> bool;
}

impl Same for TlsIdentity {
    fn same(&self, other: &Self) -> bool {
        self.ca_pem == other.ca_pem
            && self.cert_pem == other.cert_pem
            && self.key_pem.expose() == other.key_pem.expose()
    }
}

impl Same for PgTls {
    fn same(&self, other: &Self) -> bool {
        self.cert_pem == other.cert_pem && self.key_pem.expose() == other.key_pem.expose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> PgTls {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        PgTls { cert_pem: made.cert.pem(), key_pem: Redacted::new(made.signing_key.serialize_pem()) }
    }

    fn identity() -> TlsIdentity {
        let PgTls { cert_pem, key_pem } = pair();
        TlsIdentity { ca_pem: cert_pem.clone(), cert_pem, key_pem }
    }

    #[test]
    fn only_a_pair_that_fits_is_shown() {
        let first = pair();
        let shown = ServedCertificates::new(&identity(), Some(&first)).unwrap();
        let mut seen = shown.pg.as_ref().unwrap().subscribe();
        let mut followed = Followed::new("wire", Ok(first.clone()));
        let mut look = |read| {
            followed.look(read, |read| shown.show_pg(read));
            let changed = seen.has_changed().unwrap();
            seen.mark_unchanged();
            changed
        };
        let (second, third) = (pair(), pair());
        assert!(!look(Ok(first)));
        assert!(look(Ok(second.clone())));
        assert!(!look(Ok(PgTls { cert_pem: third.cert_pem.clone(), ..second })), "the key is another's");
        assert!(!look(Err(io::ErrorKind::NotFound.into())));
        assert!(!look(Ok(PgTls { cert_pem: "no PEM".to_owned(), ..third.clone() })));
        assert!(look(Ok(third)));
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let missing = PathBuf::from("/nowhere/tls.crt");
        let files = Files { ca: missing.clone(), cert: missing.clone(), key: missing, pg: None };
        assert!(files.identity().unwrap_err().to_string().starts_with("/nowhere/tls.crt: "));
    }
}
