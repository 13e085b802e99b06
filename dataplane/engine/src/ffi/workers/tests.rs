//! Workers are there for long statements alone.

use std::path::Path;
use std::sync::Mutex;

use super::*;

#[test]
fn a_long_statement_has_workers_while_it_runs_and_fails_as_a_short_one() {
    let options = ["threads", "external_threads"].map(|name| (name, "2".to_owned()));
    let database = Database::open(Path::new(":memory:"), &options).unwrap();
    database.start_workers(1).unwrap();
    let connection = database.connect().unwrap();
    let is_at_rest = || database.long_runs().running == 0;
    let had_workers = || database.long_runs().ended.take().is_some();
    let long = connection.prepare("select sum(hash(i))::varchar from range(3000000) t(i)").unwrap();
    let mut answers = Vec::new();
    for lazily in [true, false, true] {
        let mut run = long.run(lazily).unwrap();
        assert!(had_workers() && is_at_rest(), "one whose rows nobody reads has none");
        answers.extend(run.next().unwrap());
        assert!(run.next().unwrap().is_none() && is_at_rest(), "what has ended has none");
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]) && answers.len() == 3);
    drop(long.run(true).unwrap());
    assert!(is_at_rest(), "what is given up has none");
    for rows in [2, 3_000_000] {
        let sql =
            format!("select max(case when i = {rows} - 1 then cast('x' || i as integer) end) from range({rows}) t(i)");
        let failing = connection.prepare(&sql).unwrap();
        let error = failing.run(false).err().expect("it fails");
        assert!(error.message.contains("Could not convert"), "{error}");
        assert!(is_at_rest());
    }
    let ended = Instant::now();
    let long = LongRuns { ended: Some(ended), ..LongRuns::default() };
    assert!(long.have_workers(ended) && !long.have_workers(ended + LINGER), "the workers wait for more, and rest");
}

fn began_before(elapsed: Duration) -> Beginning {
    let now = Beginning::now();
    Beginning { at: now.at.checked_sub(elapsed).unwrap(), ..now }
}

#[test]
fn a_statement_is_long_by_its_own_processor_time_or_where_it_waits() {
    assert!(!is_long(WAITED / 2, || SHORT / 2), "others had the processors");
    assert!(is_long(WAITED / 2, || SHORT), "its thread had them");
    assert!(is_long(WAITED, || Duration::ZERO) && !is_long(SHORT / 2, || SHORT));
    let began = Beginning::now();
    while thread_time() < began.used + SHORT {
        std::hint::spin_loop();
    }
    assert!(began.is_long() && began_before(WAITED).is_long());
}

#[test]
fn short_statements_whose_tasks_workers_take_let_these_rest() {
    for state in [
        c::duckdb_pending_state_DUCKDB_PENDING_NO_TASKS_AVAILABLE,
        c::duckdb_pending_state_DUCKDB_PENDING_RESULT_NOT_READY,
    ] {
        assert!(goes_on_alone(state, &Beginning::now()) && !goes_on_alone(state, &began_before(WAITED)));
    }
    let options = ["threads", "external_threads"].map(|name| (name, "2".to_owned()));
    let database = Database::open(Path::new(":memory:"), &options).unwrap();
    database.start_workers(1).unwrap();
    let connection = database.connect().unwrap();
    let few = connection.prepare("select i from range(3) t(i)").unwrap();
    for lazily in [true, false] {
        let mut run = few.run(lazily).unwrap();
        database.long_runs().ended = None;
        run.began = began_before(WAITED);
        assert!(run.next().unwrap().is_some());
        assert!(database.long_runs().ended.is_none(), "its rows are made, and read late");
    }
}

/// A function that looks at the workers from inside the one call in which its statement runs, as a checkpoint does.
#[test]
fn one_long_call_has_workers_while_it_goes_on() {
    let options = ["threads", "external_threads"].map(|name| (name, "2".to_owned()));
    let database = Database::open(Path::new(":memory:"), &options).unwrap();
    database.start_workers(1).unwrap();
    let connection = database.connect().unwrap();
    let watch = Arc::new(Mutex::new(WorkerWatch::of(&database)));
    let (looking, looked_at, began) = (Arc::clone(&watch), Arc::clone(&database), Instant::now());
    let looks = move |_: Option<&str>| {
        let [first, second] = [(), ()].map(|()| {
            looking.lock().unwrap().look(began);
            looked_at.long_runs().running
        });
        (second - first).to_string()
    };
    connection.register("looks", Box::new(looks)).unwrap();
    let prepared = connection.prepare("select looks(i::varchar) from range(1) t(i)").unwrap();
    let mut run = prepared.run(true).unwrap();
    let batch = run.next().unwrap().unwrap();
    assert_eq!(arrow::util::display::array_value_to_string(batch.column(0), 0).unwrap(), "1");
    drop(run);
    let workers = |now| {
        watch.lock().unwrap().look(now);
        let long = database.long_runs();
        (long.running, long.have_workers(now))
    };
    assert_eq!(workers(began), (0, true), "they stay a little longer");
    assert_eq!(workers(Instant::now() + LINGER), (0, false), "and rest");
}

#[test]
fn workers_look_through_the_signals_of_many_short_statements_in_between() {
    let options = ["threads", "external_threads"].map(|name| (name, "2".to_owned()));
    let database = Database::open(Path::new(":memory:"), &options).unwrap();
    database.start_workers(1).unwrap();
    let mut watch = WorkerWatch { turns: TURNS_MAX - 2, ..WorkerWatch::of(&database) };
    let mut workers = |now| {
        watch.look(now);
        let long = database.long_runs();
        (long.running, long.have_workers(now))
    };
    let now = Instant::now();
    assert_eq!(workers(now), (0, false));
    drop(database.connect().unwrap());
    let connection = database.connect().unwrap();
    drop(connection.calls.begin());
    assert_eq!(workers(now), (1, true));
    assert_eq!(workers(now), (0, true));
    let later = Instant::now() + LINGER;
    assert_eq!(workers(later), (0, false));
    assert_eq!(workers(later), (0, false), "and not soon again");
}
