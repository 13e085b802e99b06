//! Where a webhook may lead: to the public internet, over HTTPS, and nowhere else.
//!
//! "`url` required (HTTPS)"; "reachable over HTTPS (HTTP only for localhost)". Whoever may write a
//! webhook has the control plane send requests for them, so its neighbours are out of reach: other
//! machines of its network, itself, the cloud's metadata. A URL has to look right ([`admit`], at
//! each send again), and the address that its name turns out to have has to be public ([`vetted`],
//! for the very connection that is made to it).

use std::net::{IpAddr, SocketAddr};

use contract::network::is_public;
use reqwest::Url;

use crate::{Error, Result};

const URL_BYTES_MAX: usize = 2_048;
const PORTS: [u16; 2] = [443, 8_443];

/// Endings of names that are not the public internet's.
const NOT_PUBLIC_NAMES: [&str; 14] = [
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "home.arpa",
    "in-addr.arpa",
    "test",
    "invalid",
    "onion",
];

/// The addresses of a name, if every one of them may be reached. One that may not makes the name
/// suspect, and the others with it.
pub(crate) fn vetted(
    name: &str,
    addresses: Vec<SocketAddr>,
    loopback: bool,
) -> Result<Vec<SocketAddr>, RefusedAddress> {
    let own = loopback && name.eq_ignore_ascii_case("localhost");
    let fits = |address: &SocketAddr| if own { address.ip().is_loopback() } else { is_public(address.ip()) };
    if addresses.is_empty() || !addresses.iter().all(fits) {
        return Err(RefusedAddress);
    }
    Ok(addresses)
}

/// The error of an address that may not be reached. It names no address: that would tell how our network looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name has no public address")]
pub(crate) struct RefusedAddress;

/// The URL of a webhook, or 400 with what is wrong. `loopback`: this machine is allowed.
pub fn admit(given: &str, loopback: bool) -> Result<Url> {
    let refused = |constraint: &str, why: &str| Error::invalid("url", constraint, format!("`url` {why}"));
    if given.len() > URL_BYTES_MAX || !given.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        let why = "is an absolute URL of at most 2048 visible ASCII characters, another script's letters as DNS has them (`xn--…`)";
        return Err(refused("1..2048 visible ASCII characters", why));
    }
    let url = Url::parse(given).map_err(|_| refused("url", "is not an absolute URL"))?;
    if !url.username().is_empty() || url.password().is_some() || authority(given).contains('@') {
        return Err(refused("no user information", "may not hold a user name or password"));
    }
    if url.fragment().is_some() {
        return Err(refused("no fragment", "may not have a fragment"));
    }
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| refused("host", "has no host"))?;
    // Of the odd ways to write an address, none: 0x7f.1, 2130706433, 127.1, [::ffff:7f00:1].
    if !host_of(given).eq_ignore_ascii_case(host) {
        return Err(refused("host", "has to write its host as a name or a plain address"));
    }
    if loopback && is_loopback(host) {
        return match url.scheme() {
            "http" | "https" => Ok(url),
            _ => Err(refused("https", "has to begin with https:// or, to this machine, http://")),
        };
    }
    if url.scheme() != "https" {
        return Err(refused("https", "has to begin with https://"));
    }
    if url.port().is_some_and(|port| !PORTS.contains(&port)) {
        return Err(refused("port 443 or 8443", "may name port 443 or 8443 alone"));
    }
    if host.ends_with('.') {
        return Err(refused("no dot at the end", "ends its host with a dot: leave the dot out"));
    }
    let public = ip(host).map_or_else(|| is_public_name(host), is_public);
    if !public {
        let why = format!("has to lead to a host of the public internet: `{host}` is not one, or of a private network");
        return Err(refused("public host", &why));
    }
    Ok(url)
}

/// What stands between `//` and the path, as it was written.
fn authority(given: &str) -> &str {
    let rest = given.split_once("//").map_or(given, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

fn host_of(given: &str) -> &str {
    let authority = authority(given);
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

fn ip(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || ip(host).is_some_and(|address| address.is_loopback())
}

/// A name with a dot that does not end in what only a private network knows. It has no dot at its end, which would
/// make another name of it for whoever compares.
fn is_public_name(host: &str) -> bool {
    let ends_in = |ending: &str| host == ending || host.strip_suffix(ending).is_some_and(|rest| rest.ends_with('.'));
    host.contains('.') && !NOT_PUBLIC_NAMES.iter().any(|ending| ends_in(ending))
}

#[cfg(test)]
mod tests;
