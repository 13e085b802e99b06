use contract::report::{Body, ENTRY_BYTES_MAX, TEXT_BYTES_MAX, TriggerError};
use contract::{Entropy, SharedClock, SystemClock};
use tokio_stream::iter;

use super::*;

/// A log with this many entries, in a folder that lives as long as it.
fn written(entries: usize) -> (Arc<Log>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let clock: SharedClock = Arc::new(SystemClock);
    let log = Log::open(folder.path(), &clock, &Entropy::seeded(1)).unwrap();
    for _ in 0..entries {
        log.happened(entry()).unwrap();
    }
    log.sync().unwrap();
    (Arc::new(log), folder)
}

fn entry() -> Body {
    let text = "x".repeat(TEXT_BYTES_MAX);
    Body::TriggerFired(Box::new(contract::report::TriggerFired {
        trigger_id: "t".to_owned(),
        trigger_name: "t".to_owned(),
        fired_at: chrono::DateTime::UNIX_EPOCH,
        similarity_score: 1.0,
        threshold: 0.5,
        content: text.clone(),
        content_id: None,
        agent_id: "a".to_owned(),
        metadata: serde_json::json!([text.clone(), text]),
    }))
}

/// Has waited a while already; how long it would wait next.
fn patient() -> Backoff {
    let mut backoff = Backoff::new();
    for _ in 0..9 {
        backoff.next();
    }
    backoff
}

async fn said(log: &Arc<Log>, heard: Vec<Result<Ack, tonic::Status>>) -> Backoff {
    let (outgoing, _messages) = mpsc::channel(WINDOW);
    let mut backoff = patient();
    let ended = spoken(log, (outgoing, iter(heard)), &mut backoff, &CancellationToken::new()).await;
    assert!(ended.is_err(), "it breaks");
    backoff
}

fn ack(log: &Log, sequence: u64) -> Ack {
    Ack { log: log.id().to_owned(), sequence }
}

#[tokio::test]
async fn only_an_acknowledgement_of_something_ends_the_waiting() {
    let (log, _folder) = written(3);
    let refused = || Err(tonic::Status::failed_precondition("not this entry"));
    let longest = patient().next();
    assert_eq!(said(&log, vec![]).await.next(), longest, "a stream that opened");
    assert_eq!(said(&log, vec![refused()]).await.next(), longest, "a stream that refused");
    assert_eq!(said(&log, vec![Ok(ack(&log, 0)), refused()]).await.next(), longest, "nothing new");
    let elsewhere = Ok(Ack { log: "another".to_owned(), sequence: 2 });
    assert_eq!(said(&log, vec![elsewhere, refused()]).await.next(), longest, "another log");
    assert_eq!(said(&log, vec![Ok(ack(&log, 2)), refused()]).await.next(), Backoff::new().next(), "stored");
    assert_eq!(*log.acked().borrow(), 2);
    assert_eq!(said(&log, vec![Ok(ack(&log, 2)), refused()]).await.next(), longest, "stored before");
}

#[tokio::test]
async fn a_message_is_never_larger_than_what_the_control_plane_takes() {
    let (log, _folder) = written(100);
    log.happened(Body::TriggerError(Box::new(TriggerError {
        trigger_id: "\u{1}".repeat(20_000_000),
        trigger_name: "t".to_owned(),
        error: "e".to_owned(),
        occurred_at: chrono::DateTime::UNIX_EPOCH,
    })))
    .unwrap();
    log.sync().unwrap();
    let (outgoing, mut messages) = mpsc::channel(WINDOW);
    let (heard, acks) = mpsc::channel(1);
    let shutdown = CancellationToken::new();
    let mut speaking = tokio::task::JoinSet::new();
    speaking.spawn({
        let (log, shutdown) = (Arc::clone(&log), shutdown.clone());
        async move { spoken(&log, (outgoing, ReceiverStream::new(acks)), &mut Backoff::new(), &shutdown).await }
    });
    let (mut count, mut sent) = (0, 0);
    while sent < 101 {
        let entries = messages.recv().await.unwrap().entries;
        let bytes: usize = entries.iter().map(Vec::len).sum();
        assert!(bytes < BATCH_BYTES_MAX + ENTRY_BYTES_MAX, "{bytes}");
        (count, sent) = (count + 1, sent + entries.len());
    }
    assert!(count > 1, "it would have been one message");
    heard.send(Ok(ack(&log, 101))).await.unwrap();
    shutdown.cancel();
    assert!(speaking.join_next().await.unwrap().unwrap().is_ok());
}

#[tokio::test]
async fn what_is_acknowledged_is_written_down_once_a_second_and_once_more_at_the_end() {
    const ENTRIES: u64 = 40;
    let (log, folder) = written(40);
    let file = folder.path().join("acked");
    let (outgoing, _messages) = mpsc::channel(WINDOW);
    let (heard, acks) = mpsc::channel(1);
    let shutdown = CancellationToken::new();
    let mut speaking = tokio::task::JoinSet::new();
    speaking.spawn({
        let (log, acks) = (Arc::clone(&log), ReceiverStream::new(acks));
        async move { spoken(&log, (outgoing, acks), &mut Backoff::new(), &shutdown).await }
    });
    let (began, mut acked, mut kept) = (Instant::now(), log.acked(), std::collections::BTreeSet::new());
    for sequence in 1..=ENTRIES {
        heard.send(Ok(ack(&log, sequence))).await.unwrap();
        acked.wait_for(|acked| *acked == sequence).await.unwrap();
        while sequence == 1 && log.has_unkept() {
            tokio::task::yield_now().await; // the first one is written down at once
        }
        kept.insert(std::fs::read_to_string(&file).unwrap());
    }
    assert!(kept.len() as u64 <= 1 + began.elapsed().as_secs(), "{kept:?} in {:?}", began.elapsed());
    drop(heard);
    assert!(speaking.join_next().await.unwrap().unwrap().is_err(), "its stream has ended");
    keep(&log).await.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), ENTRIES.to_string());
}
