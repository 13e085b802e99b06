//! The address a request comes from. `X-Forwarded-For` counts only as far as configured proxies
//! vouch for it: read from the right, the first address that is not a proxy.
//!
//! A hop is an address, with or without a port. One that a proxy vouches for and that cannot be read
//! refuses the request: otherwise its caller would pass for the proxy, and allow-lists, policies,
//! limits and the audit trail would follow the wrong address. What stands left of the hops that are
//! looked at is the caller's own word, and may be anything.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, HeaderValue};
use ipnet::IpNet;

use crate::{Error, Result};

const HEADER: &str = "x-forwarded-for";

pub fn of(request: &Request, trusted: &[IpNet]) -> Result<IpAddr> {
    behind_proxies(direct(request), request.headers(), trusted)
}

/// Who the connection is from. The unspecified address when the listener gave none; no allow-list
/// holds it.
fn direct(request: &Request) -> IpAddr {
    let socket = request.extensions().get::<ConnectInfo<SocketAddr>>();
    socket.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(address)| address.ip().to_canonical())
}

fn behind_proxies(direct: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Result<IpAddr> {
    let is_proxy = |ip: &IpAddr| trusted.iter().any(|net| net.contains(ip));
    let mut peer = direct;
    for hop in hops(headers).into_iter().rev() {
        if !is_proxy(&peer) {
            break;
        }
        peer = read(hop).ok_or_else(unreadable)?;
    }
    Ok(peer)
}

/// All hops of all headers of the name, as they came; a header without a word has none.
fn hops(headers: &HeaderMap) -> Vec<&[u8]> {
    let values = headers.get_all(HEADER).iter().map(HeaderValue::as_bytes);
    let hops: Vec<&[u8]> = values.flat_map(|value| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii).collect();
    if hops.iter().all(|hop| hop.is_empty()) { Vec::new() } else { hops }
}

/// `address`, `address:port`, `[v6]:port` or `[v6]`.
fn read(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?;
    let bare = || hop.parse::<IpAddr>().ok();
    let with_port = || hop.parse::<SocketAddr>().ok().map(|address| address.ip());
    let in_brackets = || hop.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    bare().or_else(with_port).or_else(in_brackets).map(|ip| ip.to_canonical())
}

/// 400 for a hop that cannot be read.
pub fn unreadable() -> Error {
    const MESSAGE: &str = "the address that a proxy gave in `X-Forwarded-For` cannot be read: \
                           have the proxy send `address` or `address:port`";
    Error::invalid(HEADER, "address", MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn seen(direct: &str, forwarded: &[&[u8]]) -> Option<String> {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(HEADER, HeaderValue::from_bytes(value).unwrap());
        }
        behind_proxies(direct.parse().unwrap(), &headers, &trusted).ok().map(|peer| peer.to_string())
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        for (direct, forwarded, peer) in [
            ("9.9.9.9", "1.1.1.1", "9.9.9.9"),
            (PROXY, "1.1.1.1", "1.1.1.1"),
            (PROXY, "6.6.6.6, 1.1.1.1, 10.2.3.4", "1.1.1.1"),
            (PROXY, "10.2.3.4", "10.2.3.4"),
            (PROXY, "", PROXY),
        ] {
            assert_eq!(seen(direct, &[forwarded.as_bytes()]).as_deref(), Some(peer), "{forwarded}");
        }
        assert_eq!(seen(PROXY, &[]).as_deref(), Some(PROXY));
        assert_eq!(seen(PROXY, &[b"6.6.6.6", b"1.1.1.1"]).as_deref(), Some("1.1.1.1"));
    }

    #[test]
    fn an_address_is_read_with_a_port_and_in_brackets() {
        for (forwarded, peer) in [
            ("203.0.113.9:4711", "203.0.113.9"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
            ("::ffff:203.0.113.9", "203.0.113.9"),
            ("203.0.113.9:1, 10.2.3.4:2", "203.0.113.9"),
        ] {
            assert_eq!(seen(PROXY, &[forwarded.as_bytes()]).as_deref(), Some(peer), "{forwarded}");
        }
    }

    /// What the caller itself has sent, left of the first address that is no proxy.
    #[test]
    fn what_no_proxy_vouches_for_may_be_anything() {
        for forwarded in [&b"\xff, 203.0.113.9"[..], "é, 203.0.113.9".as_bytes(), b"nonsense,,203.0.113.9"] {
            assert_eq!(seen(PROXY, &[forwarded]).as_deref(), Some("203.0.113.9"), "{forwarded:?}");
        }
        assert_eq!(seen(PROXY, &[b"\xff", b"203.0.113.9"]).as_deref(), Some("203.0.113.9"));
        assert_eq!(seen("9.9.9.9", &[b"\xff"]).as_deref(), Some("9.9.9.9"));
    }

    #[test]
    fn what_a_proxy_vouches_for_has_to_be_read() {
        for forwarded in [
            &b"nonsense"[..],
            b"\xff",
            b"1.1.1.1, \xff",
            b"1.1.1.1, ",
            b"1.1.1.1, unknown, 10.2.3.4",
            b"[1.1.1.1]",
            b"[2001:db8::1",
            b"1.1.1.1:x",
        ] {
            assert_eq!(seen(PROXY, &[forwarded]), None, "{forwarded:?}");
        }
        assert_eq!(seen(PROXY, &[b"6.6.6.6", b"\xff"]), None);
        assert_eq!((unreadable().code().http(), unreadable().code()), (400, contract::Code::InvalidParams));
    }
}
