//! An issued certificate is parsed by another library, and a rotation is walked through.

use contract::Entropy;
use jiff::{SignedDuration, Timestamp};
use rcgen::KeyPair;

use super::secret::{authority_of, certificate, data, keys, leaf_data};
use super::*;

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn authority(name: &str, seed: u64) -> Pair {
    let bytes = Entropy::seeded(seed).bytes();
    make(name, now(), AUTHORITY_LIFE, &KeyPair::generate().unwrap(), bytes).unwrap()
}

fn leaf(authority: &Pair, names: &[&str]) -> Pair {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let signer = Signer::of(authority).unwrap();
    issue(&signer, &names, now(), CERTIFICATE_LIFE, &KeyPair::generate().unwrap(), [0xff; 16]).unwrap()
}

#[test]
fn what_was_issued_says_what_was_asked_and_is_signed_by_the_authority() {
    let authority = authority("internal", 1);
    let pair = leaf(&authority, &["b.example", "a.example"]);
    let read = facts(&pair.certificate).unwrap();
    assert_eq!(read.dns_names, ["a.example", "b.example"]);
    assert_eq!(read.issuer_id, facts(&authority.certificate).unwrap().key_id);
    assert!(read.issuer_id.is_some());
    assert_eq!(read.not_after.duration_since(now()), SignedDuration::from_hours(90 * 24));
    assert_eq!(now().duration_since(read.not_before), SignedDuration::from_mins(5));
    assert_eq!(renewal(now(), read.not_after).duration_since(now()), SignedDuration::from_hours(60 * 24));
    let (_, block) = x509_parser::pem::parse_x509_pem(pair.certificate.as_bytes()).unwrap();
    let (_, ca) = x509_parser::pem::parse_x509_pem(authority.certificate.as_bytes()).unwrap();
    let (signed, ca) = (block.parse_x509().unwrap(), ca.parse_x509().unwrap());
    signed.verify_signature(Some(ca.public_key())).unwrap();
    assert!(ca.is_ca() && !signed.is_ca());
    assert!(!signed.raw_serial().is_empty() && signed.raw_serial()[0] < 0x80, "a positive number");
}

#[test]
fn a_secret_whose_key_is_another_ones_holds_no_certificate() {
    let authority = authority("internal", 1);
    let (one, other) = (leaf(&authority, &["a"]), leaf(&authority, &["a"]));
    assert!(certificate(&leaf_data(&one, "bundle")).is_some());
    let mixed = Pair { certificate: one.certificate, key: other.key };
    assert_eq!(certificate(&leaf_data(&mixed, "bundle")), None);
    let garbage = Pair { certificate: "no certificate".to_owned(), key: mixed.key };
    assert_eq!(certificate(&leaf_data(&garbage, "bundle")), None);
}

#[test]
fn an_authority_reads_back_from_its_secret_at_every_step() {
    let (first, next) = (authority("o", 1), authority("o", 2));
    for trust in [
        Trust::Alone,
        Trust::Next { pair: next.clone(), since: now() },
        Trust::Old { certificate: next.certificate.clone(), since: now() },
    ] {
        let whole = Keys { current: first.clone(), trust };
        assert_eq!(keys(&data(&whole)).unwrap(), whole);
    }
    let mut damaged = data(&Keys { current: first, trust: Trust::Next { pair: next, since: now() } });
    damaged.remove("since");
    keys(&damaged).unwrap_err();
}

/// At every moment of a rotation, what is in use must be believed by those who have not heard of
/// the last step yet.
#[test]
fn through_a_rotation_every_certificate_in_use_is_believed_by_every_bundle_in_use() {
    let mut state = Keys { current: authority("o", 1), trust: Trust::Alone };
    let (mut time, mut steps) = (now(), Vec::new());
    let mut before = state.clone();
    for seed in 2..99 {
        if steps.len() == 3 {
            break;
        }
        match state.step(time).unwrap() {
            RotationStep::Wait(at) => {
                assert!(at > time);
                time = at;
            }
            step => {
                steps.push(step);
                before = state.clone();
                state = state.stepped(step, authority("o", seed), time);
            }
        }
        assert!(state.bundle().contains(&before.current.certificate) || step_dropped(&steps), "an old certificate");
        assert!(before.bundle().contains(&state.current.certificate), "a new certificate before the new bundle");
        assert!(state.bundle().contains(&state.current.certificate));
    }
    assert_eq!(steps, [RotationStep::TrustNext, RotationStep::IssueNext, RotationStep::DropOld]);
    assert_eq!(state.trust, Trust::Alone);
}

fn step_dropped(steps: &[RotationStep]) -> bool {
    steps.last() == Some(&RotationStep::DropOld)
}

#[test]
fn a_step_is_not_taken_before_its_time_nor_out_of_turn() {
    let state = Keys { current: authority("o", 1), trust: Trust::Alone };
    assert!(matches!(state.step(now()).unwrap(), RotationStep::Wait(_)));
    assert_eq!(state.clone().stepped(RotationStep::DropOld, authority("o", 2), now()), state);
    let trusting = state.stepped(RotationStep::TrustNext, authority("o", 2), now());
    assert!(matches!(trusting.step(now() + SignedDuration::from_hours(23)).unwrap(), RotationStep::Wait(_)));
    assert_eq!(trusting.step(now() + SignedDuration::from_hours(24)).unwrap(), RotationStep::IssueNext);
    let ids = [
        authority_of(&trusting).unwrap(),
        authority_of(&trusting.clone().stepped(RotationStep::IssueNext, authority("o", 3), now())).unwrap(),
    ];
    assert_ne!(ids[0].id, ids[1].id, "leaves are signed anew");
    assert_ne!(ids[0].bundle, ids[1].bundle);
}
