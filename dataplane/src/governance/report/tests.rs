use super::*;
use contract::policy::abac::Origin;
use contract::report::{ENTRY_BYTES_MAX, Entry, TriggerFired};
use contract::{Role, SystemClock};
use std::sync::Arc;

fn open(folder: &Path) -> Log {
    let clock: SharedClock = Arc::new(SystemClock);
    Log::open(folder, &clock, &Entropy::seeded(1)).unwrap()
}

fn started(query: &str, estimate: MicroCredits) -> Started {
    Started {
        query_id: query.into(),
        request_id: "r".into(),
        org_id: "o".into(),
        user_id: None,
        key_id: None,
        role: Role::Analyst,
        source_ip: None,
        origin: Origin::Rest,
        by_dashboard: false,
        agent: None,
        grant_id: None,
        sql: "select ?".into(),
        sql_original: "select 1".into(),
        sql_healed: None,
        sql_transpiled: None,
        sql_with_rls: None,
        operation: None,
        tables_accessed: vec![],
        columns_masked: vec![],
        policy_verdicts: vec![],
        abac_evaluation: None,
        governance_version: 1,
        snapshot: None,
        estimated_micro_credits: estimate,
        at: chrono::DateTime::UNIX_EPOCH,
    }
}

fn fired(metadata: serde_json::Value) -> TriggerFired {
    TriggerFired {
        trigger_id: "t".to_owned(),
        trigger_name: "t".to_owned(),
        fired_at: chrono::DateTime::UNIX_EPOCH,
        similarity_score: f64::NAN,
        threshold: 0.5,
        content: "c".to_owned(),
        content_id: None,
        agent_id: "a".to_owned(),
        metadata,
    }
}

fn finished(query: &str) -> Finished {
    Finished { outcome: Outcome::Completed, ..interrupted(query.into(), 0, chrono::DateTime::UNIX_EPOCH) }
}

/// The control plane has stored so many, and that is written down.
fn store(log: &Log, sequence: u64) {
    assert!(log.store_acked(sequence) && log.has_unkept());
    log.keep_acked().unwrap();
    assert!(!log.has_unkept());
}

fn all(log: &Log) -> Vec<Entry> {
    let lines = log.after(0).next(u64::MAX, usize::MAX, usize::MAX).unwrap();
    lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect()
}

#[test]
fn entries_are_numbered_without_gaps_over_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    let id = log.id().to_owned();
    log.started(started("a", 1)).unwrap();
    log.finished(finished("a")).unwrap();
    drop(log);
    let log = open(folder.path());
    assert_eq!(log.id(), id);
    log.refused(started("b", 0), finished("b")).unwrap();
    assert_eq!(all(&log).iter().map(|entry| entry.sequence).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(log.written(), 4);
}

#[test]
fn what_a_dead_process_left_open_ends_interrupted_with_its_estimate() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    log.started(started("done", 1)).unwrap();
    log.started(started("open", 2_000_000)).unwrap();
    log.finished(finished("done")).unwrap();
    drop(log);
    for _ in 0..2 {
        let entries = all(&open(folder.path()));
        let Some(Body::Finished(last)) = entries.last().map(|entry| &entry.body) else { panic!("{entries:?}") };
        assert_eq!(
            (last.query_id.as_str(), last.outcome, last.micro_credits),
            ("open", Outcome::Interrupted, 2_000_000)
        );
        assert_eq!(entries.len(), 4);
    }
}

#[test]
fn a_torn_last_line_is_cut_off_and_damage_elsewhere_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    log.refused(started("a", 1), finished("a")).unwrap();
    let file = log.writer().segments[0].path.clone();
    drop(log);
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, [whole.as_slice(), b"{\"sequence\":3,\"ki"].concat()).unwrap();
    assert_eq!(all(&open(folder.path())).len(), 2);
    std::fs::write(&file, [b"damage\n", whole.as_slice()].concat()).unwrap();
    let clock: SharedClock = Arc::new(SystemClock);
    assert!(Log::open(folder.path(), &clock, &Entropy::seeded(1)).is_err());
}

#[test]
fn a_cursor_reads_on_from_where_it_stood_over_segments() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    let mut cursor = log.after(0);
    assert!(cursor.next(u64::MAX, 9, usize::MAX).unwrap().is_empty());
    log.refused(started("a", 1), finished("a")).unwrap();
    assert_eq!(cursor.next(u64::MAX, 1, usize::MAX).unwrap().len(), 1);
    log.writer().segments.last_mut().unwrap().bytes = SEGMENT_BYTES_MAX;
    log.refused(started("b", 1), finished("b")).unwrap();
    assert_eq!(cursor.next(u64::MAX, 9, usize::MAX).unwrap().len(), 3);
    assert_eq!(cursor.position(), 4);
    assert_eq!(log.after(3).next(u64::MAX, 9, usize::MAX).unwrap().len(), 1);
}

#[test]
fn a_stored_segment_goes_unless_a_query_that_began_in_it_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    log.started(started("long", 1)).unwrap();
    log.writer().segments.last_mut().unwrap().bytes = SEGMENT_BYTES_MAX;
    log.refused(started("a", 1), finished("a")).unwrap();
    store(&log, 3);
    assert_eq!(log.writer().segments.len(), 2);
    log.finished(finished("long")).unwrap();
    store(&log, 4);
    assert_eq!(log.writer().segments.len(), 1);
    drop(log);
    let log = open(folder.path());
    assert_eq!((*log.acked().borrow(), log.written()), (4, 4));
}

#[test]
fn what_may_be_shipped_is_synced_however_many_segments_it_is_in() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    for query in ["a", "b", "c"] {
        log.refused(started(query, 1), finished(query)).unwrap();
        log.writer().segments.last_mut().unwrap().bytes = SEGMENT_BYTES_MAX;
    }
    log.started(started("d", 1)).unwrap();
    assert_eq!((log.written(), *log.synced().borrow()), (7, 0));
    let (last, files) = log.writer().unsynced().unwrap();
    assert_eq!((last, files.len()), (7, 4));
    log.writer().full.extend(files);
    log.sync().unwrap();
    assert_eq!(*log.synced().borrow(), 7);
    assert!(log.writer().unsynced().unwrap().1.is_empty());
    log.finished(finished("d")).unwrap();
    assert_eq!(*log.synced().borrow(), 7, "written, not synced");
    drop(log);
    assert_eq!(*open(folder.path()).synced().borrow(), 8, "what a dead process wrote is synced at the next start");
}

#[test]
fn an_acknowledgement_that_was_not_written_down_is_given_again() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    log.refused(started("a", 1), finished("a")).unwrap();
    log.writer().segments.last_mut().unwrap().bytes = SEGMENT_BYTES_MAX;
    log.refused(started("b", 1), finished("b")).unwrap();
    assert!(log.store_acked(4) && !log.store_acked(4) && !log.store_acked(3));
    assert_eq!(log.writer().segments.len(), 2, "none goes before that");
    drop(log);
    let log = open(folder.path());
    assert_eq!((*log.acked().borrow(), log.written()), (0, 4));
    assert_eq!(all(&log).len(), 4);
}

#[test]
fn a_cursor_lists_the_folder_for_each_segment_and_not_for_each_call() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    let mut cursor = log.after(0);
    log.started(started("a", 1)).unwrap();
    assert_eq!(cursor.next(1, 9, usize::MAX).unwrap().len(), 1);
    let away = folder.path().with_extension("away");
    std::fs::rename(folder.path(), &away).unwrap();
    log.finished(finished("a")).unwrap();
    assert_eq!(cursor.next(2, 9, usize::MAX).unwrap().len(), 1, "without its folder");
    assert!(cursor.next(2, 9, usize::MAX).unwrap().is_empty());
    assert!(cursor.next(3, 9, usize::MAX).is_err(), "what lies in another segment");
    std::fs::rename(&away, folder.path()).unwrap();
}

#[test]
fn too_many_waiting_entries_stop_new_queries_but_not_the_end_of_old_ones() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    log.started(started("a", 1)).unwrap();
    log.writer().segments.last_mut().unwrap().bytes = BYTES_MAX + 1;
    assert!(log.started(started("b", 1)).is_err());
    assert!(log.finished(finished("a")).is_ok());
}

#[test]
fn whatever_was_asked_its_line_is_bounded_and_read_again_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    let vast = "\0".repeat(2_000_000);
    let agent = contract::report::Agent { agent_id: Some(vast.clone()), framework: Some(vast.clone()) };
    let tables_accessed = vec![vast.clone(); 9];
    log.started(Started { agent: Some(agent), sql_with_rls: Some(vast), tables_accessed, ..started("a", 7) }).unwrap();
    let deep = (0..126).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    log.happened(Body::TriggerFired(Box::new(fired(deep)))).unwrap();
    assert!(log.writer().waiting_bytes() < 2 * u64::try_from(ENTRY_BYTES_MAX).unwrap());
    drop(log);
    let entries = all(&open(folder.path()));
    let Some(Body::Finished(last)) = entries.last().map(|entry| &entry.body) else { panic!("{}", entries.len()) };
    assert_eq!((last.outcome, last.micro_credits), (Outcome::Interrupted, 7));
}

#[test]
fn a_message_takes_so_many_bytes_and_at_least_one_entry() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    for query in ["a", "b", "c"] {
        log.started(Started { sql_original: "x".repeat(60_000), ..started(query, 1) }).unwrap();
    }
    let mut cursor = log.after(0);
    let mut counts = || cursor.next(u64::MAX, 9, 100_000).unwrap().len();
    assert_eq!([counts(), counts(), counts()], [2, 1, 0]);
    assert_eq!(log.after(0).next(u64::MAX, 9, 1).unwrap().len(), 1);
}

#[test]
fn a_line_from_before_there_were_bounds_is_read_within_them() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    let body = Body::Started(Box::new(Started { sql: "x".repeat(ENTRY_BYTES_MAX), ..started("old", 7) }));
    let line = serde_json::to_vec(&Entry { sequence: 1, body }).unwrap();
    std::fs::write(&log.writer().segments[0].path, [line.as_slice(), b"\n"].concat()).unwrap();
    let lines = log.after(0).next(u64::MAX, 9, 1).unwrap();
    assert!(lines[0].len() <= ENTRY_BYTES_MAX);
    let read: Entry = serde_json::from_slice(&lines[0]).unwrap();
    assert!(
        matches!(read.body, Body::Started(start) if start.estimated_micro_credits == 7 && start.sql.ends_with('…'))
    );
}
