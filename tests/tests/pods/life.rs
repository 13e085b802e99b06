//! A data plane alone: start, kill -9, stop.

use nix::sys::signal::Signal;
use tests::pods::{Installation, Pod};

use super::takeover::{number, routed};

#[tokio::test(flavor = "multi_thread")]
async fn a_process_serves_psql_over_tls_and_rest_and_ends_in_order() {
    let installation = Installation::new().await;
    let mut pod = Pod::start(&installation, &[]).await;
    routed(&installation, &[&pod]);
    pod.until("ready").await;
    let client = installation.psql().await.unwrap();
    client.batch_execute("create table ledger (n bigint); insert into ledger values (1)").await.unwrap();
    let (status, body) = installation.query("select n from ledger").await;
    assert_eq!((status, body["rows"].to_string().as_str()), (200, "[[1]]"), "{body}");
    let health: serde_json::Value =
        reqwest::get(format!("http://{}/health", pod.probes)).await.unwrap().json().await.unwrap();
    assert_eq!(health["status"], "ok");
    pod.signal(Signal::SIGINT);
    assert_eq!(pod.ended().await.code(), Some(0));
    let told = client.simple_query("select 1").await.expect_err("it has ended");
    assert!(told.is_closed() || told.code().is_some_and(|code| code.code() == "57P01"), "{told:?}");
    installation.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_leaves_no_lock_and_loses_nothing_it_acknowledged() {
    let installation = Installation::new().await;
    let mut first = Pod::start(&installation, &[]).await;
    routed(&installation, &[&first]);
    first.until("ready").await;
    let client = installation.psql().await.unwrap();
    client.batch_execute("create table ledger (n bigint)").await.unwrap();
    for number in 0..50_i64 {
        assert_eq!(client.execute("insert into ledger values ($1)", &[&number]).await.unwrap(), 1);
    }
    first.signal(Signal::SIGKILL);
    first.ended().await;

    let second = Pod::start(&installation, &[]).await;
    routed(&installation, &[&second]);
    second.until("ready").await;
    assert_eq!(number(&installation.psql().await.unwrap(), "select count(*) from ledger").await, 50);
    second.signal(Signal::SIGTERM);
    installation.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_leaves_is_not_ready_and_still_serves_everybody() {
    let installation = Installation::new().await;
    let mut pod = Pod::start(&installation, &[(contract::wire::setting::ENDPOINT_GRACE_SECS, "600")]).await;
    routed(&installation, &[&pod]);
    pod.until("ready").await;
    let open = installation.psql().await.unwrap();
    pod.signal(Signal::SIGTERM);
    pod.said("stopping").await;
    let (status, body) = pod.ready().await;
    assert_eq!((status, body["ready"].as_bool()), (503, Some(false)), "{body}");
    for client in [&open, &installation.psql().await.unwrap()] {
        assert_eq!(number(client, "select 42").await, 42);
    }
    assert_eq!(installation.query("select 42").await.0, 200);
    pod.signal(Signal::SIGKILL);
    pod.ended().await;
    installation.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_or_trusted_does_not_start() {
    let installation = Installation::new().await;
    let Installation { identity, tls, .. } = &installation;
    let mut command = tests::world::command("dataplane");
    let output = command
        .args(["--env-id=e", "--control-plane=127.0.0.1:1", "--listen=127.0.0.1", "--pgwire-port=0"])
        .args(["--tools-port=0", "--rest-port=0", "--probes-port=0"])
        .arg("--state")
        .arg(installation.volume())
        .arg("--tls-ca")
        .arg(identity.file("ca.crt"))
        .arg("--tls-cert")
        .arg(identity.file("tls.crt"))
        .arg("--tls-key")
        .arg(tls.file("tls.key"))
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "the key is another certificate's");
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["fields"]["message"], "the data plane cannot run");
    installation.end().await;
}
