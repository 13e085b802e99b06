//! The own stages of users and tables: there without a statement, for whom, and until when.

use contract::Role;
use contract::policy::MaskFunction;
use contract::policy::abac::{Action, Condition};
use dataplane::testing::{analyst_id, filtering, masking, rule, ruled};

use crate::stage_files::{by, owner, paths};
use crate::world::{World, world};

const CSV: &str = "1,Ada\n2,Bob\n";

/// A world whose analyst may write.
async fn of_developers() -> World {
    let world = world().await;
    world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer);
    world
}

async fn put(world: &World, path: &str) {
    let (status, told) = owner(world, "PUT", path, CSV).await;
    assert_eq!(status, 200, "{path}: {told}");
}

fn folders(world: &World) -> usize {
    world.pipeline.stage_files.stages().unwrap().len()
}

#[tokio::test]
async fn the_stage_of_a_user_is_theirs_alone_and_goes_with_them() {
    let world = of_developers().await;
    put(&world, "~/files/in%2Fa.csv").await;
    let (started, _) = world.last();
    assert_eq!(started.sql_original, "PUT main.@~/in/a.csv, 12 bytes");
    assert_eq!(started.tables_accessed, ["main.@~"]);
    let theirs = by(&world, analyst_id(), "GET", "~/files", "").await;
    assert_eq!(theirs, (200, br#"{"files":[]}"#.to_vec()));
    for method in ["GET", "DELETE"] {
        assert_eq!(by(&world, analyst_id(), method, "~/files/in%2Fa.csv", "").await.0, 404, "{method}");
    }
    let unload =
        "copy into @~/in/a.csv from (select 3, 'Eve') single = true file_format = (type = csv compression = none)";
    world.analyst(unload).await.unwrap();
    assert_eq!(world.run("select $1, $2 from @~/in/ order by 1").await.unwrap().json, r#"["1","Ada"],["2","Bob"]"#);
    assert_eq!(world.analyst("select $1, $2 from @~").await.unwrap().json, r#"["3","Eve"]"#);
    world.run("create table t (id integer, name varchar)").await.unwrap();
    world.run("copy into t from @~/in files = ('a.csv')").await.unwrap();
    assert_eq!(world.count("select count(*) from raw.main.t").await, 2);
    assert!(world.run("list @~").await.unwrap().json.starts_with(r#"["in/a.csv",12,"#));
    assert_eq!(world.run("show stages").await.unwrap().json, "");
    assert_eq!(world.run("rm @~/in").await.unwrap().json, r#"["in/a.csv","removed"]"#);
    assert_eq!(world.analyst("select $2 from @~").await.unwrap().json, r#"["Eve"]"#);
    put(&world, "~/files/b.csv").await;
    assert_eq!(folders(&world), 2);
    world.change(|rules| drop(rules.members.remove(&"u-analyst".into())));
    world.pipeline.sweep_stage_files().await.unwrap();
    assert_eq!((folders(&world), paths(&world, "~").await), (1, vec!["b.csv".to_owned()]));
    world.stop().await;
}

#[tokio::test]
async fn who_may_only_read_puts_nothing_into_their_own_stage() {
    let world = world().await;
    for (method, path) in [("PUT", "~/files/a"), ("DELETE", "~/files/a"), ("PUT", "%25customer/files/a")] {
        assert_eq!(by(&world, analyst_id(), method, path, "1").await.0, 403, "{method} {path}");
    }
    assert_eq!(by(&world, analyst_id(), "GET", "~/files", "").await.0, 200);
    assert_eq!(by(&world, analyst_id(), "GET", "%25customer/files", "").await.0, 200);
    for sql in
        ["create stage \"~\"", "create stage \"%customer\"", "drop stage \"~\"", "alter stage \"~\" set comment = ''"]
    {
        assert_eq!(world.run(sql).await.unwrap_err().code().http(), 400, "{sql}");
    }
    for sql in ["list @%absent", "select $1 from @%absent", "list @%\"a.b\"", "list @other.~"] {
        assert!(world.run(sql).await.is_err(), "{sql}");
    }
    assert_eq!(owner(&world, "GET", "%25absent/files", "").await.0, 404);
    assert_eq!(folders(&world), 0);
    world.stop().await;
}

#[tokio::test]
async fn the_stage_of_a_table_follows_it_and_goes_with_it() {
    let world = world().await;
    world.run("create table t (id integer, name varchar)").await.unwrap();
    world.run("comment on table t is 'of people'").await.unwrap();
    assert!(paths(&world, "%25t").await.is_empty());
    assert_eq!(world.run("list @%t").await.unwrap().json, "");
    put(&world, "%25t/files/a.csv").await;
    let (started, _) = world.last();
    assert_eq!(started.sql_original, "PUT main.@%t/a.csv, 12 bytes");
    assert_eq!(started.tables_accessed, ["main.@%t", "main.t"]);
    world.run("copy into t from @%t").await.unwrap();
    assert_eq!(world.count("select count(*) from raw.main.t").await, 2);
    assert!(world.run("list @main.%T").await.unwrap().json.starts_with(r#"["a.csv",12,"#));
    for sql in [
        "alter table t rename to u",
        "comment on table u is null",
        "alter table u add column note varchar",
        "insert into u values (3, 'Eve', '')",
        "create table t (id integer)",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    assert_eq!(paths(&world, "main.%25U").await, ["a.csv"]);
    assert!(paths(&world, "%25t").await.is_empty());
    let unload = "copy into @%u/out from (select id from u) file_format = (type = csv compression = none)";
    world.run(unload).await.unwrap();
    assert_eq!(paths(&world, "%25u").await, ["a.csv", "out_0_0_0.csv"]);
    assert_eq!(folders(&world), 1);
    world.run("create or replace table u (id integer)").await.unwrap();
    assert_eq!((folders(&world), paths(&world, "%25u").await.len()), (0, 0));
    put(&world, "%25u/files/a.csv").await;
    world.run("drop table u").await.unwrap();
    assert_eq!(folders(&world), 0);
    world.stop().await;
}

#[tokio::test]
async fn two_first_files_of_a_table_come_into_one_stage() {
    let world = world().await;
    tokio::join!(put(&world, "%25customer/files/a.csv"), put(&world, "%25customer/files/b.csv"));
    assert_eq!(paths(&world, "%25customer").await, ["a.csv", "b.csv"]);
    assert_eq!(folders(&world), 1);
    world.stop().await;
}

#[tokio::test]
async fn the_stage_of_a_table_is_closed_to_whom_a_rule_of_the_table_binds() {
    let world = of_developers().await;
    put(&world, "%25customer/files/raw.csv").await;
    world.run("create table other (id integer, name varchar)").await.unwrap();
    assert_eq!(by(&world, analyst_id(), "GET", "%25customer/files/raw.csv", "").await.0, 200);
    for policy in [masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")] {
        world.change(|rules| rules.policies = vec![policy.clone()]);
        for (method, path) in
            [("GET", "files"), ("GET", "files/raw.csv"), ("PUT", "files/x"), ("DELETE", "files/raw.csv")]
        {
            let (status, told) = by(&world, analyst_id(), method, &format!("%25customer/{path}"), CSV).await;
            assert_eq!(status, 403, "{method} {path}: {}", String::from_utf8_lossy(&told));
        }
        for sql in [
            "list @%customer",
            "ls @main.%CUSTOMER",
            "remove @%customer",
            "select $1 from @%customer",
            "select o.id from other o join @demo.main.%customer on true",
            "create table copied as select $1 as id from @%customer",
            "copy into other from @%customer",
            "copy into @%customer/x from other file_format = (type = csv)",
            "copy into @~/x from (select $1 from @%customer) file_format = (type = csv)",
        ] {
            assert_eq!(world.analyst(sql).await.unwrap_err().code().http(), 403, "{sql}");
        }
        assert_eq!(paths(&world, "%25customer").await, ["raw.csv"]);
    }
    // rows that came by the stage are closed as those that come from the table
    world.run("copy into other from @%customer").await.unwrap();
    assert_eq!(world.analyst("select id from other").await.unwrap_err().code().http(), 403);
    let unload = "copy into @~/x from (select $1 from @%customer) file_format = (type = csv)";
    assert_eq!(world.run(unload).await.unwrap_err().code().http(), 403);
    world.stop().await;
}

#[tokio::test]
async fn the_stage_of_a_table_that_is_denied_is_denied() {
    let world = world().await;
    put(&world, "%25customer/files/raw.csv").await;
    world.change(|rules| {
        rules.abac_policies = vec![ruled("no", vec![rule(Condition::TableIs, &["customer"], Action::Deny)])];
    });
    for sql in ["list @%customer", "rm @%customer", "select $1 from @%customer"] {
        assert_eq!(world.run(sql).await.unwrap_err().code().http(), 403, "{sql}");
    }
    assert_eq!(owner(&world, "GET", "%25customer/files/raw.csv", "").await.0, 404);
    world.change(|rules| rules.abac_policies.clear());
    assert_eq!(paths(&world, "%25customer").await, ["raw.csv"]);
    world.stop().await;
}
