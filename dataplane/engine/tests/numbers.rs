//! Tables that the engine's parser finds in a query do not follow its whole numbers: the data plane relies on that.

use crate::world::{never, soon, world};

/// `#` stands where a number may.
const PLACES: [&str; 23] = [
    "select # from raw.main.t",
    "select i from raw.main.t where i = # and j <> -#",
    "select i from raw.main.t limit # offset #",
    "select i from raw.main.t order by # desc",
    "select i, count(*) from raw.main.t group by #",
    "select # + # * # // # % # ^ # from raw.main.t",
    "select i from raw.main.t where i between # and # or i in (#, #, (select max(j) from raw.main.u))",
    "select case # when # then # else # end from raw.main.t",
    "select cast(i as decimal(#, #)) from raw.main.t",
    "select cast('x' as varchar(#)) from raw.main.t",
    "select [#, #][#], [i][#:#] from raw.main.t",
    "select {'a': #}, array_value(#, #) from raw.main.t",
    "select interval # day, interval (#) month, date '2020-01-01' + # from raw.main.t",
    "select sum(i) over (order by j rows between # preceding and # following) from raw.main.t",
    "select sum(i) over (order by j rows # preceding) from raw.main.t",
    "select i from raw.main.t using sample # rows",
    "select i from raw.main.t using sample # percent (bernoulli, #)",
    "select * from (values (#, #), (#, #)) v(a, b), raw.main.t",
    "select * from range(#, #) r(i), raw.main.t",
    "with recursive w(n) as (select # union all select n + # from w where n < #) select n from w, raw.main.t",
    "select exists (select # from raw.main.u where u.j = #), (select # limit #) from raw.main.t",
    "select substring('abc', #, #), round(i, #), list_transform([#], x -> x + #) from raw.main.t",
    "select # as a from raw.main.t union all select # from raw.main.u intersect select #",
];

#[tokio::test]
async fn a_whole_number_changes_nothing_that_the_parser_finds_in_a_query() {
    let world = world().await.made(&["create table t(i int, j int)", "create table u(j int)"]).await;
    let mut compared = 0;
    for place in PLACES {
        let first = world.parsed(&place.replace('#', "1"), soon(), &never()).await;
        let first = first.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert!(first.tables.is_some(), "{place}");
        for number in ["0", "2", "007", "18", "99", "2147483", "999999999"] {
            // Some numbers are refused in some places: such a text does not run either.
            if let Ok(found) = world.parsed(&place.replace('#', number), soon(), &never()).await {
                assert_eq!(found, first, "{place} {number}");
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
    world.stopped().await;
}
