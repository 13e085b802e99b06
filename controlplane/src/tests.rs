use std::sync::Arc;

use contract::key::HashCost;
use contract::{Entropy, Keyring, SystemClock};
use platform::provisioner::Unattended;
use platform::{Config, Parts};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::testing::TestApp;
use crate::{StartError, start};

fn parts() -> Parts {
    Parts {
        clock: Arc::new(SystemClock),
        entropy: Entropy::system().unwrap(),
        hash_cost: HashCost::TESTS,
        provisioner: Arc::new(Unattended),
        identity: None,
        dashboard: None,
        telemetry: telemetry::Telemetry::default(),
        sql: Arc::new(sql::Analyzer),
        shutdown: CancellationToken::new(),
    }
}

#[tokio::test]
async fn a_started_control_plane_answers_on_its_port_and_drains() {
    let world = TestApp::start().await;
    let running = start(Config::new(world.database_url(), Keyring::new([7; 32])), parts()).await.unwrap();
    let mut stream = TcpStream::connect(running.http).await.unwrap();
    stream.write_all(b"GET /ready HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"ready\":true"), "{answer}");
    let address = running.http;
    running.app.shutdown().cancel();
    running.drained().await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_control_plane_without_its_database_does_not_start() {
    let mut config = Config::new("postgres://nobody@127.0.0.1:1/nothing".to_owned(), Keyring::new([7; 32]));
    config.database_acquire_timeout_secs = 1;
    assert!(matches!(start(config, parts()).await, Err(StartError::Database(_))));
}
