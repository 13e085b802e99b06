use super::*;

/// URLs of somebody who wants to reach what is behind the control plane.
const HOSTILE: &[&str] = &[
    // not HTTPS, or no URL
    "http://example.com/hook",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com:70/_GET",
    "data:text/plain,hello",
    "javascript:alert(1)",
    "unix:/var/run/docker.sock",
    "//example.com/hook",
    "example.com/hook",
    "https://",
    "https:///hook",
    "",
    " https://example.com/",
    "https://example.com/ hook",
    "https://exam\tple.com/",
    "https://exam\nple.com/",
    "https://example.com\\@10.0.0.1/",
    // who is really meant
    "https://user@example.com/",
    "https://user:secret@example.com/",
    "https://example.com@127.0.0.1/",
    "https://@example.com/",
    "https://:@example.com/",
    "https://example.com/#@10.0.0.1",
    "https:example.com",
    "https:/example.com/",
    // this machine
    "https://localhost/",
    "https://LOCALHOST/",
    "https://localhost./",
    "https://a.localhost/",
    "https://localhost.localdomain/",
    "https://127.0.0.1/",
    "https://127.1/",
    "https://127.255.255.254/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://127.0.0.1./",
    "https://%31%32%37.0.0.1/",
    "https://0/",
    "https://0.0.0.0/",
    "https://[::1]/",
    "https://[::]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::127.0.0.1]/",
    "http://localhost:8080/",
    // networks of its own
    "https://10.0.0.1/",
    "https://10.255.255.255/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://192.0.0.192/",
    "https://198.18.0.1/",
    "https://224.0.0.1/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    "https://[fc00::1]/",
    "https://[fd12:3456::1]/",
    "https://[fe80::1]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[64:ff9b::10.0.0.1]/",
    "https://[64:ff9b:1::a00:1]/",
    "https://[2002:a00:1::]/",
    "https://[2001:0:53aa:64c::1]/",
    "https://[100::1]/",
    // metadata of clouds
    "https://169.254.169.254/latest/meta-data/",
    "https://2852039166/",
    "https://0xa9fea9fe/",
    "https://[::ffff:169.254.169.254]/",
    "https://[fd00:ec2::254]/",
    "https://168.63.129.16/",
    "https://100.100.100.200/",
    "https://metadata.google.internal/",
    "https://metadata/",
    // names of a private network
    "https://kubernetes/",
    "https://kubernetes.default.svc.cluster.local/",
    "https://postgres.lan/",
    "https://vault.corp/",
    "https://router.home.arpa/",
    "https://example.com./",
    "https://hidden.onion/",
    // documentation, and ports of other servers
    "https://192.0.2.1/",
    "https://198.51.100.1/",
    "https://203.0.113.1/",
    "https://[2001:db8::1]/",
    "https://[3fff::1]/",
    "https://example.com:22/",
    "https://example.com:80/",
    "https://example.com:5432/",
    "https://example.com:0/",
    "https://example.com:99999/",
    "https://8.8.8.8:6379/",
    // odd ways to write what would be public
    "https://134744072/",
    "https://0x08080808/",
    "https://8.8.2056/",
    "https://010.8.8.8/",
    "https://ex\u{e4}mple.com/",
    "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
    "https://example\u{3002}com/",
];

#[test]
fn no_hostile_url_is_admitted() {
    assert!(HOSTILE.len() >= 60);
    for url in HOSTILE {
        let Err(error) = admit(url, false) else { panic!("{url} is admitted") };
        assert_eq!(error.code(), contract::Code::InvalidParams, "{url}");
    }
    assert!(admit(&format!("https://example.com/{}", "x".repeat(URL_BYTES_MAX)), false).is_err());
}

#[test]
fn what_leads_to_the_public_internet_is_admitted() {
    for url in [
        "https://example.com",
        "https://Example.com/Hook?token=a%20b",
        "https://hooks.example.co.uk:8443/x",
        "https://example.com:443/",
        "https://8.8.8.8/",
        "https://172.32.0.1/",
        "https://[2606:4700:4700::1111]/",
        "https://xn--exmple-cua.com/",
        "https://localhost.example.com/",
    ] {
        assert!(admit(url, false).is_ok(), "{url}");
    }
}

#[test]
fn this_machine_is_admitted_only_where_that_is_switched_on_and_nothing_else_with_it() {
    for url in ["http://localhost:9000/a", "http://127.0.0.1:1/", "http://[::1]:80/", "https://localhost/"] {
        assert!(admit(url, false).is_err(), "{url}");
        assert!(admit(url, true).is_ok(), "{url}");
    }
    let others: Vec<_> = HOSTILE.iter().filter(|url| !authority(url).to_lowercase().starts_with("localhost")).collect();
    for url in others.iter().filter(|url| !["127.", "[::1]"].iter().any(|own| host_of(url).starts_with(own))) {
        assert!(admit(url, true).is_err(), "{url}");
    }
}

/// A name may be given a new address between check and connection: what counts is the address that
/// the connection is made to.
#[test]
fn a_name_with_one_address_that_is_not_public_is_not_reached_at_all() {
    let at = |text: &str| SocketAddr::new(text.parse().unwrap(), 0);
    let (public, also) = (at("93.184.215.14"), at("2606:2800:21f:cb07::1"));
    assert_eq!(vetted("example.com", vec![public, also], false), Ok(vec![public, also]));
    for private in [
        "127.0.0.1",
        "::1",
        "10.1.2.3",
        "169.254.169.254",
        "100.64.9.9",
        "192.168.0.9",
        "0.0.0.0",
        "fe80::1",
        "fd00::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::a00:1",
        "2002:7f00:1::",
        "224.0.0.251",
        "255.255.255.255",
        "::",
    ] {
        for loopback in [false, true] {
            assert_eq!(vetted("example.com", vec![public, at(private)], loopback), Err(RefusedAddress), "{private}");
            assert_eq!(vetted("example.com", vec![at(private)], loopback), Err(RefusedAddress), "{private}");
        }
    }
    assert_eq!(vetted("example.com", Vec::new(), false), Err(RefusedAddress));
    assert!(vetted("localhost", vec![at("127.0.0.1"), at("::1")], true).is_ok());
    assert_eq!(vetted("localhost", vec![at("127.0.0.1")], false), Err(RefusedAddress));
    assert_eq!(vetted("localhost", vec![at("10.0.0.1")], true), Err(RefusedAddress));
}

#[test]
fn what_is_wrong_with_a_url_is_said() {
    for (url, said) in [
        ("https://example.com./", "ends its host with a dot: leave the dot out"),
        ("https://intranet/", "`intranet` is not one"),
        ("https://10.0.0.1/", "`10.0.0.1` is not one"),
        ("http://example.com/", "has to begin with https://"),
        ("https://b\u{fc}cher.example/", "`xn--…`"),
    ] {
        let message = admit(url, false).unwrap_err().to_string();
        assert!(message.contains(said), "{url}: {message}");
    }
}
