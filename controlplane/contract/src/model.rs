//! Where a model is asked: the base URL of an endpoint that speaks as OpenAI's does, such as
//! `https://models.example.com/v1`.
//!
//! Who sets a data plane up opens the way to it, and the data plane takes it: both read it here.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

const CHARS_MAX: usize = 1_000;

/// A base URL without a credential, a query and a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelUrl {
    text: String,
    host: String,
    port: u16,
    tls: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("https://host/path is wanted, as https://models.example.com/v1; the key is set apart")]
pub struct NoModelUrl;

impl ModelUrl {
    /// The URL of what is below it.
    pub fn below(&self, path: &str) -> String {
        format!("{}/{path}", self.text)
    }

    /// For whoever opens the way there.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Is what is sent there kept from others: by TLS, or because it does not leave the machine?
    pub fn is_private(&self) -> bool {
        let here = self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        self.tls || here || self.host == "localhost"
    }
}

impl fmt::Display for ModelUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for ModelUrl {
    type Err = NoModelUrl;

    fn from_str(text: &str) -> Result<Self, NoModelUrl> {
        read(text).ok_or(NoModelUrl)
    }
}

fn read(text: &str) -> Option<ModelUrl> {
    let (scheme, rest) = text.split_once("://")?;
    let tls = match scheme {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    // neither a credential nor what would stand before the paths that are added
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]".contains(c);
    if text.len() > CHARS_MAX || !rest.chars().all(fits) {
        return None;
    }
    let rest = rest.trim_end_matches('/');
    let authority = rest.split('/').next()?;
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (host, port) = bracketed.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (host, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_named = |host: &str| !host.is_empty() && !host.contains(['[', ']', '~']);
    let port = port.map_or(Some(if tls { 443 } else { 80 }), |port| port.parse().ok().filter(|port| *port > 0))?;
    is_named(host).then(|| ModelUrl { text: format!("{scheme}://{rest}"), host: host.to_owned(), port, tls })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_read_with_its_port_and_whether_others_can_listen() {
        let cases = [
            ("https://models.example.com/v1", 443, true, "https://models.example.com/v1/embeddings"),
            ("https://models.example.com:8443/v1/", 8443, true, "https://models.example.com:8443/v1/embeddings"),
            ("http://ollama.models.svc:11434/v1", 11434, false, "http://ollama.models.svc:11434/v1/embeddings"),
            ("http://models", 80, false, "http://models/embeddings"),
            ("http://127.0.0.1:9/v1", 9, true, "http://127.0.0.1:9/v1/embeddings"),
            ("http://localhost:9", 9, true, "http://localhost:9/embeddings"),
            ("http://[::1]:9/v1", 9, true, "http://[::1]:9/v1/embeddings"),
            ("http://[2001:db8::1]/v1", 80, false, "http://[2001:db8::1]/v1/embeddings"),
        ];
        for (text, port, is_private, below) in cases {
            let url: ModelUrl = text.parse().unwrap();
            assert_eq!((url.port(), url.is_private(), url.below("embeddings").as_str()), (port, is_private, below));
        }
    }

    #[test]
    fn what_is_no_base_is_refused() {
        let long = format!("https://{}", "a".repeat(CHARS_MAX));
        for text in [
            "models.example.com/v1",
            "ftp://models",
            "https://",
            "https:///v1",
            "https://user:hush@models/v1",
            "https://models/v1?key=hush",
            "https://models/v1#part",
            "https://models:0/v1",
            "https://models:port/v1",
            "https://[models]/v1",
            "https://[::1/v1",
            "https://mo dels/v1",
            &long,
        ] {
            assert_eq!(text.parse::<ModelUrl>(), Err(NoModelUrl), "{text}");
        }
    }
}
