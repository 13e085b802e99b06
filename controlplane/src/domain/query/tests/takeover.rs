//! Statements that meet a process which is about to leave its address to another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::wire::environment_name;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{ask, echo, listening, serve};
use crate::worlds::World;

/// Of HTTP/2: length, kind, flags and stream, before each frame.
const FRAME_HEAD: usize = 9;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const SETTINGS: [u8; FRAME_HEAD] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// No stream was processed, and nothing was wrong.
const GO_AWAY: [u8; FRAME_HEAD + 8] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// How the process that leaves treats a connection.
#[derive(Clone, Copy)]
enum Leaving {
    /// It ends it before the handshake.
    Drops,
    /// It says that it did not process the request that has come.
    GoesAway,
    /// It takes the request, and says no more.
    Takes,
}

/// A process that leaves after so many connections, and another that serves from then on.
/// How many connections the first had, so far.
async fn taken_over(world: &World, leaving: Leaving, connections: usize) -> Arc<AtomicUsize> {
    let (listener, acceptor) = listening(world, &environment_name(&world.env_id)).await;
    let (tasks, seen) = (world.app.app.tasks(), Arc::<AtomicUsize>::default());
    let (counted, serving) = (Arc::clone(&seen), tasks.clone());
    tasks.spawn(async move {
        for _ in 0..connections {
            let (tcp, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::AcqRel);
            serving.spawn(leave(tcp, acceptor.clone(), leaving));
        }
        serve(listener, acceptor, echo, serving).await;
    });
    seen
}

async fn leave(tcp: TcpStream, acceptor: TlsAcceptor, leaving: Leaving) {
    if matches!(leaving, Leaving::Drops) {
        return;
    }
    let mut tls = acceptor.accept(tcp).await.unwrap();
    tls.write_all(&SETTINGS).await.unwrap();
    tls.flush().await.unwrap();
    until_a_request(&mut tls).await;
    if matches!(leaving, Leaving::GoesAway) {
        tls.write_all(&GO_AWAY).await.unwrap();
        tls.flush().await.unwrap();
        let _ = tls.read_to_end(&mut Vec::new()).await; // until the other side has read it
    }
}

async fn until_a_request(tls: &mut TlsStream<TcpStream>) {
    let mut preface = vec![0; PREFACE.len()];
    tls.read_exact(&mut preface).await.unwrap();
    assert_eq!(preface, PREFACE);
    loop {
        let mut head = [0; FRAME_HEAD];
        tls.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        tls.read_exact(&mut payload).await.unwrap();
        if head[3] == HEADERS {
            return;
        }
    }
}

#[tokio::test]
async fn a_request_that_was_not_heard_is_asked_of_the_successor() {
    let world = World::start().await;
    for leaving in [Leaving::Drops, Leaving::GoesAway] {
        let seen = taken_over(&world, leaving, 5).await;
        ask(&world, json!({"sql": "select 1"})).await.expect(200);
        assert_eq!(seen.load(Ordering::Acquire), 5);
    }
}

#[tokio::test]
async fn a_request_that_was_heard_is_not_asked_again() {
    let world = World::start().await;
    let seen = taken_over(&world, Leaving::Takes, 5).await;
    world.app.expect_5xx(1);
    assert_eq!(ask(&world, json!({"sql": "select 1"})).await.status, 502);
    assert_eq!(seen.load(Ordering::Acquire), 1);
}

#[tokio::test]
async fn a_statement_waits_for_a_successor_no_longer_than_it_may_take() {
    let world = World::start().await;
    let seen = taken_over(&world, Leaving::Drops, 5).await;
    world.app.expect_5xx(1);
    assert_eq!(ask(&world, json!({"sql": "select 1", "timeout_ms": 1})).await.status, 502);
    assert!(seen.load(Ordering::Acquire) <= 2);
}
