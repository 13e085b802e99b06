//! The address a request comes from. `X-Forwarded-For` counts only as far as configured proxies
//! vouch for it: read from the right, the first address that is not a proxy.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderMap;
use ipnet::IpNet;

/// The unspecified address when the listener gave none; no allow-list holds it.
pub fn of(request: &Request, trusted: &[IpNet]) -> IpAddr {
    let socket = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let direct = socket.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(address)| address.ip().to_canonical());
    behind_proxies(direct, request.headers(), trusted)
}

fn behind_proxies(direct: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_proxy = |ip: &IpAddr| trusted.iter().any(|net| net.contains(ip));
    let mut peer = direct;
    let hops = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let hops: Vec<&str> = hops.flat_map(|value| value.split(',')).map(str::trim).collect();
    for hop in hops.iter().rev() {
        if !is_proxy(&peer) {
            break;
        }
        let Ok(next) = hop.parse::<IpAddr>() else {
            break;
        };
        peer = next.to_canonical();
    }
    peer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trusted_proxies_are_believed() {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        for (direct, forwarded, peer) in [
            ("9.9.9.9", "1.1.1.1", "9.9.9.9"),
            ("10.0.0.1", "1.1.1.1", "1.1.1.1"),
            ("10.0.0.1", "6.6.6.6, 1.1.1.1, 10.2.3.4", "1.1.1.1"),
            ("10.0.0.1", "nonsense", "10.0.0.1"),
            ("10.0.0.1", "", "10.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("x-forwarded-for", forwarded.parse().unwrap());
            assert_eq!(behind_proxies(direct.parse().unwrap(), &headers, &trusted).to_string(), peer, "{forwarded}");
        }
    }
}
