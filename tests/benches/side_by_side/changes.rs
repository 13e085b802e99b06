//! The cost of a change: a statement behind a definition in its transaction, and one row that is written.

use std::time::Instant;

use crate::amounts::Amounts;
use crate::figures::{self, Figures};
use crate::goals::{Bound, Goals};
use crate::sides::{Caller, Sides, point};
use crate::ways;

pub async fn print(sides: &Sides, amounts: &Amounts, goals: &mut Goals) {
    figures::table("Changes, medians", &["what", "before, or direct", "after, or governed, pgwire"]);
    let (before, after) = around_a_definition(sides, amounts).await;
    let (direct, governed) = one_row(sides, amounts).await;
    for (what, [first, second]) in
        [("a row by its key, around a definition", [&before, &after]), ("one row inserted", [&direct, &governed])]
    {
        let [first, second] = [first, second].map(Figures::median);
        figures::row(&[what.to_owned(), figures::ms(first), figures::against(second, first)]);
    }
    let ratio = |of: &Figures, to: &Figures| figures::ratio(of.median(), to.median());
    let bound = Bound::AtMost(2.0, None);
    goals.add("a statement after a definition in its transaction ÷ before", ratio(&after, &before), bound);
    let bound = Bound::AtMost(3.0, Some(2.0));
    goals.add("one row inserted ÷ direct, which syncs too", ratio(&governed, &direct), bound);
}

/// In one transaction of a client.
async fn around_a_definition(sides: &Sides, amounts: &Amounts) -> (Figures, Figures) {
    let client = sides.pgwire(Caller::Owner);
    client.batch_execute("begin").await.unwrap();
    let before = lookups(sides, amounts).await;
    client.batch_execute("create table made_within (i bigint)").await.unwrap();
    let after = lookups(sides, amounts).await;
    client.batch_execute("rollback").await.unwrap();
    (before, after)
}

async fn lookups(sides: &Sides, amounts: &Amounts) -> Figures {
    let mut figures = Figures::default();
    for round in 0..amounts.changes {
        let began = Instant::now();
        assert_eq!(ways::binary(sides.pgwire(Caller::Owner), &point(amounts.points, round)).await, 1);
        figures.add(began.elapsed());
    }
    figures
}

/// Each its own transaction; the sides take turns, since both wait for the same disk.
async fn one_row(sides: &Sides, amounts: &Amounts) -> (Figures, Figures) {
    let table = "create table small (id bigint, name varchar)";
    sides.direct.execute_batch(table).unwrap();
    let client = sides.pgwire(Caller::Owner);
    client.batch_execute(table).await.unwrap();
    let (mut direct, mut governed) = (Figures::default(), Figures::default());
    for round in 0..amounts.changes {
        let sql = format!("insert into small values ({round}, 'name {round}')");
        let began = Instant::now();
        sides.direct.execute_batch(&sql).unwrap();
        direct.add(began.elapsed());
        let began = Instant::now();
        client.batch_execute(&sql).await.unwrap();
        governed.add(began.elapsed());
    }
    (direct, governed)
}
