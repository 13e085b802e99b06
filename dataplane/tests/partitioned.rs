//! `COPY INTO` a stage with `PARTITION BY`: which rows go into which folder, and that none leads elsewhere.

use contract::Role;
use contract::policy::MaskFunction;
use dataplane::testing::{filtering, masking, owner_id};

use crate::stage_files::{by, paths};
use crate::world::{World, world};

const PLAIN: &str = "file_format = (type = csv compression = none)";

/// The paths of the stage's files, with a number for the id of the query that wrote them.
async fn told(world: &World, query_id: &str) -> Vec<String> {
    paths(world, "files").await.into_iter().map(|path| path.replace(query_id, "1")).collect()
}

async fn unloaded(world: &World, sql: &str) -> String {
    let got = world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    got.answer.query_id.to_string()
}

#[tokio::test]
async fn rows_go_into_the_folders_of_their_values() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    world.run("create table t (day date, n integer)").await.unwrap();
    world.run("insert into t values ('2026-01-28', 1), ('2026-01-29', 2), ('2026-01-28', 3), (null, 4)").await.unwrap();
    let sql = format!("copy into @files/out from t partition by ('day=' || day::varchar) {PLAIN} header = true");
    let id = unloaded(&world, &sql).await;
    let folders = ["__NULL__", "day=2026-01-28", "day=2026-01-29"];
    assert_eq!(told(&world, &id).await, folders.map(|folder| format!("out/{folder}/data_1_0_0_0.csv")));
    let path = format!("files/files/out%2Fday=2026-01-28%2Fdata_{id}_0_0_0.csv");
    let (status, file) = by(&world, owner_id(), "GET", &path, "").await;
    let text = String::from_utf8(file).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!((status, lines), (200, vec!["2026-01-28,1", "2026-01-28,3", "day,n"]));
    let rows = world.run("select $2 from @files/out/__NULL__ where $1 is null or $1 = ''").await.unwrap();
    assert_eq!(rows.json, r#"["4"]"#);
    world.run("remove @files").await.unwrap();
    let numbers = "(select range as n from range(1000))";
    let sql = format!("copy into @files from {numbers} partition by (n % 2 = 0) {PLAIN} max_file_size = 1500");
    let id = unloaded(&world, &sql).await;
    let found = told(&world, &id).await;
    for first in ["false/data_1_0_0_0.csv", "false/data_1_0_0_1.csv", "true/data_1_0_0_0.csv"] {
        assert!(found.contains(&first.to_owned()), "{first}: {found:?}");
    }
    world.run("remove @files").await.unwrap();
    let none = format!("copy into @files from (select n from t where n > 9) t partition by (n) {PLAIN}");
    assert!(world.run(&none).await.is_err(), "a name behind the query is no part of the statement");
    let none = format!("copy into @files from (select n from t where n > 9) partition by (n) {PLAIN}");
    assert_eq!(world.run(&none).await.unwrap().json, "[0,0,0]");
    assert!(paths(&world, "files").await.is_empty());
    world.stop().await;
}

#[tokio::test]
async fn no_value_leads_out_of_the_path() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    world.run("create table v (p varchar)").await.unwrap();
    world.run("insert into v values ('../../x'), ('a/b'), (''), ('/etc')").await.unwrap();
    let id = unloaded(&world, &format!("copy into @files/in/ from v partition by (p) {PLAIN}")).await;
    let folders = ["!2E!2E/!2E!2E/x", "__EMPTY__", "__EMPTY__/etc", "a/b"];
    assert_eq!(told(&world, &id).await, folders.map(|folder| format!("in/{folder}/data_1_0_0_0.csv")));
    world.run("remove @files").await.unwrap();
    let many = format!("copy into @files from (select range as n from range(300)) partition by (n) {PLAIN}");
    let refused = world.run(&many).await.unwrap_err();
    assert!(refused.code().http() == 400 && refused.to_string().contains("at most 256 files"), "{refused}");
    let long = format!("copy into @files from v partition by (repeat('x', 300)) {PLAIN}");
    assert_eq!(world.run(&long).await.unwrap_err().code().http(), 400);
    for options in ["single = true", "overwrite = true", "include_query_id = false"] {
        let sql = format!("copy into @files from v partition by (p) {PLAIN} {options}");
        assert_eq!(world.run(&sql).await.unwrap_err().code().http(), 400, "{options}");
    }
    assert!(paths(&world, "files").await.is_empty());
    world.stop().await;
}

#[tokio::test]
async fn a_partition_is_of_what_its_caller_sees() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer);
    world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    let sql = format!("copy into @files from customer partition by (region || '/' || ssn) {PLAIN}");
    let got = world.analyst(&sql).await.unwrap();
    assert!(got.json.starts_with("[2,"), "{}", got.json);
    let id = got.answer.query_id.to_string();
    assert_eq!(told(&world, &id).await, ["EU/!2A!2A!2A/data_1_0_0_0.csv"]);
    for sql in [
        format!("copy into @files/x from (select id from customer) partition by (ssn) {PLAIN}"),
        format!("copy into @files/x from customer partition by ((select max(ssn) from raw.main.customer)) {PLAIN}"),
        format!("copy into @files/x from customer partition by (ssn) AS x, (id) {PLAIN}"),
        format!("copy into @files/x from customer partition by (read_text('/etc/passwd')) {PLAIN}"),
    ] {
        assert!(world.analyst(&sql).await.is_err(), "{sql}");
    }
    let id = got.answer.query_id.to_string();
    assert_eq!(told(&world, &id).await.len(), 1);
    assert_eq!(world.run(&sql).await.unwrap_err().code().http(), 403, "of an exempt role nothing is unloaded");
    world.stop().await;
}
