//! Where stores are reached: over TLS on the public internet, and the hosts that the operator names.
//!
//! A name is resolved for the very connection that is made, and one whose addresses are not all public is refused. An
//! address that is written is looked at as it is. No redirect is followed, and no proxy asked.

use std::error::Error as StdError;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::network::is_public;
use contract::storage_integration::POSTGRES_PORT;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url, redirect};

use crate::model::tls;

const CONNECTED_WITHIN: Duration = Duration::from_secs(5);
/// How long a store may be silent.
const SILENT_FOR: Duration = Duration::from_secs(30);

/// Hosts that the operator lets storage integrations reach beside the public internet, and whether as the data
/// plane itself.
#[derive(Debug, Clone, Default)]
pub struct ReachableHosts {
    /// `host` or `host:port`.
    named: Arc<[String]>,
    /// They may be asked with the credentials of the surroundings.
    ambient: bool,
}

impl ReachableHosts {
    pub fn new(hosts: impl IntoIterator<Item = String>) -> Self {
        Self { named: hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect(), ambient: false }
    }

    /// The same, with the credentials of the surroundings where the operator allows them.
    #[must_use]
    pub fn lending(self, ambient: bool) -> Self {
        Self { ambient, ..self }
    }

    pub(super) fn lends_ambient(&self) -> bool {
        self.ambient
    }

    /// Whether the operator names the host of this base URL, at its port.
    pub(super) fn names_endpoint(&self, endpoint: &str) -> bool {
        let Ok(url) = Url::parse(endpoint) else { return false };
        url.host_str().is_some_and(|host| self.has(&host.to_ascii_lowercase(), url.port_or_known_default()))
    }

    fn has(&self, host: &str, port: Option<u16>) -> bool {
        let is = |named: &String| match port {
            Some(port) => named == host || *named == format!("{host}:{port}"),
            None => named == host,
        };
        self.named.iter().any(is)
    }

    /// Whether the name may lead to a private address, at a port that was looked at before.
    fn has_name(&self, host: &str) -> bool {
        self.named.iter().any(|named| named == host || named.rsplit_once(':').is_some_and(|(name, _)| name == host))
    }

    /// Whether the operator names the host of a database at this port, which need not be written if it is the usual one.
    pub fn names(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        self.has(&format!("{host}:{port}"), None) || (port == POSTGRES_PORT && self.has(&host, None))
    }

    /// Where a connection to a database at this host and port may lead; nowhere, if it is not one that is reached.
    pub async fn addresses(&self, host: &str, port: u16) -> io::Result<Option<Vec<SocketAddr>>> {
        let host = host.to_ascii_lowercase();
        let is_named = self.names(&host, port);
        if !is_named && self.has_name(&host) {
            return Ok(None); // it is named with other ports, and its addresses are not looked at
        }
        let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), port)).await?.collect();
        let is_fit = is_named || found.iter().all(|address| is_public(address.ip()));
        Ok(Some(found).filter(|found| is_fit && !found.is_empty()))
    }

    /// Whether a request to this URL may be sent; the addresses of a name are looked at when it is connected to.
    fn admits(&self, url: &Url) -> bool {
        let Some(host) = url.host_str().map(str::to_ascii_lowercase).filter(|host| !host.is_empty()) else {
            return false;
        };
        if self.has(&host, url.port_or_known_default()) {
            return true;
        }
        if self.has_name(&host) {
            return false; // it is named with other ports, and its addresses are not looked at
        }
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&host);
        url.scheme() == "https" && bare.parse::<IpAddr>().map_or(true, is_public)
    }
}

/// A host that is not reached. What it is, is not said: that would tell how our network looks.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the host is not one that may be reached")]
struct RefusedHost;

/// Whether a request failed because of where it led.
pub(super) fn is_refused_host(error: &(dyn StdError + 'static)) -> bool {
    error.is::<RefusedHost>() || error.source().is_some_and(is_refused_host)
}

/// Makes the clients of stores.
#[derive(Debug, Clone)]
pub(super) struct EgressConnector(ReachableHosts);

impl EgressConnector {
    pub fn new(hosts: &ReachableHosts) -> Self {
        Self(hosts.clone())
    }
}

impl HttpConnector for EgressConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let unusable = |source: Box<dyn StdError + Send + Sync>| object_store::Error::Generic { store: "S3", source };
        let client = Client::builder()
            .tls_backend_preconfigured(tls().map_err(|error| unusable(Box::new(error)))?)
            .dns_resolver(Arc::new(VettedNames(self.0.clone())))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .user_agent("sluice")
            .connect_timeout(CONNECTED_WITHIN)
            .read_timeout(SILENT_FOR)
            .http1_only()
            .build()
            .map_err(|error| unusable(Box::new(error)))?;
        Ok(HttpClient::new(VettedClient { client, hosts: self.0.clone() }))
    }
}

/// A client that looks at where each request leads.
#[derive(Debug)]
struct VettedClient {
    client: Client,
    hosts: ReachableHosts,
}

#[async_trait]
impl HttpService for VettedClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let refused = || HttpError::new(HttpErrorKind::Unknown, RefusedHost);
        let url = Url::parse(&request.uri().to_string()).map_err(|_| refused())?;
        if !self.hosts.admits(&url) {
            return Err(refused());
        }
        HttpService::call(&self.client, request).await
    }
}

/// Resolves a name for one connection, to addresses that may be reached or to none.
#[derive(Debug)]
struct VettedNames(ReachableHosts);

impl Resolve for VettedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let is_named = self.0.has_name(&name.as_str().to_ascii_lowercase());
        Box::pin(async move {
            let found: Vec<SocketAddr> = match tokio::net::lookup_host((name.as_str(), 0)).await {
                Ok(found) => found.collect(),
                Err(error) => return Err(Box::<dyn StdError + Send + Sync>::from(io::Error::from(error.kind()))),
            };
            let is_fit = is_named || found.iter().all(|address| is_public(address.ip()));
            if found.is_empty() || !is_fit {
                return Err(Box::<dyn StdError + Send + Sync>::from(RefusedHost));
            }
            Ok::<Addrs, _>(Box::new(found.into_iter()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(hosts: &[&str], url: &str) -> bool {
        let hosts = ReachableHosts::new(hosts.iter().map(|host| (*host).to_owned()));
        Url::parse(url).is_ok_and(|url| hosts.admits(&url))
    }

    #[test]
    fn an_address_that_is_not_public_is_not_reached_however_it_is_written() {
        for refused in [
            "https://127.0.0.1/b",
            "https://2130706433/b",
            "https://0x7f.1/b",
            "https://10.0.0.1/b",
            "https://169.254.169.254/latest/meta-data",
            "https://[::1]/b",
            "https://[::ffff:10.0.0.1]/b",
            "http://s3.example.com/b",
            "http://93.184.215.14/b",
        ] {
            assert!(!admits(&[], refused), "{refused}");
        }
        assert!(admits(&[], "https://s3.eu-west-1.amazonaws.com/b") && admits(&[], "https://93.184.215.14/b"));
    }

    #[test]
    fn a_host_is_reached_that_the_operator_names_at_the_port_that_they_name() {
        let hosts = ["127.0.0.1:9000", "MinIO.local"];
        assert!(admits(&hosts, "http://127.0.0.1:9000/b") && admits(&hosts, "http://minio.local:1234/b"));
        for refused in ["http://127.0.0.1:9001/b", "http://127.0.0.1/b", "http://minio.local.evil.example/b"] {
            assert!(!admits(&hosts, refused), "{refused}");
        }
        // its addresses are not looked at, so no other port of it is reached
        let hosts = ["store.example.com:9000"];
        assert!(admits(&hosts, "https://store.example.com:9000/b") && admits(&hosts, "https://b.store.example.com/b"));
        for refused in ["https://store.example.com/b", "https://STORE.example.com:8443/b"] {
            assert!(!admits(&hosts, refused), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_connection_leads_to_public_addresses_and_to_hosts_that_the_operator_names() {
        let hosts = ReachableHosts::new(["127.0.0.1:5433".to_owned(), "127.0.0.2".to_owned()]);
        for (host, port, leads) in [
            ("127.0.0.1", 5433, true),
            ("127.0.0.1", 5432, false),
            ("127.0.0.2", 5432, true),
            ("127.0.0.2", 5433, false),
            ("localhost", 5433, false),
            ("10.0.0.1", 1, false),
        ] {
            assert_eq!(hosts.addresses(host, port).await.unwrap().is_some(), leads, "{host}:{port}");
        }
        assert!(hosts.addresses("93.184.215.14", 5432).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_has_no_address() {
        let localhost = || "localhost".parse::<Name>().unwrap();
        let refused = VettedNames(ReachableHosts::default()).resolve(localhost()).await;
        assert!(refused.is_err_and(|error| is_refused_host(&*error)));
        let named = VettedNames(ReachableHosts::new(["localhost:9000".to_owned()])).resolve(localhost()).await;
        assert!(named.is_ok_and(|mut found| found.all(|address| address.ip().is_loopback())));
    }
}
