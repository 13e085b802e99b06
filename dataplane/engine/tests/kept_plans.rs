//! Statements that a session keeps prepared answer as those that are planned anew, whatever has happened since.

use engine::{Kind, Outcome, PlanSource, Session, Statement, Value};

use crate::world::{World, answer, lines, never, queried, read, soon, world, write};

/// More runs than it takes to keep a plan on a machine that has other things to do.
const RUNS: usize = 1_000;

/// What a query answers, sorted, and where its plan was from.
async fn asked(session: &mut Session, sql: &str) -> (String, Option<PlanSource>) {
    let rows = session.query(read(sql), None, soon(), &never()).await.unwrap().unwrap();
    let plan = rows.plan;
    (sorted(&lines(rows).await.unwrap()), plan)
}

fn sorted(text: &str) -> String {
    // A last row of NULL alone is an empty line, which `lines` would leave out.
    let mut lines: Vec<_> = text.split('\n').collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// The same once its plan was kept from before.
async fn by_kept(session: &mut Session, sql: &str) -> String {
    for _ in 0..RUNS {
        if let (answered, Some(PlanSource::Kept)) = asked(session, sql).await {
            return answered;
        }
    }
    panic!("never kept: {sql}");
}

/// The same of a text that nobody has asked before.
async fn anew(session: &mut Session, sql: &str, number: usize) -> String {
    let (answered, plan) = asked(session, &format!("{sql} /* {number} */")).await;
    assert_ne!(plan, Some(PlanSource::Kept));
    answered
}

/// Whose plans hold little.
const KEPT: [&str; 9] = [
    "select 42",
    "select v, s from raw.main.t where id = 3",
    "select id, v from raw.main.t where v is null or v > 90 or s like 'k1%'",
    "select count(*) from raw.main.t",
    "select count(*), count(v), min(v), max(v), sum(v), min(s), max(s) from raw.main.t",
    "select count(*) from raw.main.t where v between 0 and 100 and v not in (1, 2, 3)",
    "select count(*) from raw.main.t where v is not null",
    "select id from raw.main.t where v is not null order by v, id limit 5",
    "select id from raw.main.t where id >= -100 order by id desc limit 3",
];
/// Whose plans may hold much, or follow from what the rows are.
const NOT_KEPT: [&str; 6] = [
    "select v, count(*) from raw.main.t group by v",
    "select count(*) from raw.main.t a join raw.main.t b on a.id = b.v",
    "select count(*) from raw.main.t where id in (select v from raw.main.t)",
    "select distinct v from raw.main.t",
    "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select count(*) from r",
    "select id from raw.main.t order by id limit 2 offset 3",
];
/// What puts rows beyond those that there were, or takes them away.
const CHANGES: [&str; 6] = [
    "insert into t values (-7, -1000000, ''), (1000000, 1000000, 'zz')",
    "insert into t values (2000000, null, null)",
    "update t set v = null, s = 'k1' where id = 3",
    "delete from t where v between 5 and 95",
    "delete from t",
    "insert into t select i + 5000000, i % 97, 'k' || i from range(300000) r(i)",
];

async fn small() -> World {
    world()
        .await
        .made(&[
            "create table t(id integer primary key, v integer, s varchar)",
            "insert into t select i, i % 97, 'k' || i from range(200) r(i)",
        ])
        .await
}

#[tokio::test]
async fn a_kept_plan_answers_as_one_that_is_made_anew() {
    let world = small().await;
    let (mut session, mut other) = (world.session().await.unwrap(), world.session().await.unwrap());
    for sql in KEPT {
        assert_eq!(by_kept(&mut session, sql).await, anew(&mut other, sql, 0).await, "{sql}");
    }
    for (number, change) in (1..).zip(CHANGES) {
        write(&mut world.session().await.unwrap(), change).await.unwrap();
        for sql in KEPT {
            // Of the many rows at last some may take too long to be kept.
            let (answered, _) = asked(&mut session, sql).await;
            assert_eq!(answered, anew(&mut other, sql, number).await, "{sql} behind {change}");
        }
        for sql in NOT_KEPT {
            let (answered, plan) = asked(&mut session, sql).await;
            assert_ne!(plan, Some(PlanSource::Kept), "{sql}");
            assert_eq!(answered, anew(&mut other, sql, number).await, "{sql} behind {change}");
        }
    }
    world.stopped().await;
}

#[tokio::test]
async fn a_plan_that_was_made_over_no_rows_finds_those_that_came() {
    let world = world().await.made(&["create table t(id integer primary key, v integer, s varchar)"]).await;
    let (mut session, mut other) = (world.session().await.unwrap(), world.session().await.unwrap());
    for sql in KEPT {
        by_kept(&mut session, sql).await;
    }
    for change in CHANGES {
        write(&mut world.session().await.unwrap(), change).await.unwrap();
    }
    for (number, sql) in KEPT.into_iter().enumerate() {
        assert_eq!(asked(&mut session, sql).await.0, anew(&mut other, sql, number).await, "{sql}");
    }
    world.stopped().await;
}

#[tokio::test]
async fn no_plan_outlives_a_definition_of_anybody() {
    let world = small().await;
    let mut session = world.session().await.unwrap();
    let sql = "select * from raw.main.t where id = 3";
    for (defined, expected) in [
        ("alter table t add column more integer default 8", "3 3 k3 8"),
        ("alter table t alter column v type varchar using 'v' || v", "3 v3 k3 8"),
        ("create or replace table t as select 3 as id, true as other", "3 true"),
        ("create index by_id on t(id)", "3 true"),
    ] {
        let before = by_kept(&mut session, sql).await;
        write(&mut world.session().await.unwrap(), defined).await.unwrap();
        assert_eq!(
            asked(&mut session, sql).await,
            (expected.to_owned(), Some(PlanSource::Made)),
            "{before}: {defined}"
        );
    }
    by_kept(&mut session, sql).await;
    let mut defining = world.session().await.unwrap();
    defining.begin().await.unwrap();
    write(&mut defining, "drop table t").await.unwrap();
    assert_eq!(by_kept(&mut session, sql).await, "3 true", "it is not committed");
    defining.commit().await.unwrap();
    assert_eq!(queried(&mut session, sql).await.unwrap_err().kind, Kind::CatalogMissing);
    world.stopped().await;
}

#[tokio::test]
async fn an_explain_of_anybody_leaves_plans_where_they_are() {
    let world = world().await;
    let (mut session, mut other) = (world.session().await.unwrap(), world.session().await.unwrap());
    let (mut runs, mut stays) = (0, false);
    while !stays && runs < RUNS {
        by_kept(&mut session, "select 42").await;
        queried(&mut other, "explain select 1").await.unwrap();
        stays = asked(&mut session, "select 42").await.1 == Some(PlanSource::Kept);
        runs += 1;
    }
    assert!(stays, "each one took it away");
    world.stopped().await;
}

#[tokio::test]
async fn nothing_of_its_moment_is_in_a_kept_plan() {
    let world = world().await.made(&["create sequence numbers"]).await;
    let mut session = world.session().await.unwrap();
    for sql in
        ["select epoch_us(now())", "select epoch_us(current_timestamp)", "select random()", "select gen_random_uuid()"]
    {
        let mut answers = Vec::new();
        for _ in 0..6 {
            answers.push(asked(&mut session, sql).await.0);
        }
        let count = answers.len();
        answers.sort_unstable();
        answers.dedup();
        assert_eq!(answers.len(), count, "{sql}: {answers:?}");
    }
    world.stopped().await;
}

/// Runs a write in a transaction of its own; says where its plan was from.
async fn written(session: &mut Session, sql: &str, params: &[Value]) -> Result<Option<PlanSource>, engine::Error> {
    let statement = Statement { params: params.to_vec(), writes: true, ..read(sql) };
    let outcome = session.begin_by(statement, None, soon(), &never()).await?;
    let Some(Outcome::Changed { rows: 1, plan, .. }) = outcome else { panic!("not one row: {sql}") };
    session.commit().await?;
    Ok(plan)
}

#[tokio::test]
async fn a_kept_insert_writes_what_it_is_given_and_what_the_moment_says() {
    let world = world()
        .await
        .made(&[
            "create sequence numbers",
            "create table t(id integer primary key, s varchar, made timestamptz default now(), \
             number bigint default nextval('numbers'), drawn double default random())",
        ])
        .await;
    let mut session = world.session().await.unwrap();
    let sql = "INSERT INTO raw.main.t (id, s) VALUES ($1, $2)";
    let mut ids = 0..;
    let mut insert = async |session: &mut Session, text: Value| {
        let id = ids.next().unwrap();
        written(session, sql, &[Value::BigInt(id), text]).await.map(|plan| (id, plan))
    };
    let mut rows = 0;
    loop {
        let (id, plan) = insert(&mut session, Value::Text(format!("text {rows}"))).await.unwrap();
        rows = id + 1;
        if plan == Some(PlanSource::Kept) && rows > 6 {
            break;
        }
        assert!(rows < 1_000, "never kept");
    }
    insert(&mut session, Value::Null).await.unwrap();
    rows += 1;
    let all = "select count(*), count(distinct id), count(s), count(distinct made), count(distinct number), \
               count(distinct drawn) from raw.main.t";
    let expected = format!("{rows} {rows} {} {rows} {rows} {rows}", rows - 1);
    assert_eq!(queried(&mut session, all).await.as_deref(), Ok(expected.as_str()));
    let error = written(&mut session, sql, &[Value::BigInt(0), Value::Null]).await.unwrap_err();
    assert_eq!(error.kind, Kind::Constraint);
    let error = written(&mut session, sql, &[Value::BigInt(-1)]).await.unwrap_err();
    assert_eq!(error.kind, Kind::InvalidInput, "a parameter is missing");
    world.stopped().await;
}

#[tokio::test]
async fn whole_numbers_of_an_insert_are_what_they_are_in_columns_of_each_width() {
    let world = world().await.made(&["create table t(a tinyint, b smallint, c integer, d bigint, e double)"]).await;
    let mut session = world.session().await.unwrap();
    let sql = "INSERT INTO raw.main.t VALUES ($1, $2, $3, $4, $5)";
    for whole in [0, 1, -128, 127, 3, 4] {
        let values =
            [Value::BigInt(whole), Value::BigInt(whole), Value::BigInt(whole), Value::BigInt(whole), Value::Null];
        written(&mut session, sql, &values).await.unwrap();
    }
    let wide = [i64::from(i8::MAX), i64::from(i16::MIN), i64::from(i32::MAX), i64::MIN, 1 << 40].map(Value::BigInt);
    written(&mut session, sql, &wide).await.unwrap();
    let all = "select min(a), max(a), min(b), max(c), min(d), max(e), count(*) from raw.main.t";
    let expected = "-128 127 -32768 2147483647 -9223372036854775808 1099511627776.0 7";
    assert_eq!(queried(&mut session, all).await.as_deref(), Ok(expected));
    for place in 0..3 {
        let mut values = [0, 0, 0, 0, 0].map(Value::BigInt);
        values[place] = Value::BigInt(1 << 32);
        let error = written(&mut session, sql, &values).await.unwrap_err();
        assert!(matches!(error.kind, Kind::Conversion | Kind::OutOfRange), "column {place}: {error}");
    }
    world.stopped().await;
}

/// The engine computes these as it plans, and not at each run.
#[tokio::test]
async fn the_local_time_and_an_age_are_of_each_run() {
    let world =
        world().await.made(&["create table t(id integer, made timestamp default current_localtimestamp())"]).await;
    let mut session = world.session().await.unwrap();
    for sql in [
        "select current_localtimestamp()",
        "select localtimestamp",
        "select current_localtime()",
        "select age(timestamp '2020-01-01')::varchar",
        "select id from raw.main.t where id = 1",
    ] {
        for _ in 0..6 {
            assert_ne!(asked(&mut session, sql).await.1, Some(PlanSource::Kept), "{sql}");
        }
    }
    for id in 0..6 {
        let sql = "INSERT INTO raw.main.t (id) VALUES ($1)";
        let plan = written(&mut session, sql, &[Value::BigInt(id)]).await.unwrap();
        assert_ne!(plan, Some(PlanSource::Kept));
    }
    let distinct = queried(&mut session, "select count(distinct made) from raw.main.t").await;
    assert_eq!(distinct.as_deref(), Ok("6"));
    write(&mut world.session().await.unwrap(), "drop table t").await.unwrap();
    by_kept(&mut session, "select 42").await;
    world.stopped().await;
}

#[tokio::test]
async fn a_kept_plan_sees_the_transaction_it_runs_in() {
    let world = small().await;
    let mut session = world.session().await.unwrap();
    let sql = "select count(*) from raw.main.t";
    assert_eq!(by_kept(&mut session, sql).await, "200");
    session.begin().await.unwrap();
    write(&mut world.session().await.unwrap(), "insert into t values (777, 1, 'x')").await.unwrap();
    assert_eq!(answer(&mut session, sql, &[]).await.unwrap(), "200", "of others since it began");
    write(&mut session, "insert into t values (888, 1, 'x'), (889, null, null)").await.unwrap();
    assert_eq!(answer(&mut session, sql, &[]).await.unwrap(), "202", "of its own");
    session.rollback().await.unwrap();
    assert_eq!(queried(&mut session, sql).await.unwrap(), "201");
    world.stopped().await;
}

#[tokio::test]
async fn a_session_with_anything_of_its_own_keeps_no_plan() {
    let world = small().await;
    for own in ["create temp table mine as select 1 as x", "set variable mine = 7", "set search_path = 'temp'"] {
        let mut session = world.session().await.unwrap();
        by_kept(&mut session, "select 42").await;
        write(&mut session, own).await.unwrap();
        for _ in 0..4 {
            let answered = asked(&mut session, "select 42").await;
            assert_eq!(answered, ("42".to_owned(), Some(PlanSource::NotKept)), "{own}");
        }
    }
    world.stopped().await;
}

#[tokio::test]
async fn no_more_plans_are_kept_than_there_are_places() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    by_kept(&mut session, "select 'first'").await;
    for number in 0..40 {
        by_kept(&mut session, &format!("select {number}")).await;
    }
    assert_eq!(asked(&mut session, "select 'first'").await.1, Some(PlanSource::Made));
    world.stopped().await;
}

/// With that rule of the optimizer a kept plan would follow from the values that there were.
#[tokio::test]
async fn the_rules_of_the_optimizer_stay_as_they_are() {
    let world = world().await;
    let setting = "select current_setting('disabled_optimizers')";
    let before = world.answer(setting).await.unwrap();
    assert!(before.split(',').any(|rule| rule.trim() == "statistics_propagation"), "{before}");
    for sql in [
        "set disabled_optimizers = ''",
        "set global disabled_optimizers = ''",
        "set session disabled_optimizers = ''",
        "reset disabled_optimizers",
        "set lock_configuration = false",
    ] {
        let mut session = world.session().await.unwrap();
        assert!(write(&mut session, sql).await.is_err(), "{sql}");
        assert_eq!(world.answer(setting).await.as_deref(), Ok(before.as_str()), "{sql}");
    }
    world.stopped().await;
}
