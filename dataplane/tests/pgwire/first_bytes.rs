//! The first bytes of a connection: TLS, HTTP, or something hostile.

use std::sync::Arc;
use std::time::Duration;

use connections::{ConnectionTimeouts, Limits};
use dataplane::protocols::pgwire;
use dataplane::testing::demo_key;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_postgres::error::SqlState;

use super::{simple, wired, wired_by, wired_with, world};

/// A certificate for loopback, as the server's configuration and as the client's trust.
fn certificate() -> (Arc<rustls::ServerConfig>, rustls::RootCertStore) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let server =
        dataplane::protocols::tls::plain(&made.cert.pem(), &made.signing_key.serialize_pem(), &pgwire::PROTOCOLS)
            .unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    (server, roots)
}

fn connector(roots: rustls::RootCertStore, protocols: &[&[u8]]) -> tokio_rustls::TlsConnector {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(config).into()
}

const STARTUP: &[u8] = b"\x00\x00\x00\x14\x00\x03\x00\x00user\0agent\0\0";

/// The first message after the startup packet.
async fn greeted(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> u8 {
    stream.write_all(STARTUP).await.unwrap();
    stream.read_u8().await.unwrap()
}

#[tokio::test]
async fn away_from_loopback_rules_only_tls_is_served() {
    let (tls, roots) = certificate();
    let wired = wired_with(Some(tls), false).await;
    let error = wired.connect(&wired.config("agent", demo_key())).await.expect_err("plain");
    assert_eq!(error.code().map(SqlState::code), Some("28000"));
    let name = || rustls::pki_types::ServerName::try_from("localhost").unwrap();

    let mut asked = wired.knock().await;
    asked.write_all(b"\x00\x00\x00\x08\x04\xd2\x16\x30\x00\x00\x00\x08\x04\xd2\x16\x2f").await.unwrap();
    let mut answers = [0; 2];
    asked.read_exact(&mut answers).await.unwrap();
    assert_eq!(&answers, b"NS", "no GSS, but TLS");
    let mut inside = connector(roots.clone(), &[]).connect(name(), asked).await.unwrap();
    assert_eq!(inside.get_ref().1.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
    assert_eq!(greeted(&mut inside).await, b'R');

    let direct = wired.knock().await;
    let mut direct = connector(roots.clone(), &[b"postgresql"]).connect(name(), direct).await.unwrap();
    assert_eq!(greeted(&mut direct).await, b'R');

    let silent = wired.knock().await;
    let mut silent = connector(roots, &[]).connect(name(), silent).await.unwrap();
    silent.write_all(STARTUP).await.unwrap();
    assert!(silent.read_u8().await.is_err(), "TLS at once needs the protocol's name");
    wired.stop().await;
}

#[tokio::test]
async fn a_login_that_takes_too_long_is_told_so() {
    let within = Duration::from_secs(1);
    let limits = Limits { head: within, ..ConnectionTimeouts::DEFAULT.limits() };
    let wired = wired_by(limits, world().await, None, true).await;
    let mut silent = wired.knock().await;
    assert_eq!(greeted(&mut silent).await, b'R');
    let mut told = Vec::new();
    silent.read_to_end(&mut told).await.unwrap();
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("57014") && told.contains("the login took longer than 1s"), "{told}");
    wired.stop().await;
}

/// Asks over HTTP: status and body.
async fn asked(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), credential: &str, sql: &str) -> (u16, String) {
    let body = format!("{{\"sql\": \"{sql}\"}}");
    let request = format!(
        "POST /v1/environments/env-1/query HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{credential}\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply).await;
    let reply = String::from_utf8_lossy(&reply).into_owned();
    (reply[9..12].parse().unwrap(), reply)
}

#[tokio::test]
async fn http_is_told_apart_by_its_first_bytes_and_brings_its_own_credential() {
    let wired = wired().await;
    let own = [format!("authorization: ApiKey {}\r\n", demo_key()), format!("x-api-key: {}\r\n", demo_key())];
    for credential in own {
        let (status, reply) = asked(&mut wired.knock().await, &credential, "select 40 + 2 as n").await;
        assert_eq!(status, 200, "{reply}");
        assert!(reply.contains("[42]"), "{reply}");
    }
    let named = "x-sluice-caller: {\"key_id\":\"k-owner\"}\r\n";
    for credential in ["", "authorization: ApiKey wrong\r\n", "authorization: Basic YTpi\r\n", named] {
        let (status, reply) = asked(&mut wired.knock().await, credential, "select 1").await;
        assert_eq!(status, 401, "{credential} {reply}");
    }
    wired.stop().await;
}

#[tokio::test]
async fn http_away_from_loopback_rules_is_asked_inside_tls_alone() {
    let (tls, roots) = certificate();
    let wired = wired_with(Some(tls), false).await;
    let credential = format!("x-api-key: {}\r\n", demo_key());
    let mut plain = wired.knock().await;
    assert_eq!(asked(&mut plain, &credential, "select 1").await.0, 401);
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    let stream = wired.knock().await;
    let mut inside = connector(roots, &[b"h2", b"http/1.1"]).connect(name, stream).await.unwrap();
    assert_eq!(asked(&mut inside, &credential, "select 1").await.0, 200);
    wired.stop().await;
}

#[tokio::test]
async fn what_was_sent_in_the_clear_is_never_read_as_if_it_came_inside() {
    let (tls, roots) = certificate();
    let wired = wired_with(Some(tls), false).await;
    let mut stream = wired.knock().await;
    let smuggled = [b"\x00\x00\x00\x08\x04\xd2\x16\x2f".as_slice(), STARTUP].concat();
    stream.write_all(&smuggled).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), b'S');
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    assert!(connector(roots, &[]).connect(name, stream).await.is_err());
    wired.stop().await;
}

#[tokio::test]
async fn a_hostile_first_packet_costs_a_connection_and_nothing_else() {
    let wired = wired().await;
    for bytes in [
        &b"\x00\x00\x00\x00"[..],
        b"LIST / HTTP/1.1\r\n\r\n",
        b"\xff\xff\xff\xff\x00\x03\x00\x00",
        b"\x00\x00\x00\x09\x00\x03\x00\x00x",
    ] {
        let mut stream = wired.knock().await;
        stream.write_all(bytes).await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty() || rest[0] == b'E', "{bytes:?} {rest:?}");
    }
    assert_eq!(simple(&wired.owner().await, "select 1").await, ["1", "(1)"]);
    wired.stop().await;
}
