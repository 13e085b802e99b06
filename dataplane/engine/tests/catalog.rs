//! The catalog, and the engine's reading of a statement.

use engine::{DefinitionKind, Kind, Outcome};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::world::{World, in_folder, never, read, soon, world, write};

#[tokio::test]
async fn tables_are_listed_with_their_columns_and_ours_are_not() {
    let world = world()
        .await
        .made(&[
            "create schema sales",
            "create table sales.orders(id bigint primary key, total decimal(12,2) not null, \"at\" timestamptz, \
             unique (\"at\", total), unique (total), check (id < total))",
        ])
        .await;
    let catalog = world.catalog().await.unwrap();
    assert_eq!(catalog.schemas, ["main", "sales"]);
    assert_eq!(catalog.tables.len(), 1);
    let orders = catalog.table("SALES", "Orders").unwrap();
    let columns: Vec<_> = orders.columns.iter().map(|c| format!("{} {} {}", c.name, c.type_name, c.nullable)).collect();
    assert_eq!(columns, ["id BIGINT false", "total DECIMAL(12,2) false", "at TIMESTAMP WITH TIME ZONE true"]);
    assert_eq!(orders.primary_key, ["id"]);
    assert_eq!(orders.unique, [&["at", "total"][..], &["total"]]);
    assert_eq!(orders.checks, [["id", "total"]]);
}

#[tokio::test]
async fn a_sequence_of_ours_is_told_with_the_one_column_that_counts_by_it() {
    let world = world()
        .await
        .made(&[
            "create sequence raw.main._svc_one",
            "create sequence raw.main._svc_two",
            "create sequence raw.main.theirs",
            "create table a (i int default nextval('\"raw\".\"main\".\"_svc_one\"'))",
            "create table b (i int default nextval('\"raw\".\"main\".\"_svc_two\"'))",
            "create table c (i int default (nextval('\"raw\".\"main\".\"_svc_two\"')))",
            "create table d (i int default nextval('\"raw\".\"main\".\"theirs\"'))",
        ])
        .await;
    let catalog = world.catalog().await.unwrap();
    let told = catalog.tables.iter().flat_map(|table| {
        table.counters.iter().map(|counter| format!("{}.{} {}", table.name, counter.column, counter.sequence))
    });
    assert_eq!(told.collect::<Vec<_>>(), ["a.i _svc_one"]);
}

#[tokio::test]
async fn a_function_is_listed_whichever_process_has_made_it() {
    let functions = async |world: &World| {
        let catalog = world.catalog().await.unwrap();
        let functions = catalog.definitions.iter().filter(|one| one.kind == DefinitionKind::Function);
        functions.map(|one| one.name.clone()).collect::<Vec<_>>()
    };
    let world = world().await;
    assert!(functions(&world).await.is_empty());
    let mut session = world.session().await.unwrap();
    write(&mut session, "create table t(i int)").await.unwrap();
    assert!(functions(&world).await.is_empty());
    write(&mut session, "Create Macro twice(x) as 2 * x").await.unwrap();
    assert_eq!(functions(&world).await, ["twice"]);
    drop(session);
    let world = in_folder(world.stopped().await).await;
    assert_eq!(functions(&world).await, ["twice"]);
    let mut session = world.session().await.unwrap();
    write(&mut session, "create function thrice(x) as 3 * x").await.unwrap();
    assert_eq!(functions(&world).await, ["thrice", "twice"]);
    write(&mut session, "drop function twice").await.unwrap();
    assert_eq!(functions(&world).await, ["thrice"]);
}

#[tokio::test]
async fn a_function_is_listed_after_a_transaction_did_not_drop_it() {
    let world = world().await.made(&["create schema sales", "create macro sales.twice(x) as 2 * x"]).await;
    let world = in_folder(world.stopped().await).await; // who looks first here is in that transaction
    let mut session = world.session().await.unwrap();
    session.begin().await.unwrap();
    write(&mut session, "drop schema sales cascade").await.unwrap();
    assert!(session.catalog().await.unwrap().definitions.is_empty());
    session.rollback().await.unwrap();
    assert_eq!(world.catalog().await.unwrap().definitions.len(), 1);
}

#[tokio::test]
async fn a_definition_shows_when_it_is_committed() {
    let world = world().await;
    assert!(world.catalog().await.unwrap().tables.is_empty());
    let version = world.schema_version();
    let mut session = world.session().await.unwrap();
    session.begin().await.unwrap();
    write(&mut session, "create table t as select i from range(10) r(i)").await.unwrap();
    assert!(world.catalog().await.unwrap().tables.is_empty());
    session.commit().await.unwrap();
    let catalog = world.catalog().await.unwrap();
    assert_eq!(catalog.table("main", "t").unwrap().estimated_rows, 10);
    assert!(world.schema_version() > version);
}

#[tokio::test]
async fn a_catalog_is_current_until_somebody_begins_to_commit_a_definition() {
    let world = world().await.made(&["create table t(i int)"]).await;
    let before = world.catalog().await.unwrap();
    let mut session = world.session().await.unwrap();
    session.begin().await.unwrap();
    write(&mut session, "insert into t values (1)").await.unwrap();
    session.commit().await.unwrap();
    assert!(world.is_current(&before), "rows define nothing");
    for (sql, is_committed) in [("alter table t add column j int", true), ("drop table t", false)] {
        let before = world.catalog().await.unwrap();
        session.begin().await.unwrap();
        write(&mut session, sql).await.unwrap();
        assert!(world.is_current(&before), "{sql}: not before it is committed");
        assert!(!world.is_current(&session.catalog().await.unwrap()), "a transaction's own");
        let ended = if is_committed { session.commit().await } else { session.rollback().await };
        ended.unwrap();
        assert_eq!(world.is_current(&before), !is_committed, "{sql}");
        assert!(world.is_current(&world.catalog().await.unwrap()), "{sql}");
    }
    // Whose caller has left is committed all the same, and counted.
    let before = world.catalog().await.unwrap();
    session.begin().await.unwrap();
    write(&mut session, "create table left_behind(i int)").await.unwrap();
    assert!(session.commit().now_or_never().is_none());
    assert!(session.catalog().await.unwrap().table("main", "left_behind").is_some());
    assert!(!world.is_current(&before));
}

#[tokio::test]
async fn a_statement_is_described_without_running() {
    let world = world().await.made(&["create table t(i int, j json)"]).await;
    let cases = [
        ("select i, j, i as i from t", vec!["i INTEGER", "j JSON", "i INTEGER"]),
        ("select (select cast(null as decimal(9,2))) + 1 as d", vec!["d DECIMAL(13,2)"]),
        ("insert into t values (1, '{}') returning j, i + 1 as k", vec!["j JSON", "k INTEGER"]),
        ("insert into t values (1, '{}')", vec!["Count BIGINT"]),
    ];
    for (sql, expected) in cases {
        let columns = world.describe(sql, soon(), &never()).await.unwrap().columns;
        let columns: Vec<_> = columns.iter().map(|c| format!("{} {}", c.name, c.type_name)).collect();
        assert_eq!(columns, expected, "{sql}");
    }
    assert_eq!(world.answer("select count(*) from t").await.as_deref(), Ok("0"));
    assert_eq!(world.describe("select nope from t", soon(), &never()).await.unwrap_err().kind, Kind::ColumnMissing);
    assert_eq!(world.describe("select * from nope", soon(), &never()).await.unwrap_err().kind, Kind::CatalogMissing);
}

#[tokio::test]
async fn the_schema_that_was_described_is_the_one_that_comes() {
    let world = world().await.made(&["create table t(i int not null, j json, e enum('a', 'b'))"]).await;
    let statements = [
        "select i, j, e from t",
        "select null as n, 1::utinyint as u, 1::hugeint as h, 1.50 as d, 'x' as x, 'x'::blob as b, uuid() as id",
        "select date '2020-01-01' as d, time '01:02:03' as t, now() as z, interval 1 day as v, timestamp_s '2020-01-01' as s",
        "select [1, 2] as l, {'a': 1, 'b': ['x']} as s, map {'a': 1} as m, [1, 2]::int[2] as f, 1::bit as bits",
        "select * from range(3)",
        "explain select 1",
    ];
    for sql in statements {
        let described = world.describe(sql, soon(), &never()).await.unwrap().schema;
        let mut session = world.session().await.unwrap();
        let outcome = session.run(read(sql), soon(), &CancellationToken::new()).await.unwrap();
        let Outcome::Rows(rows) = outcome else { panic!("no rows from {sql}") };
        assert_eq!(described.as_ref(), Some(&rows.schema), "{sql}");
    }
    let open = world.describe("select $1 as what, i from t", soon(), &never()).await.unwrap();
    assert_eq!(open.columns.iter().map(|c| c.type_name.as_str()).collect::<Vec<_>>(), ["VARCHAR", "INTEGER"]);
    assert_eq!(world.describe("select $1 + 1 as what", soon(), &never()).await.unwrap().schema, None);
}

#[tokio::test]
async fn the_engines_parser_names_tables_and_functions() {
    let world = world().await.made(&["create table t(i int)"]).await;
    let query = "with t2 as (select * from raw.main.t) select sum(i) over (), upper('a') like 'b' from t2, range(3)";
    let parsed = world.parsed(query, soon(), &never()).await.unwrap();
    assert_eq!(parsed.tables, Some(vec!["raw.main.t".to_owned()]));
    assert_eq!(parsed.functions, Some(["range", "sum", "upper"].map(str::to_owned).to_vec()));
    let named = "select 1 from raw.main.t as other, raw.main.\"x AS y\" as third where other.i = 1";
    let world = world.made(&["create table \"x AS y\"(i int)"]).await;
    let tables = world.parsed(named, soon(), &never()).await.unwrap().tables.unwrap();
    assert_eq!(tables, ["raw.main.t", "raw.main.x AS y"]);
    let bound = "select '$1', \"x AS y\".i from raw.main.\"x AS y\" where i = $1 and i < $12";
    assert_eq!(world.parsed(bound, soon(), &never()).await.unwrap().tables.unwrap(), ["raw.main.x AS y"]);
    let joined =
        "select count(*) from raw.main.t join raw.main.\"x AS y\" using (i) natural join (select * from raw.main.t)";
    assert_eq!(world.parsed(joined, soon(), &never()).await.unwrap().tables.unwrap(), tables);
    let write = world.parsed("insert into raw.main.t select i from raw.main.t", soon(), &never()).await.unwrap();
    assert_eq!((write.tables, write.functions), (Some(vec!["raw.main.t".to_owned()]), None));
    assert_eq!(
        world.parsed("create schema s", soon(), &never()).await.unwrap().tables,
        Some(Vec::new()),
        "it reads nothing"
    );
    assert_eq!(world.parsed("selec", soon(), &never()).await.unwrap_err().kind, Kind::Parser);
}

#[tokio::test]
async fn the_engines_plan_names_the_tables_of_a_write() {
    let world = world().await.made(&["create table t(i int)", "create table u(i int)"]).await;
    let statements = [
        "update raw.main.t set i = u.i from raw.main.u where t.i = $1",
        "delete from raw.main.t where i in (select i from raw.main.u where i = $1)",
        "merge into raw.main.t using raw.main.u on t.i = u.i when matched then update set i = $1",
    ];
    for sql in statements {
        let tables = world.parsed(sql, soon(), &never()).await.unwrap().tables;
        assert_eq!(tables, Some(["raw.main.t", "raw.main.u"].map(str::to_owned).to_vec()), "{sql}");
    }
    let made =
        world.parsed("create table raw.main.k as select * from raw.main.u", soon(), &never()).await.unwrap().tables;
    assert_eq!(made, Some(vec!["raw.main.u".to_owned()]));
}

/// The deepest statements that callers may write, and one level more than a reader of JSON likes.
#[tokio::test]
async fn a_statement_may_be_as_deep_as_it_is_permitted() {
    let world = world().await.made(&["create table t(id bigint)", "insert into t values (1)"]).await;
    let nested = |open: &str, close: &str, levels: usize| format!("{}id{}", open.repeat(levels), close.repeat(levels));
    let cases = [
        vec!["id"; 62].join(" + "),
        vec!["id"; 400].join(" + "),
        vec!["'a'"; 400].join(" || "),
        vec!["id > 0"; 400].join(" and "),
        nested("abs(", ")", 400),
        nested("-(", ")", 200),
        nested("case when id > 0 then (", ") else 0 end", 300),
        nested("cast(", " as bigint)", 400),
        // sixty do not end before the deadline: what is permitted here is more than what is shown
        nested("(select ", " from raw.main.t)", 5),
    ];
    for expression in cases {
        let sql = format!("select {expression} from raw.main.t");
        let parsed = world.parsed(&sql, soon(), &never()).await.map(|parsed| parsed.tables);
        assert_eq!(parsed, Ok(Some(vec!["raw.main.t".to_owned()])), "{expression}");
        assert!(world.answer(&sql).await.is_ok_and(|answer| !answer.is_empty()), "{expression}");
        let sql = format!("update raw.main.t set id = 1 where ({expression}) is null");
        let parsed = world.parsed(&sql, soon(), &never()).await.map(|parsed| parsed.tables);
        assert_eq!(parsed, Ok(Some(vec!["raw.main.t".to_owned()])), "{expression}");
    }
}
