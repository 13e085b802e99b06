//! A merge against a model of it: whatever both sides did, on a table with a key, on one whose key was given, and on
//! one without.

use axum::Router;
use dataplane::testing::demo_key;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

use super::{merge, on};
use crate::agents_router::{router, tool};
use crate::memory::done;
use crate::world::{World, world};

/// An act of one side.
#[derive(Debug, Clone, Copy)]
enum Act {
    Put(i64, i64, i64),
    Remove(i64),
}

impl Act {
    /// As SQL, on each of the tables.
    fn sql(self) -> Vec<String> {
        match self {
            Self::Put(k, a, b) => vec![
                format!("delete from keyed where k = {k}"),
                format!("insert into keyed values ({k}, {a}, {b})"),
                format!("delete from given where k = {k}"),
                format!("insert into given values ({a}, {k}, {b})"),
                format!("insert into bag values ({a}, {b})"),
            ],
            Self::Remove(k) => vec![
                format!("delete from keyed where k = {k}"),
                format!("delete from given where k = {k}"),
                format!("delete from bag where a = {k}"),
            ],
        }
    }
}

type Rows = std::collections::BTreeMap<i64, (i64, i64)>;
type Bag = std::collections::BTreeMap<(i64, i64), i64>;

fn done_to(mut rows: Rows, mut bag: Bag, acts: &[Act]) -> (Rows, Bag) {
    for act in acts {
        match act {
            Act::Put(k, a, b) => {
                rows.insert(*k, (*a, *b));
                *bag.entry((*a, *b)).or_default() += 1;
            }
            Act::Remove(k) => {
                rows.remove(k);
                bag.retain(|(a, _), _| a != k);
            }
        }
    }
    (rows, bag)
}

/// Three-way, in the plainest words; `None` where nobody but the strategy can tell.
fn cell(base: i64, ours: i64, theirs: i64, branch_wins: bool) -> i64 {
    match (ours == base, theirs == base) {
        (false, false) if ours == theirs || !branch_wins => ours,
        (_, false) => theirs,
        (_, true) => ours,
    }
}

fn row(
    base: Option<(i64, i64)>,
    ours: Option<(i64, i64)>,
    theirs: Option<(i64, i64)>,
    branch_wins: bool,
) -> Option<(i64, i64)> {
    let winner = if branch_wins { theirs } else { ours };
    match (base, ours, theirs) {
        (base, ours, theirs) if theirs == base || ours == theirs => ours,
        (base, ours, theirs) if ours == base => theirs,
        (Some(base), Some(ours), Some(theirs)) => {
            Some((cell(base.0, ours.0, theirs.0, branch_wins), cell(base.1, ours.1, theirs.1, branch_wins)))
        }
        _ => winner,
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        (0..4_i64, 0..3_i64, 0..3_i64).prop_map(|(k, a, b)| Act::Put(k, a, b)),
        (0..4_i64).prop_map(Act::Remove),
    ];
    prop::collection::vec(act, 0..5)
}

#[test]
fn a_merge_is_what_the_model_says_whatever_both_sides_did() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (world, router) = runtime.block_on(async {
        let world = world().await;
        world.run("create table keyed (k integer primary key, a integer, b integer)").await.unwrap();
        world.run("create table given (a integer, k integer, b integer)").await.unwrap();
        world.run("create table bag (a integer, b integer)").await.unwrap();
        let router = router(&world);
        (world, router)
    });
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    let tried = runner.run(&(acts(), acts(), acts(), any::<bool>()), |(first, ours, theirs, branch_wins)| {
        let (found, expected) = runtime.block_on(tried(&world, &router, (&first, &ours, &theirs), branch_wins));
        if found == expected { Ok(()) } else { Err(TestCaseError::fail(format!("{found:?}, not {expected:?}"))) }
    });
    runtime.block_on(world.stop());
    tried.unwrap();
}

/// Of a table with a key, of one whose key was given, of one without.
type All = (Rows, Rows, Bag);

async fn all(router: &Router) -> All {
    let read = async |sql: &str| {
        let (result, _) = tool(router, demo_key(), "run_sql", json!({"sql": sql})).await;
        let number = |row: &Value, name: &str| row[name].as_i64().unwrap();
        let rows = result["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| (number(row, "k"), (number(row, "a"), number(row, "b")))).collect::<Vec<_>>()
    };
    let keyed = read("select k, a, b from keyed").await;
    let given = read("select k, a, b from given").await;
    assert_eq!(given.len(), keyed.len(), "none is there twice");
    let bag = read("select count(*) as k, a, b from bag group by a, b").await;
    (
        keyed.into_iter().collect(),
        given.into_iter().collect(),
        bag.into_iter().map(|(count, row)| (row, count)).collect(),
    )
}

async fn tried(
    world: &World,
    router: &Router,
    (first, ours, theirs): (&[Act], &[Act], &[Act]),
    branch_wins: bool,
) -> (All, All) {
    for table in ["keyed", "given", "bag"] {
        world.run(&format!("delete from {table}")).await.unwrap();
    }
    for sql in first.iter().flat_map(|act| act.sql()) {
        world.run(&sql).await.unwrap();
    }
    let new = json!({"tables": ["keyed", "given", "bag"], "keys": {"given": ["k"]}});
    let made = done(router, "create_branch", new).await;
    let id = made["branch_id"].as_str().unwrap();
    for sql in ours.iter().flat_map(|act| act.sql()) {
        world.run(&sql).await.unwrap();
    }
    for sql in theirs.iter().flat_map(|act| act.sql()) {
        on(router, id, &sql).await;
    }
    let (expected, is_disputed) = model(first, ours, theirs, branch_wins);
    let before = all(router).await;
    let (strategy, take) = if branch_wins { ("branch_wins", "theirs") } else { ("main_wins", "ours") };
    let merged = merge(router, id, json!({"strategy": strategy})).await;
    assert_eq!(merged["status"], if is_disputed { "conflicts" } else { "completed" }, "{merged}");
    if is_disputed {
        assert_eq!(all(router).await, before, "nothing is merged");
        let conflicts = merged["conflicts"].as_array().unwrap().iter();
        let each = conflicts.map(|one| json!({"conflict_id": one["conflict_id"], "take": take}));
        let resolutions: Vec<_> = each.collect();
        let merged = merge(router, id, json!({"strategy": "manual", "resolutions": resolutions})).await;
        assert_eq!(merged["status"], "completed", "{merged}");
    }
    (all(router).await, expected)
}

/// What it comes to, and whether somebody must decide.
fn model(first: &[Act], ours: &[Act], theirs: &[Act], branch_wins: bool) -> (All, bool) {
    let base = done_to(Rows::new(), Bag::new(), first);
    let one = done_to(base.0.clone(), base.1.clone(), ours);
    let other = done_to(base.0.clone(), base.1.clone(), theirs);
    let keys = [&base.0, &one.0, &other.0].into_iter().flat_map(Rows::keys).copied();
    let rows = keys.filter_map(|key| {
        let of = |rows: &Rows| rows.get(&key).copied();
        Some((key, row(of(&base.0), of(&one.0), of(&other.0), branch_wins)?))
    });
    let rows: Rows = rows.collect();
    let is_disputed = one.1 != base.1 && other.1 != base.1;
    let bag = if one.1 == base.1 || (is_disputed && branch_wins) { other.1 } else { one.1 };
    ((rows.clone(), rows, bag), is_disputed)
}
