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

/// The engine finds such a row by the key's index, and asks the filter of it alone.
#[tokio::test]
async fn a_row_that_is_asked_for_by_its_key_is_hidden_as_any_other() {
    let world = world().await;
    world.run("create table keyed (id integer primary key, n integer, name varchar)").await.unwrap();
    world.run("insert into keyed values (1, 0, 'a'), (2, 5, 'b'), (3, null, 'c'), (4, 1000, null)").await.unwrap();
    let filters: [(&str, &[i32]); 5] = [
        ("n > 1", &[2, 4]),
        ("n is null or name = 'a'", &[1, 3]),
        ("100 / n > 1", &[2]),
        ("name <> 'b'", &[1, 3]),
        ("n > 1 and id <> 4", &[2]),
    ];
    for (filter, visible) in filters {
        world.change(|rules| rules.policies = vec![filtering("keyed", filter)]);
        for id in 0..6 {
            let rows = world.analyst(&format!("select id from keyed where id = {id}")).await.unwrap().json;
            let count = world.analyst(&format!("select count(*) from keyed where id = {id}")).await.unwrap().json;
            let is_visible = visible.contains(&id);
            let expected = if is_visible { format!("[{id}]") } else { String::new() };
            assert_eq!((rows, count), (expected, format!("[{}]", u8::from(is_visible))), "{filter}: {id}");
        }
    }
    world.stop().await;
}

/// It is said that there are none for them, and not how many there are.
#[tokio::test]
async fn whoever_lacks_an_attribute_is_told_which_one() {
    let world = world().await;
    world.run("create table empty (id integer, name varchar)").await.unwrap();
    let told = |table: &str| format!("no rows of main.{table} for you: a rule needs `segment`, and you have none");
    world.change(|rules| {
        rules.policies =
            vec![filtering("customer", "name = {segment} or id > 1"), filtering("empty", "name = {segment}")];
    });
    for table in ["customer", "empty"] {
        for sql in ["select id from {}", "select id from {} where id = 1", "select t.id from {} t join {} u using (id)"]
        {
            let got = world.analyst(&sql.replace("{}", table)).await.unwrap();
            assert_eq!((got.json.as_str(), got.answer.warnings), ("", vec![told(table)]), "{sql} of {table}");
        }
        let counted = world.analyst(&format!("select count(*) as n from {table}")).await.unwrap();
        assert_eq!((counted.json.as_str(), counted.answer.warnings), ("[0]", vec![told(table)]));
        let owner = world.run(&format!("select count(*) from {table}")).await.unwrap();
        assert!(owner.answer.warnings.is_empty(), "the rule does not hold for them");
    }
    let member = |rules: &mut contract::Governance| {
        rules.members.values_mut().for_each(|member| _ = member.attributes.insert("segment".into(), "Ada".into()));
    };
    world.change(member);
    let got = world.analyst("select name from customer order by 1").await.unwrap();
    assert_eq!((got.json.as_str(), got.answer.warnings), (r#"["Ada"],["Bob"],["Cleo"]"#, vec![]));
    world.stop().await;
}

/// The engine names no column of a statement while a parameter has no type.
#[tokio::test]
async fn columns_keep_their_names_where_a_function_takes_what_the_caller_carries() {
    let world = world().await;
    world.run("create table t (id integer, region varchar)").await.unwrap();
    world.run("insert into t values (1, 'EU'), (2, 'US')").await.unwrap();
    for filter in ["md5(region) = md5({region})", "lower(region) = lower({region})", "region = concat({region}, '')"] {
        world.change(|rules| rules.policies = vec![filtering("t", filter)]);
        let got = world.analyst("select id as a from t").await.unwrap();
        let column = &got.answer.columns[0];
        assert_eq!((column.name.as_str(), column.type_name.as_str()), ("a", "INTEGER"), "{filter}");
        assert_eq!(got.json, "[1]", "{filter}");
    }
    world.stop().await;
}

/// A part of a filter that can fail stands in TRY, and what the caller carries in it.
#[tokio::test]
async fn a_table_is_written_whatever_its_filter_tries() {
    let world = world().await;
    world.run("create table t (id integer, region varchar, note varchar)").await.unwrap();
    world.run("create table picked (id integer)").await.unwrap();
    world.run("insert into picked values (1)").await.unwrap();
    for filter in [
        "coalesce(region, '') = {region}",
        "note::integer > 5 or region = {region}",
        "concat(region, '') = {region} and (id = 9 or repeat(region, 1) = {region})",
    ] {
        world.change(|rules| rules.policies.clear());
        world.run("delete from t").await.unwrap();
        world.run("insert into t values (1, 'EU', 'a'), (2, 'US', 'b')").await.unwrap();
        world.change(|rules| {
            rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer;
            rules.policies = vec![filtering("t", filter)];
        });
        for sql in [
            "insert into t values (3, 'EU', 'abc')",
            "update t set note = 'x'",
            "update t set region = 'EU' where id = 1",
            "delete from t where id = 3",
            "update picked set id = t.id from t where t.id = picked.id",
            "merge into picked p using t on t.id = p.id when matched then update set id = p.id",
        ] {
            world.analyst(sql).await.unwrap_or_else(|error| panic!("{filter}: {sql}: {error}"));
        }
        assert!(world.analyst("update t set region = 'US'").await.is_err(), "{filter}");
        world.change(|rules| rules.policies.clear());
        let got = world.run("select * from t order by id").await.unwrap();
        assert_eq!(got.json, r#"[1,"EU","x"],[2,"US","b"]"#, "{filter}");
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

/// The engine joins a filter's own tables, and goes through the smaller side; groups and estimates come of the parts in
/// which it reads.
#[tokio::test]
async fn kept_rows_come_in_the_order_of_their_table_whatever_is_hidden() {
    let world = world().await;
    world.run("create table access (region varchar)").await.unwrap();
    world.run("insert into access select 'R' || i from range(150) t(i)").await.unwrap();
    for (table, hidden) in [("few", 3), ("many", 100_000)] {
        world.run(&format!("create table {table} (id integer, region varchar)")).await.unwrap();
        world.run(&format!("insert into {table} select i, 'R' || i from range(40) t(i)")).await.unwrap();
        world.run(&format!("insert into {table} select i, 'US' from range({hidden}) t(i)")).await.unwrap();
    }
    for filter in
        ["region in (select region from access)", "exists (select 1 from access a where a.region = {table}.region)"]
    {
        world.change(|rules| {
            rules.policies = ["few", "many"].map(|table| filtering(table, &filter.replace("{table}", table))).to_vec();
        });
        for table in ["few", "many"] {
            let first = world.analyst(&format!("select id from {table} limit 5")).await.unwrap();
            assert_eq!(first.json, "[0],[1],[2],[3],[4]", "{table}: {filter}");
        }
    }
    world.stop().await;
}
