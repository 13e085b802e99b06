//! A table with a filter is read and written as any other: a filter that fails on a row hides that row and no more.

use contract::{Code, Role};
use dataplane::testing::filtering;

use crate::world::world;

#[tokio::test]
async fn a_row_on_which_its_filter_fails_is_hidden() {
    let world = world().await;
    world.run("create table t (id integer, n integer, d double, name varchar)").await.unwrap();
    world.run("insert into t values (1, 0, 0, 'a'), (2, 5, 5, '2'), (3, 1000, 1000, '3')").await.unwrap();
    for (filter, ids) in [
        ("100 / n > 1", "[2]"),
        ("100 / d > 1", "[2]"),
        ("100 % n = 0", "[2]"),
        ("mod(100, n) = 100", "[3]"),
        ("not (100 / n > 1)", "[3]"),
        ("coalesce(100 / n > 1, true)", "[2]"),
        ("100 / n is null or id = 1", "[1]"),
        ("case when 100 / n > 1 then name = '2' else true end", "[2],[3]"),
        ("name::integer > 0", "[2],[3]"),
        ("id = 1 or 100 / n > 1 or repeat(name, 2) = '33'", "[1],[2],[3]"),
    ] {
        world.change(|rules| rules.policies = vec![filtering("t", filter)]);
        let got = world.analyst("select id from t order by id").await;
        assert_eq!(got.map(|got| got.json).map_err(|error| error.to_string()), Ok(ids.to_owned()), "{filter}");
        let filtered = world.analyst("select id from t where id < 100 and name <> 'x' order by id").await;
        assert_eq!(filtered.unwrap().json, ids, "{filter}");
    }
    world.stop().await;
}

/// What an ungoverned table takes, one with a filter takes too, and as many values as there are columns.
#[tokio::test]
async fn a_filtered_table_takes_the_rows_that_an_ungoverned_one_takes() {
    let world = world().await;
    world.run("create table t (id integer, region varchar, note varchar default 'none')").await.unwrap();
    world.change(|rules| {
        rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer;
        rules.policies = vec![filtering("t", "region = {region}")];
    });
    for sql in [
        "insert into t values (1, 'EU', 'a', 'too many')",
        "insert into t values (1, 'EU')",
        "insert into t (id, region) select 1, 'EU', 'too many'",
        "insert into t values (1, 'EU', 'a'), (2, 'EU')",
    ] {
        assert_eq!(world.analyst(sql).await.unwrap_err().code(), Code::BadSql, "{sql}");
    }
    for sql in [
        "insert into t values (1, 'EU', 'a'), ('2', 'EU', 5)",
        "insert into t values (3, 'EU', default)",
        "insert into t (region, id) select 'EU', 4",
    ] {
        world.analyst(sql).await.unwrap();
    }
    let got = world.run("select * from t order by id").await.unwrap();
    assert_eq!(got.json, r#"[1,"EU","a"],[2,"EU","5"],[3,"EU","none"],[4,"EU","none"]"#);
    world.stop().await;
}
