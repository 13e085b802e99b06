//! One way to ask the API: the credential, the patience, the error body.

use std::net::IpAddr;
use std::time::Duration;

use contract::Redacted;
use contract::load::WITHIN_SECS;
use contract::wire::TIMEOUT_MS_MAX;
use http::HeaderValue;
use reqwest::{Method, RequestBuilder, Response, redirect};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::Failure;

const CONNECT: Duration = Duration::from_secs(10);
/// Between two pieces of an answer; a query may take its time before the first.
const SILENCE: Duration = Duration::from_millis(TIMEOUT_MS_MAX + 20_000);
/// The same after a file has begun to be sent.
const FILE_SILENCE: Duration = Duration::from_secs(WITHIN_SECS + 30);
/// Of a list; a longer one is none that a person looks through.
const PAGES_MAX: usize = 500;

/// A platform, and somebody who may ask it.
#[derive(Debug)]
pub struct Api {
    http: reqwest::Client,
    url: String,
    key: Redacted<HeaderValue>,
    environment: Option<String>,
    me: OnceCell<Me>,
}

/// The organization and environment of a credential.
#[derive(Debug, serde::Deserialize)]
struct Me {
    org_id: String,
    env_id: Option<String>,
}

impl Api {
    pub fn new(url: &str, key: &Redacted<String>, environment: Option<&str>) -> Result<Self, Failure> {
        let parsed = address(url)?;
        let bearer = HeaderValue::try_from(format!("Bearer {}", key.expose()));
        let mut bearer = bearer.map_err(|_| Failure::Usage("the key is not one: it has a line break".to_owned()))?;
        bearer.set_sensitive(true);
        Ok(Self {
            http: client(&parsed, SILENCE)?,
            url: url.to_owned(),
            key: Redacted::new(bearer),
            environment: environment.map(str::to_owned),
            me: OnceCell::new(),
        })
    }

    /// The same for a file that is sent: there is no answer before its end.
    pub fn for_files(self) -> Result<Self, Failure> {
        Ok(Self { http: client(&address(&self.url)?, FILE_SILENCE)?, ..self })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// A request for `send`; `path` begins with a slash.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.request_to(method, &format!("{}{path}", self.url))
    }

    /// To another address of the same platform.
    pub fn request_to(&self, method: Method, url: &str) -> RequestBuilder {
        self.http.request(method, url).header(http::header::AUTHORIZATION, self.key.expose().clone())
    }

    /// An answer that is no refusal.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let answer = request.send().await.map_err(|error| self.unanswered(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let body = answer.bytes().await.map_err(|error| self.unanswered(&error))?;
        Err(Failure::unread(status.as_u16(), &body, &self.url))
    }

    pub fn unanswered(&self, error: &reqwest::Error) -> Failure {
        Failure::unanswered(&self.url, error)
    }

    fn unreadable(&self, status: u16) -> Failure {
        Failure::unread(status, b"", &self.url)
    }

    /// The record that is answered.
    pub async fn record(&self, request: RequestBuilder) -> Result<Value, Failure> {
        let answer = self.send(request).await?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.map_err(|error| self.unanswered(&error))?;
        serde_json::from_slice(&body).map_err(|_| self.unreadable(status))
    }

    pub async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.record(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: &impl Serialize) -> Result<Value, Failure> {
        self.record(self.request(Method::POST, path).json(body)).await
    }

    pub async fn put(&self, path: &str, body: &impl Serialize) -> Result<Value, Failure> {
        self.record(self.request(Method::PUT, path).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.record(self.request(Method::DELETE, path)).await
    }

    /// A whole list, page by page.
    pub async fn list(&self, path: &str) -> Result<Vec<Value>, Failure> {
        let mut rows = Vec::new();
        let mut after = String::new();
        for _ in 0..PAGES_MAX {
            let mut page = self.get(&format!("{path}?limit=200{after}")).await?;
            let Some(Value::Array(data)) = page.get_mut("data").map(Value::take) else {
                return Err(self.unreadable(200));
            };
            rows.extend(data);
            match page.pointer("/pagination/cursor").and_then(Value::as_str) {
                Some(cursor) => after = format!("&cursor={}", segment(cursor)?),
                None => return Ok(rows),
            }
        }
        Err(Failure::Broken(format!("the list has more than {PAGES_MAX} pages")))
    }

    /// `/v1/environments/{env_id}`: the one that is named, else the key's.
    pub async fn environment(&self) -> Result<String, Failure> {
        Ok(format!("/v1/environments/{}", self.env_id().await?))
    }

    pub async fn env_id(&self) -> Result<&str, Failure> {
        if let Some(env_id) = &self.environment {
            return segment(env_id);
        }
        let none = || Failure::Usage("this credential is of no environment: name one with --environment".to_owned());
        self.me().await?.env_id.as_deref().ok_or_else(none)
    }

    /// `/v1/organizations/{org_id}`: the credential's.
    pub async fn organization(&self) -> Result<String, Failure> {
        Ok(format!("/v1/organizations/{}", self.me().await?.org_id))
    }

    async fn me(&self) -> Result<&Me, Failure> {
        let asked = async || {
            let told = self.get("/v1/auth/me").await?;
            serde_json::from_value(told).map_err(|_| self.unreadable(200))
        };
        self.me.get_or_try_init(asked).await
    }
}

fn client(url: &reqwest::Url, silence: Duration) -> Result<reqwest::Client, Failure> {
    // A redirect would carry the credential to somewhere nobody has named.
    let client = reqwest::Client::builder().redirect(redirect::Policy::none());
    let client = client.connect_timeout(CONNECT).read_timeout(silence);
    // A proxy's own loopback is another machine's.
    let client = if is_loopback(url) { client.no_proxy() } else { client };
    client.build().map_err(|error| Failure::Broken(error.to_string()))
}

/// The address of a platform, as `SLUICE_URL` or `--url` has it.
fn address(url: &str) -> Result<reqwest::Url, Failure> {
    let wrong = |why: &str| Failure::Usage(format!("SLUICE_URL (--url) is {url:?}, {why}"));
    let parsed = reqwest::Url::parse(url).map_err(|_| wrong("which is no URL: write it as https://host"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(wrong("which is of neither http nor https: write it as https://host"));
    }
    if ["/v1", "/v2"].iter().any(|version| parsed.path().trim_end_matches('/').ends_with(version)) {
        return Err(wrong("which ends with the API's version: leave that out"));
    }
    Ok(parsed)
}

fn is_loopback(url: &reqwest::Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        None => false,
    }
}

/// An id as a part of a path: what is none could lead to another path.
pub fn segment(id: &str) -> Result<&str, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !id.is_empty() && id.chars().all(plain) {
        return Ok(id);
    }
    Err(Failure::Usage(format!("{id:?} is not an id")))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_no_id_never_reaches_a_path() {
        assert!(segment("0190-abc_D").is_ok());
        for id in ["", "..", "a/b", "a?b", "a b", "ä", "a%2f"] {
            assert!(segment(id).is_err(), "{id}");
        }
    }

    #[tokio::test]
    async fn a_platform_without_tls_is_told_from_one_that_is_away() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let plain = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").unwrap();
        });
        let api = Api::new(&url, &Redacted::new("k".to_owned()), None).unwrap();
        let refused = api.get("/v1/auth/me").await.unwrap_err().to_string();
        assert!(refused.contains("does not speak TLS"), "{refused}");
        plain.join().unwrap();
    }

    #[test]
    fn no_proxy_stands_before_this_machine() {
        for (url, here) in [
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080", true),
            ("http://localhost", true),
            ("https://sluice.example", false),
            ("http://10.0.0.7", false),
        ] {
            assert_eq!(is_loopback(&address(url).unwrap()), here, "{url}");
        }
    }

    #[test]
    fn an_address_that_is_none_is_refused_before_anything_is_sent() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let key = Redacted::new("k".to_owned());
        for url in ["", "sluice.example", "ftp://sluice.example", "file:///etc/passwd", "https://sluice.example/v1/"] {
            let refused = Api::new(url, &key, None).unwrap_err();
            assert!(matches!(&refused, Failure::Usage(said) if said.starts_with("SLUICE_URL (--url)")), "{refused}");
        }
        assert!(Api::new("https://sluice.example", &key, None).is_ok());
        let broken = Redacted::new("k\nx: y".to_owned());
        assert!(matches!(Api::new("https://sluice.example", &broken, None), Err(Failure::Usage(_))));
    }
}
