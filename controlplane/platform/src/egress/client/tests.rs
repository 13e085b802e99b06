use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use test_servers::webhook::{Receiver, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::identity::{Authority, Pems};

fn only(secret: &str) -> Secrets {
    Secrets { current: Redacted::new(secret.to_owned()), previous: None }
}

async fn send(egress: &EgressClient, url: &str) -> Receipt {
    let (secrets, event_id) = (only("a secret of the test"), EventId::from("evt"));
    let webhook_request = WebhookRequest {
        url,
        secrets: &secrets,
        event_id: &event_id,
        event_type: "key.created",
        body: b"{}".to_vec(),
        attempt: 1,
        now: chrono::DateTime::UNIX_EPOCH,
        place: Place::default(),
    };
    egress.send(webhook_request).await
}

#[tokio::test]
async fn what_is_not_2xx_is_no_success_and_a_redirect_is_not_followed() {
    let (mut receiver, mut other) = (Receiver::start().await, Receiver::start().await);
    let egress = EgressClient::new(true).unwrap();
    for (reply, accepted) in [
        (Reply::Status(200), true),
        (Reply::Status(204), true),
        // what it says is not read: there is no end to it
        (Reply::Endless, true),
        (Reply::Status(301), false),
        (Reply::Status(404), false),
        (Reply::Status(500), false),
        (Reply::Redirect(other.url()), false),
    ] {
        receiver.replies(reply.clone());
        let receipt = send(&egress, &receiver.url()).await;
        assert_eq!((receipt.accepted(), receipt.status.is_some()), (accepted, true), "{reply:?}");
    }
    assert_eq!((receiver.got().len(), other.got().len()), (7, 0));
}

#[tokio::test]
async fn a_receiver_that_thinks_too_long_is_left() {
    let receiver = Receiver::start().await;
    receiver.replies(Reply::Held(Arc::new(Notify::new())));
    let egress = EgressClient::within(true, Duration::from_millis(50), public()).unwrap();
    let receipt = send(&egress, &receiver.url()).await;
    assert_eq!((receipt.status, receipt.error), (None, Some("the receiver did not answer in time")));
}

/// A URL that got past the first look, in a database written to by hand.
#[tokio::test]
async fn this_machine_is_not_reached_whatever_the_url() {
    let mut receiver = Receiver::start().await;
    let egress = EgressClient::new(false).unwrap();
    assert_eq!(send(&egress, &receiver.url()).await.error, Some("the URL is not one that may be sent to"));
    assert!(receiver.got().is_empty());
}

/// The name leads here, whatever was thought of it before: the connection is not made.
#[tokio::test]
async fn a_name_that_has_become_an_address_of_ours_is_not_connected_to() {
    let mut receiver = Receiver::start().await;
    let egress = EgressClient::new(false).unwrap();
    let url = format!("http://localhost:{}/", receiver.address.port()).parse().unwrap();
    let (secrets, event_id) = (only("s"), EventId::from("evt"));
    let (event_type, now) = ("key.created", chrono::DateTime::UNIX_EPOCH);
    let (body, place) = (Vec::new(), Place::default());
    let webhook_request =
        WebhookRequest { url: "", secrets: &secrets, event_id: &event_id, event_type, body, attempt: 1, now, place };
    assert_eq!(egress.post(url, webhook_request).await, (None, Some("the name has no public address")));
    assert!(receiver.got().is_empty());
}

#[tokio::test]
async fn where_nobody_listens_nothing_is_delivered() {
    let receiver = Receiver::start().await;
    let url = receiver.url();
    drop(receiver);
    let receipt = send(&EgressClient::new(true).unwrap(), &url).await;
    assert_eq!(receipt.status, None);
    assert!(receipt.error.is_some());
}

/// Values computed with Python's `hmac`.
#[test]
fn the_signature_is_the_specifications() {
    let secret = Redacted::new("whsec_test".to_owned());
    assert_eq!(
        signature(&secret, br#"{"a":1}"#),
        "sha256=51426af50a41dd7ff2cd3f116594734766d4018d15d6fb07169aee5d2959adf5"
    );
    let secret = Redacted::new(format!("whsec_{}", STANDARD.encode([7; 32])));
    assert_eq!(
        standard_signature(&secret, &EventId::from("evt_1"), "1790000000", br#"{"a":1}"#),
        "v1,GzJZkRLzgU2oOMM3ec+VP7y2WElQeJAiPG0BeFH5EH8="
    );
}

fn roots(pems: &Pems) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pems.authority.as_bytes()).unwrap()).unwrap();
    roots
}

fn acceptor(pems: &Pems) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(pems.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pems.key.expose().as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn a_receiver_with_https_gets_nothing_unless_its_certificate_is_its_own_and_vouched_for() {
    let (ours, foreign) = (Authority::make().unwrap(), Authority::make().unwrap());
    let (good, misnamed) = (ours.issue("localhost").unwrap(), ours.issue("elsewhere.example").unwrap());
    let egress = |roots| EgressClient::within(true, Duration::from_secs(5), roots).unwrap();
    let unknown = egress(roots(&foreign.issue("localhost").unwrap()));
    for (serves, egress, accepted) in [
        (&good, egress(roots(&good)), true),
        (&misnamed, egress(roots(&good)), false),
        (&good, unknown, false),
        (&good, egress(public()), false),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}/hook", listener.local_addr().unwrap().port());
        let answer = async {
            let (connection, _) = listener.accept().await.unwrap();
            // a client that does not believe ends the handshake: nothing was read
            let mut stream = acceptor(serves).accept(connection).await.ok()?;
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n{}") {
                stream.read_buf(&mut request).await.ok().filter(|read| *read > 0)?;
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await.ok()
        };
        let (receipt, answered) = tokio::join!(send(&egress, &url), answer);
        assert_eq!((receipt.accepted(), receipt.status), (accepted, accepted.then_some(204)), "{:?}", receipt.error);
        assert_eq!(answered.is_some(), accepted);
    }
}
