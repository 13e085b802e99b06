//! Ranges of addresses, each in its one form, and those of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Bits of an IPv6 address that stand before the IPv4 one it holds.
const MAPPED_BITS: u8 = 96;

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(a: u16, b: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
}

/// IPv4 that is not the public internet's: the IANA special-purpose registry, and two addresses
/// where clouds keep services for their own machines.
const NOT_PUBLIC_V4: [Ipv4Net; 20] = [
    v4(0, 0, 0, 0, 8),        // this network
    v4(10, 0, 0, 0, 8),       // private
    v4(100, 64, 0, 0, 10),    // carrier-grade NAT; Alibaba's metadata
    v4(127, 0, 0, 0, 8),      // loopback
    v4(168, 63, 129, 16, 32), // Azure's host
    v4(169, 254, 0, 0, 16),   // link-local; metadata
    v4(172, 16, 0, 0, 12),    // private
    v4(192, 0, 0, 0, 24),     // protocol assignments; Oracle's metadata
    v4(192, 0, 2, 0, 24),     // documentation
    v4(192, 31, 196, 0, 24),  // AS112
    v4(192, 52, 193, 0, 24),  // AMT
    v4(192, 88, 99, 0, 24),   // 6to4 relays
    v4(192, 168, 0, 0, 16),   // private
    v4(192, 175, 48, 0, 24),  // AS112
    v4(198, 18, 0, 0, 15),    // benchmarks
    v4(198, 51, 100, 0, 24),  // documentation
    v4(203, 0, 113, 0, 24),   // documentation
    v4(224, 0, 0, 0, 4),      // multicast
    v4(240, 0, 0, 0, 4),      // reserved
    v4(255, 255, 255, 255, 32),
];

/// All of IPv6 that is routed publicly. Outside it lie loopback, unique local, link-local,
/// multicast, addresses that hold an IPv4 one (mapped, compatible, NAT64), and what is reserved.
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 3);
/// What of it is not the public internet's.
const NOT_PUBLIC_V6: [Ipv6Net; 5] = [
    v6(0x2001, 0, 23),     // protocol assignments, Teredo, ORCHID
    v6(0x2001, 0xdb8, 32), // documentation
    v6(0x2002, 0, 16),     // 6to4: holds an IPv4 address
    v6(0x2620, 0x4f, 32),  // AS112 lies in it
    v6(0x3fff, 0, 20),     // documentation
];

/// A range as peers are compared with it. An address by itself is the range of itself alone; IPv4 in the words of IPv6 is
/// IPv4, as which peers are known; a range that holds such addresses among others is none.
pub fn range(text: &str) -> Option<IpNet> {
    let net = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))?;
    let IpNet::V6(wide) = net else { return Some(net.trunc()) };
    match wide.addr().to_ipv4_mapped() {
        None => Some(net.trunc()),
        Some(v4) => {
            let bits = wide.prefix_len().checked_sub(MAPPED_BITS)?;
            Ipv4Net::new(v4, bits).ok().map(|narrow| IpNet::V4(narrow).trunc())
        }
    }
}

/// Does the address belong to the public internet?
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !NOT_PUBLIC_V4.iter().any(|net| net.contains(&v4)),
        IpAddr::V6(v6) => GLOBAL_V6.contains(&v6) && !NOT_PUBLIC_V6.iter().any(|net| net.contains(&v6)),
    }
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn every_range_has_one_form() {
        for (given, expected) in [
            ("10.0.0.0/8", Some("10.0.0.0/8")),
            ("10.1.2.3/8", Some("10.0.0.0/8")),
            ("192.0.2.7", Some("192.0.2.7/32")),
            ("2001:db8::1", Some("2001:db8::1/128")),
            ("2001:DB8:0::1/32", Some("2001:db8::/32")),
            ("::ffff:127.0.0.0/104", Some("127.0.0.0/8")),
            ("::ffff:192.0.2.7", Some("192.0.2.7/32")),
            ("::ffff:c000:207/128", Some("192.0.2.7/32")),
            ("::ffff:0:0/96", Some("0.0.0.0/0")),
            ("::ffff:0:0/95", None),
            ("::ffff:10.0.0.0/8", None),
            ("::/0", Some("::/0")),
            ("10.0.0.0/33", None),
            ("010.0.0.1", None),
            ("10.0.0.0/08", Some("10.0.0.0/8")),
            ("localhost", None),
            ("", None),
        ] {
            assert_eq!(range(given).map(|net| net.to_string()).as_deref(), expected, "{given}");
        }
    }
}
