//! Statements whose engine's process ends under them, as it does when somebody else's does not. One whose
//! answer is kept needs no such process.

use std::process::Command;
use std::time::Duration;

use contract::Code;
use dataplane::testing::owner_id;

use crate::world::{World, world};

/// Works for a while, and changes nothing before its end.
const LONG: &str = "select 7 as id, cast(sum(a.n * b.n) as varchar) as total from range(50000) a(n), range(10000) b(n)";

/// What the process has worked, in clock ticks.
fn worked(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().split(' ').nth(12).unwrap().parse().unwrap()
}

/// Ends the engine's process once it is at work.
async fn killed_at_work(world: &World) {
    let process = world.engine_id();
    let before = worked(process);
    while worked(process) < before + 20 {
        tokio::task::yield_now().await;
    }
    signal(process, "-KILL");
}

fn signal(process: u32, name: &str) {
    assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
}

#[tokio::test]
async fn an_answer_that_is_kept_asks_nothing_of_the_engine() {
    let world = world().await;
    world.run("create table kept as select 1 as i").await.unwrap();
    let sql = "select i from kept";
    world.run(sql).await.unwrap();
    let process = world.engine_id();
    signal(process, "-STOP");
    let kept = tokio::time::timeout(Duration::from_secs(20), world.run(sql)).await;
    signal(process, "-CONT");
    let kept = kept.unwrap().unwrap();
    assert_eq!((kept.json.as_str(), kept.answer.cache_hit), ("[1]", true));
    world.stop().await;
}

#[tokio::test]
async fn a_write_is_made_once_in_the_next_process() {
    let world = world().await;
    let insert = format!("insert into customer (id, name) {LONG}");
    let (written, ()) = tokio::join!(world.run(&insert), killed_at_work(&world));
    assert_eq!(written.unwrap().answer.changed, Some(1));
    assert_eq!(world.count("select count(*) from customer where id = 7").await, 1);
    world.stop().await;
}

#[tokio::test]
async fn a_table_is_made_once_in_the_next_process() {
    let world = world().await;
    let create = format!("create table made as {LONG}");
    let (made, ()) = tokio::join!(world.run(&create), killed_at_work(&world));
    made.unwrap();
    assert_eq!(world.count("select count(*) from made").await, 1);
    world.stop().await;
}

#[tokio::test]
async fn a_transaction_is_lost_and_its_client_is_told() {
    let world = world().await;
    let transaction = world.pipeline.begin(world.ask(owner_id(), "").who);
    let asked = |sql: &str| {
        let mut ask = world.ask(owner_id(), sql);
        ask.transaction = Some(transaction.clone());
        world.whole(ask)
    };
    asked("insert into customer (id) values (8)").await.unwrap();
    let (lost, ()) = tokio::join!(asked(&format!("insert into customer (id, name) {LONG}")), killed_at_work(&world));
    assert_eq!(lost.unwrap_err().code(), Code::EngineCrash);
    assert!(transaction.lock().await.commit().await.is_err(), "nobody may think that it was committed");
    assert_eq!(world.count("select count(*) from customer where id in (7, 8)").await, 0);
    world.stop().await;
}
