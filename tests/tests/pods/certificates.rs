//! A certificate that is replaced in the volume is shown to the next connection; nobody is cut off.

use std::time::Duration;

use controlplane::platform::identity::Authority;
use nix::sys::signal::Signal;
use tests::pods::{Installation, Pod};

use super::takeover::{number, routed};

/// Whether the agents' endpoint has a certificate of this authority.
async fn agents_trust(pod: &Pod, authority: &Authority) -> bool {
    let pem = authority.issue("nobody").unwrap().authority;
    let trusted = reqwest::Certificate::from_pem(pem.as_bytes()).unwrap();
    let client = reqwest::Client::builder().tls_certs_only([trusted]).resolve("localhost", pod.tools).build().unwrap();
    let url = format!("https://localhost:{}/v1/query/arrow", pod.tools.port());
    match client.post(url).body("{}").send().await {
        Ok(answer) => answer.status() == 401, // no key, but a connection
        Err(_) => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_shown_without_a_restart() {
    let installation = Installation::new().await;
    let mut pod = Pod::start(&installation, &[]).await;
    routed(&installation, &[&pod]);
    pod.until("ready").await;
    let before = installation.psql().await.unwrap();
    assert!(agents_trust(&pod, &installation.authority).await);
    let plain = format!("http://{}/health", pod.tools);
    assert!(reqwest::get(plain).await.is_err(), "nothing is served in the clear");

    let other = Authority::make().unwrap();
    let broken = other.issue("localhost").unwrap();
    installation.tls.swap_raw(&broken.certificate, "no key", &broken.authority);
    pod.said("a certificate cannot be used: the last one stays").await;
    installation.psql().await.expect("the last one stays");

    installation.tls.swap(&other.issue("localhost").unwrap());
    pod.said("a new certificate is shown").await;
    let after = installation.psql_trusting(&other).await.unwrap();
    assert!(installation.psql().await.is_err(), "the old authority has not signed it");
    assert!(agents_trust(&pod, &other).await && !agents_trust(&pod, &installation.authority).await);
    for client in [&before, &after] {
        assert_eq!(number(client, "select 42").await, 42);
    }
    pod.signal(Signal::SIGTERM);
    assert!(pod.ended().await.success());
    installation.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_identity_is_shown_to_the_control_plane_and_asked_of_it() {
    let installation = Installation::new().await;
    let mut pod = Pod::start(&installation, &[]).await;
    routed(&installation, &[&pod]);
    pod.until("ready").await;
    assert_eq!(installation.query("select 1").await.0, 200);
    // Under another authority the two planes do not know each other any more.
    let other = Authority::make().unwrap();
    installation.identity.swap(&other.issue(&contract::wire::environment_name(&installation.env_id)).unwrap());
    pod.said("a new certificate is shown").await;
    routed(&installation, &[&pod]);
    let refused = async {
        loop {
            installation.rest.cut();
            if installation.query("select 1").await.0 != 200 {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(90), refused).await.expect("new connections meet the new identity");
    // The open stream of rules stays, and so do psql's sessions.
    assert_eq!(pod.ready().await.1["control_plane"], "connected");
    assert_eq!(number(&installation.psql().await.unwrap(), "select 42").await, 42);
    pod.signal(Signal::SIGTERM);
    assert!(pod.ended().await.success());
    installation.end().await;
}
