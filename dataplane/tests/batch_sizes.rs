//! How many rows each batch of an answer has, under a row filter: no more follows from it than from the visible rows.

use dataplane::testing::{analyst_id, filtering};
use futures::StreamExt;

use crate::world::{World, world};

const QUERIES: [&str; 3] = [
    "select id from spread",
    "select name::integer as number from spread where name::integer >= 0",
    "select a.id from spread a join spread b on a.id = b.id order by a.id",
];

/// The sizes of the batches that the analyst gets.
async fn sizes(world: &World, sql: &str) -> Vec<usize> {
    let mut answer = world.pipeline.run(world.ask(analyst_id(), sql)).await.unwrap();
    let mut sizes = Vec::new();
    while let Some(batch) = answer.rows.next().await {
        sizes.push(batch.unwrap().num_rows());
    }
    sizes
}

#[tokio::test]
async fn no_batch_tells_how_many_rows_are_hidden_among_its_own() {
    let world = world().await;
    world.run("create table spread (id integer, name varchar, region varchar)").await.unwrap();
    world.change(|rules| rules.policies = vec![filtering("spread", "region = 'EU'")]);
    // each row is visible, then every second one, then one of seven; the last time no hidden name is a number
    for (every, hidden) in [(1, "n"), (2, "n"), (7, "n"), (2, "'x' || n")] {
        world.run("delete from spread").await.unwrap();
        let filled = format!(
            "insert into spread select n, case when n % {every} = 0 then n::varchar else ({hidden})::varchar end, \
             case when n % {every} = 0 then 'EU' else 'US' end from range({}) t(n)",
            5_000 * every
        );
        world.run(&filled).await.unwrap();
        for sql in QUERIES {
            assert_eq!(sizes(&world, sql).await, [2_048, 2_048, 904], "one of {every}: {sql}");
        }
    }
    world.stop().await;
}
