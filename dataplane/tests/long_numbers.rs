//! Long numbers under a row filter: those of visible rows decide how a query is run, and hidden ones decide nothing.

use dataplane::testing::filtering;

use crate::world::{World, world};

const QUERIES: [&str; 6] = [
    "select p.id from priced p join other o on o.id = p.id where p.price * p.price > 5",
    "select sum(p.price * p.pieces) < (select sum(p.price * p.pieces) * 10000.00001 from priced p) as is_less \
     from priced p join other o on o.id = p.id",
    "select p.id, sum(p.price * p.pieces) as total from priced p join other o on o.id = p.id group by p.id \
     having sum(p.price * p.pieces) < (select sum(p.price * p.pieces) * 10000.00001 from priced p)",
    "select p.id, sum(p.price * p.pieces * 10000) over (order by p.id) as so_far from priced p \
     join other o on o.id = p.id where p.price * p.price > 5",
    "select a.id from priced a join priced b on a.id = b.id where a.price * b.price > 5 order by a.id limit 1",
    "select x.id from (select p.id, p.price from priced p join other o on o.id = p.id) x where x.price * x.price > 5",
];

const LONGEST: &str = "9999999999999.99, 9223372036854775807";

/// The answers to all queries where these are the visible row and the hidden one.
async fn answers(world: &World, visible: &str, hidden: Option<&str>) -> Vec<Result<String, String>> {
    world.run("delete from priced").await.unwrap();
    world.run(&format!("insert into priced values (1, {visible}, 'EU')")).await.unwrap();
    if let Some(hidden) = hidden {
        world.run(&format!("insert into priced values (2, {hidden}, 'US'), (3, {hidden}, 'US')")).await.unwrap();
    }
    let mut answers = Vec::new();
    for sql in QUERIES {
        let answer = world.analyst(sql).await;
        answers.push(answer.map(|got| got.json).map_err(|error| error.to_string()));
    }
    answers
}

#[tokio::test]
async fn no_long_number_that_is_hidden_decides_how_a_query_ends() {
    let world = world().await;
    world.run("create table priced (id integer, price decimal(15,2), pieces bigint, region varchar)").await.unwrap();
    world.run("create table other (id integer)").await.unwrap();
    world.run("insert into other values (1), (2), (3)").await.unwrap();
    world.change(|rules| rules.policies = vec![filtering("priced", "region = 'EU'")]);
    for (visible, is_answered) in [("2.50, 4", true), ("2000000.00, 1000000", true), (LONGEST, false)] {
        let alone = answers(&world, visible, None).await;
        assert!(alone.iter().all(|answer| answer.is_ok() == is_answered), "{visible}: {alone:?}");
        for hidden in ["1.00, 1", "2000000.00, 1000000", LONGEST] {
            assert_eq!(answers(&world, visible, Some(hidden)).await, alone, "{visible}, and hidden {hidden}");
        }
    }
    world.stop().await;
}

/// The plan of a text is kept; the numbers of its tables are not.
#[tokio::test]
async fn a_kept_plan_asks_visible_rows_each_time() {
    let world = world().await;
    world.run("create table priced (id integer, price decimal(15,2), pieces bigint, region varchar)").await.unwrap();
    world.run("create table other (id integer)").await.unwrap();
    world.run("insert into other values (1)").await.unwrap();
    world.change(|rules| rules.policies = vec![filtering("priced", "region = 'EU'")]);
    let short = answers(&world, "2.50, 4", None).await;
    let long = answers(&world, LONGEST, None).await;
    assert_ne!(short, long);
    assert_eq!(answers(&world, "2.50, 4", Some(LONGEST)).await, short);
    assert_eq!(answers(&world, LONGEST, Some("2.50, 4")).await, long);
    world.stop().await;
}
