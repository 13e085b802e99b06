//! Ranges of addresses, each in its one form.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

/// Bits of an IPv6 address that stand before the IPv4 one it holds.
const MAPPED_BITS: u8 = 96;

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
