//! A text that is written into a column of a length: error 22001 where it is longer, whichever way it is written.

use contract::Code;
use contract::policy::MaskFunction;
use dataplane::testing::{filtering, masking};

use crate::copy::into;
use crate::pgwire::{simple, wired};
use crate::world::{World, world};

/// What it answers, or what its error says.
async fn said(world: &World, sql: &str) -> String {
    match world.run(sql).await {
        Ok(answer) => format!("[{}]", answer.json),
        Err(error) if error.code() == Code::TextTooLong => error.to_string(),
        Err(error) => panic!("{sql}: {error}"),
    }
}

const TOO_LONG: &str = "value too long for type character varying(3)";

#[tokio::test]
async fn a_longer_text_is_refused_by_every_statement_that_writes() {
    let world = world().await;
    for sql in [
        "create table c (k integer primary key, a varchar(3), b varchar)",
        "insert into c values (1, 'abc', 'abcdef'), (2, null, 'x'), (3, 'äöü', 'y')",
        "insert into c select 4, 12, 'z'",
        "create table source (a varchar)",
        "insert into source values ('long one')",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for sql in [
        "insert into c values (9, 'abcd', null)",
        "insert into c (a, k) values ('abc', 8), ('abcd', 9)",
        "insert into c (k, a) select 9, a from source",
        "insert into c select 9, a, a from source union all select 10, 'x', 'y'",
        "insert into c (k, a) with w as (select * from source) select 9, a from w limit 1",
        "insert into c (k, a) select 9, 1234",
        "insert into c (k, a) select 9, uuid_string()",
        "insert into c (k, a) values (9, uuid_string())",
        "insert into c values (1, 'x', 'y') on conflict (k) do update set a = 'abcd'",
        "insert overwrite into c select 1, 'abcd', 'x'",
        "insert all when k > 0 then into c (k, a) values (k, b) select 9 as k, 'abcd' as b",
        "update c set a = b where k = 1",
        "update c set a = a || 'x', b = 'y' where k = 3",
        "update c set a = source.a from source where k = 1",
        "merge into c using source on c.k = 1 when matched then update set a = source.a",
        "merge into c using source on c.k = 99 when not matched then insert (k, a) values (9, source.a)",
        "create table d (a varchar(3)) as select a from source",
        "alter table c alter column b set data type varchar(3)",
    ] {
        assert_eq!(said(&world, sql).await, TOO_LONG, "{sql}");
    }
    let rows = said(&world, "select k, a, b from c order by k").await;
    assert_eq!(rows, r#"[[1,"abc","abcdef"],[2,null,"x"],[3,"äöü","y"],[4,"12","z"]]"#);
    for sql in [
        "update c set b = 'a long text', a = left(b, 3) where k = 1",
        "merge into c using source on c.k = 1 when matched then update set a = left(source.a, 3)",
        "alter table c alter column a set data type varchar(8)",
        "update c set a = 'long one' where k = 1",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    world.stop().await;
}

#[tokio::test]
async fn a_length_goes_where_its_column_goes_and_is_shown() {
    let world = world().await;
    for sql in [
        "create table c (a varchar(3) comment 'a code', b char, t text, v varchar comment 'any')",
        "comment on column c.a is 'a short code'",
        "alter table c rename column a to z",
        "alter table c rename to d",
        "alter table d add column x varchar(3)",
        "create table cloned clone d",
        "create table alike like d",
        "create table made as select z as y, x || x as w from d",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for sql in [
        "insert into d (z) values ('abcd')",
        "insert into d (x) values ('abcd')",
        "insert into cloned (z) values ('abcd')",
        "insert into alike (z) values ('abcd')",
        "insert into made (y) values ('abcd')",
    ] {
        assert_eq!(said(&world, sql).await, TOO_LONG, "{sql}");
    }
    assert_eq!(said(&world, "insert into made (w) values ('abcdefgh')").await, "[]");
    for (sql, told) in [
        (
            "select column_name, character_maximum_length, comment from information_schema.columns \
             where table_name = 'd' order by ordinal_position",
            r#"[["z",3,"a short code"],["b",1,null],["t",16777216,null],["v",16777216,"any"],["x",3,null]]"#,
        ),
        (
            "select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'd'::regclass and attnum > 0 \
             order by attnum",
            r#"[["character varying(3)"],["character varying(1)"],["text"],["character varying"],["character varying(3)"]]"#,
        ),
        ("select col_description('d'::regclass, 1)", r#"[["a short code"]]"#),
    ] {
        assert_eq!(said(&world, sql).await, told, "{sql}");
    }
    assert!(said(&world, "describe table d").await.contains("VARCHAR(3)"));
    world.stop().await;
}

#[tokio::test]
async fn what_a_caller_does_not_see_is_not_measured() {
    let world = world().await;
    world.run("create table c (a varchar(4))").await.unwrap();
    world.change(|rules| {
        rules.members.get_mut(&"u-analyst".into()).unwrap().role = contract::Role::Developer;
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    // a mask is as long as it is shown, and hidden rows are not looked at
    world.analyst("insert into c select ssn from customer").await.unwrap();
    assert_eq!(said(&world, "select distinct a from c").await, r#"[["***"]]"#);
    world.stop().await;
}

#[tokio::test]
async fn a_copy_holds_its_rows_to_it() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create table c (k integer, a varchar(3))").await;
    assert_eq!(into(&client, "copy c from stdin", &[b"1\tabc\n2\t\\N\n"]).await.unwrap(), 2);
    let error = into(&client, "copy c from stdin", &[b"3\tabc\n4\tabcd\n"]).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "22001");
    assert_eq!(simple(&client, "select count(*) from c").await, ["2", "(1)"]);
    let prepared = client.prepare("insert into c values ($1, $2)").await.unwrap();
    let error = client.execute(&prepared, &[&5_i32, &"abcd"]).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "22001");
    assert_eq!(client.execute(&prepared, &[&5_i32, &"abc"]).await.unwrap(), 1);
    wired.stop().await;
}

/// The engine tells the type of no parameter beside one that it leaves open.
#[tokio::test]
async fn a_moment_beside_a_text_of_a_length_is_a_moment() {
    let world = world().await;
    world.run("create table c (k integer, a varchar(3), at timestamptz)").await.unwrap();
    world.run("insert into c values (1, 'x', null)").await.unwrap();
    let written = |sql: &str, values: [&str; 2]| {
        let params = values.map(|value| engine::Value::Text(value.to_owned())).to_vec();
        dataplane::Ask { params, ..world.ask(dataplane::testing::owner_id(), sql) }
    };
    let update = "update c set a = $1, at = $2 where k = 1";
    let described = world.pipeline.describe(&world.ask(dataplane::testing::owner_id(), update)).await.unwrap();
    assert_eq!(described.parameters, ["VARCHAR", "TIMESTAMP WITH TIME ZONE"]);
    world.whole(written(update, ["abc", "2024-02-29 12:34:56.789 +02:00"])).await.unwrap();
    let insert = "insert into c (k, a, at) values (2, $1, $2)";
    world.whole(written(insert, ["y", "2024-02-29 10:34:56.789 +00:00"])).await.unwrap();
    let found = written("select count(*) from c where at = $2 and a <> $1", ["z", "2024-02-29 11:34:56.789 +01"]);
    assert_eq!(world.whole(found).await.unwrap().json, "[2]");
    let long = world.whole(written(update, ["abcd", "2024-02-29 12:34:56 +02:00"])).await.unwrap_err();
    assert_eq!(long.code(), Code::TextTooLong);
    world.stop().await;
}
