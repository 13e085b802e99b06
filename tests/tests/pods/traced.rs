//! A data plane and a collector that has a certificate of a private authority and wants a credential.

use contract::wire::setting;
use nix::sys::signal::Signal;
use tests::Received;
use tests::pods::{Installation, Pod};

use super::takeover::{number, routed};

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_is_believed_by_the_authority_it_is_named_with_and_shown_its_headers() {
    let installation = Installation::new().await;
    let received = Received::secured(&installation.authority.issue("localhost").unwrap()).await;
    let authority = installation.identity.file("ca.crt");
    let more = [
        (setting::OTLP_ENDPOINT, received.endpoint()),
        (setting::OTLP_CA, authority.to_str().unwrap()),
        (setting::OTLP_HEADERS, "authorization=Bearer%20of-the-watch"),
    ];
    let mut pod = Pod::start(&installation, &more).await;
    routed(&installation, &[&pod]);
    pod.until("ready").await;
    assert_eq!(number(&installation.psql().await.unwrap(), "select 42").await, 42);
    pod.signal(Signal::SIGTERM);
    assert_eq!(pod.ended().await.code(), Some(0), "what waits is sent before it ends");
    assert!(received.all().iter().any(|told| told.attributes.contains_key("db.query.text")), "{:?}", received.all());
    assert_eq!(received.credentials().into_iter().collect::<Vec<_>>(), ["Bearer of-the-watch"]);
    installation.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_whose_authority_nobody_named_is_told_nothing_and_harms_nobody() {
    let installation = Installation::new().await;
    let received = Received::secured(&installation.authority.issue("localhost").unwrap()).await;
    let pod = Pod::start(&installation, &[(setting::OTLP_ENDPOINT, received.endpoint())]).await;
    routed(&installation, &[&pod]);
    pod.until("ready").await;
    assert_eq!(number(&installation.psql().await.unwrap(), "select 42").await, 42);
    pod.said("the collector takes no spans; they are dropped").await;
    assert!(received.all().is_empty());
    installation.end().await;
}
