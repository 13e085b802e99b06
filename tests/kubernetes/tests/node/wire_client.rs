//! A client of the PostgreSQL wire of an environment, by its Service, the server's certificate checked: with
//! psql, and with a driver that tells exactly what became of each statement.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use kubernetes::World;
use kubernetes::commands::{Done, psql};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error, NoTls};
use tokio_rustls::TlsConnector;
use tokio_util::task::TaskTracker;

use super::installation::{address, entry, eventually};

const PORT: u16 = 5439;
const REACHED_WITHIN: Duration = Duration::from_millis(50);
/// Length and code of the message that asks for TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

pub struct WireClient {
    address: String,
    host: String,
    database: String,
    pub key: String,
    authority: NamedTempFile,
    tls: TlsConnector,
    links: TaskTracker,
}

/// One connection.
pub struct Session {
    pub client: Client,
    link: JoinHandle<Result<(), Error>>,
}

impl WireClient {
    pub async fn open(world: &World, environment: &str, database: &str, key: String) -> Self {
        let pem = entry(world, &format!("{environment}-tls"), "ca.crt").await;
        let mut authority = NamedTempFile::new().unwrap();
        authority.write_all(pem.as_bytes()).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let tls = tls.with_root_certificates(roots).with_no_client_auth();
        let address = address(world, environment).await;
        let wire = Self {
            address,
            host: format!("{environment}.{}.svc", world.namespace),
            database: database.to_owned(),
            key,
            authority,
            tls: TlsConnector::from(Arc::new(tls)),
            links: TaskTracker::new(),
        };
        // the node learns of a new Service a moment after the API server
        eventually("reached by its Service", async || wire.is_reached().await).await;
        wire
    }

    /// Whether somebody is there. Asked anew instead of waited for: a lost packet is repeated late.
    pub async fn is_reached(&self) -> bool {
        let connected = timeout(REACHED_WITHIN, TcpStream::connect((self.address.as_str(), PORT))).await;
        matches!(connected, Ok(Ok(_)))
    }

    /// One statement by psql.
    pub async fn psql(&self, sql: &str) -> Done {
        let (host, address, key, database) = (&self.host, &self.address, &self.key, &self.database);
        let trust = self.authority.path().display();
        let connection = format!(
            "host={host} hostaddr={address} port={PORT} user=app password={key} dbname={database} \
             sslmode=verify-full sslrootcert={trust}"
        );
        psql(&connection, sql).await
    }

    /// What psql prints for a statement that has to succeed.
    pub async fn ask(&self, sql: &str) -> String {
        self.psql(sql).await.ok().trim().to_owned()
    }

    /// Refused to be let in is an error of the server; anything else fails the test.
    pub async fn connect(&self) -> Result<Session, Error> {
        let mut stream = TcpStream::connect((self.address.as_str(), PORT)).await.expect("the Service answers");
        stream.set_nodelay(true).unwrap();
        stream.write_all(&SSL_REQUEST).await.unwrap();
        assert_eq!(stream.read_u8().await.expect("an answer"), b'S');
        let name = ServerName::try_from(self.host.clone()).unwrap();
        let stream = self.tls.connect(name, stream).await.expect("the certificate is the environment's");
        let mut config = Config::new();
        // the stream is encrypted already
        config.user("app").password(&self.key).dbname(&self.database).ssl_mode(SslMode::Disable);
        let (client, connection) = config.connect_raw(stream, NoTls).await?;
        Ok(Session { client, link: self.links.spawn(connection) })
    }
}

impl Session {
    /// Whether a statement failed because the server had said, between two statements, that it goes.
    pub async fn was_told(self, error: &Error) -> bool {
        let goes = |error: &Error| error.code() == Some(&SqlState::ADMIN_SHUTDOWN);
        if goes(error) {
            return true;
        }
        // the driver had read the farewell when the statement was given to it
        error.is_closed() && matches!(self.link.await, Ok(Err(said)) if goes(&said))
    }
}
