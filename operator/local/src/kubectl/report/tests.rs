//! The contents of the archive, and secrets that are never in it.

use std::fmt::Write;
use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::json;

use super::*;
use crate::kubectl::gather::child;
use operator::objects::child::Kind;

/// Every entry, name and text, one after the other.
fn unpacked(archive: Archive) -> String {
    let (_, bytes) = archive.finish().unwrap();
    let mut tar = tar::Archive::new(GzDecoder::new(bytes.as_slice()));
    let mut all = String::new();
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        writeln!(all, "\n# {}", entry.path().unwrap().display()).unwrap();
        entry.read_to_string(&mut all).unwrap();
    }
    all
}

fn seen() -> Seen {
    let secret = json!({
        "kind": "Secret", "metadata": {"name": "acme-prod-tls", "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"tls.key\":\"cGxhaW4=\"}}"}},
        "data": {"tls.key": "cGxhaW4="},
    });
    let account = json!({"kind": "ServiceAccount", "metadata": {"name": "acme-prod"}});
    let environment = json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "Environment", "metadata": {"name": "acme-prod"},
        "spec": {"organizationRef": {"name": "acme"}, "slug": "prod", "name": "Production"},
    });
    Seen {
        environment: serde_json::from_value(environment).unwrap(),
        keys: Vec::new(),
        children: vec![child(Kind::Secret, secret), child(Kind::ServiceAccount, account)],
        pods: Vec::new(),
        events: Vec::new(),
        unread: Vec::new(),
    }
}

#[test]
fn the_archive_holds_the_environment_and_its_children() {
    let mut archive = Archive::new(Timestamp::UNIX_EPOCH, MOST);
    environment(&mut archive, &seen(), Timestamp::UNIX_EPOCH);
    let all = unpacked(archive);
    for name in [
        "environment.yaml",
        "status.txt",
        "children/Secret-acme-prod-tls.yaml",
        "children/ServiceAccount-acme-prod.yaml",
    ] {
        assert!(all.contains(&format!("\n# sluice-report/acme-prod/{name}\n")), "{name} in {all}");
    }
}

#[test]
fn the_value_of_a_secret_is_not_in_the_archive() {
    let mut archive = Archive::new(Timestamp::UNIX_EPOCH, MOST);
    environment(&mut archive, &seen(), Timestamp::UNIX_EPOCH);
    archive.text("logs/a.log", "connecting to postgresql://u:plain@db/x with svc_live_ABCDEFGHIJKLplain");
    let all = unpacked(archive);
    assert!(!all.contains("cGxhaW4=") && !all.contains("plain@") && !all.contains("JKLplain"), "{all}");
    assert!(all.contains("postgresql://u:[redacted]@db/x with svc_live_ABCDEFGHIJKL[redacted]"), "{all}");
}

#[test]
fn an_archive_is_never_written_over_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.tar.gz");
    write(&file, b"one").unwrap();
    assert!(matches!(write(&file, b"two"), Err(Error::Unusable(_))));
    assert_eq!(std::fs::read(&file).unwrap(), b"one");
}

#[test]
fn what_is_too_much_is_left_out_and_named() {
    let mut archive = Archive::new(Timestamp::UNIX_EPOCH, 10);
    for name in ["a.log", "b.log", "c.log"] {
        archive.text(name, "four");
    }
    let all = unpacked(archive);
    assert_eq!(all.matches("four").count(), 2);
    assert!(all.ends_with("left-out.txt\nc.log: 4 bytes\n"), "{all}");
}
