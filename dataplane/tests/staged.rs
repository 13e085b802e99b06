//! Stages and file formats: made, listed, changed and dropped, by whom, and what is written down of that.

use contract::Code;
use contract::policy::abac::{Action, Condition};
use dataplane::testing::{rule, ruled};

use crate::pgwire::{simple, wired};
use crate::world::{World, world};

impl World {
    async fn does(&self, statements: &[&str]) {
        for sql in statements {
            self.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }

    async fn names(&self, show: &str) -> String {
        let got = self.run(show).await.unwrap();
        let rows: Vec<Vec<serde_json::Value>> = serde_json::from_str(&format!("[{}]", got.json)).unwrap();
        rows.iter().map(|row| row[1].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    }
}

#[tokio::test]
async fn a_stage_is_there_until_it_is_dropped() {
    let world = world().await;
    world
        .does(&[
            "create file format psv type = csv field_delimiter = '|' skip_header = 1",
            "create stage files file_format = psv comment = 'of today'",
            "create or replace stage other file_format = (type = json)",
            "create stage if not exists files file_format = (type = parquet)",
        ])
        .await;
    assert!(world.run("create stage FILES").await.is_err());
    assert_eq!(world.names("show stages").await, "files other");
    assert_eq!(world.names("show stages like 'O%' in schema main").await, "other");
    let got = world.run("describe stage files").await.unwrap().json;
    assert!(got.contains(r#"["STAGE_FILE_FORMAT","FORMAT_NAME","String","\"main\".\"psv\"",""]"#), "{got}");
    let got = world.run("desc file format psv").await.unwrap().json;
    assert!(got.contains(r#"["FIELD_DELIMITER","String","|",","]"#), "{got}");
    assert!(got.contains(r#"["SKIP_HEADER","Integer","1","0"]"#), "{got}");
    world
        .does(&[
            "alter stage other rename to renamed",
            "alter stage renamed set file_format = (type = csv) comment = 'CSV now'",
            "alter stage if exists nope set comment = 'x'",
            "alter file format psv set skip_header = 2",
            "alter file format psv rename to ssv",
            "drop stage files",
            "drop stage if exists files",
        ])
        .await;
    assert_eq!(world.names("show stages").await, "renamed");
    assert!(world.run("show stages").await.unwrap().json.contains("CSV now"));
    assert!(world.run("desc file format ssv").await.unwrap().json.contains(r#"["SKIP_HEADER","Integer","2","0"]"#));
    world.does(&["drop file format ssv", "drop stage renamed"]).await;
    assert_eq!(
        world.count("select count(*) from duckdb_functions() where starts_with(function_name, '_svc_')").await,
        0
    );
    world.stop().await;
}

#[tokio::test]
async fn a_stage_goes_with_its_schema_and_comes_back_with_its_transaction() {
    let wired = wired().await;
    let client = wired.owner().await;
    simple(&client, "create schema put; create stage put.files").await;
    simple(&client, "begin; create stage more; drop stage put.files; rollback").await;
    assert_eq!(wired.world.names("show stages").await, "files");
    simple(&client, "drop schema put cascade").await;
    assert_eq!(wired.world.names("show stages").await, "");
    wired.stop().await;
}

#[tokio::test]
async fn a_stage_has_no_name_that_another_thing_has() {
    let world = world().await;
    world.does(&["create table files (id integer)", "create stage files", "create file format files"]).await;
    world.does(&["create function files() returns int as '1'", "insert into files values (1)"]).await;
    assert_eq!(world.run("select id + files() from files").await.unwrap().json, "[2]");
    assert_eq!(world.run("select count(*) from pg_proc where proname like '%files'").await.unwrap().json, "[1]");
    for sql in ["select _svc_stage_files()", "drop function _svc_stage_files", "select * from \"@files\""] {
        assert!(world.run(sql).await.is_err(), "{sql}");
    }
    world.does(&["drop table files", "drop function files"]).await;
    assert_eq!(world.names("show file formats").await, "files");
    world.stop().await;
}

#[tokio::test]
async fn no_other_thing_has_a_name_that_a_policy_takes_for_a_stage() {
    let world = world().await;
    world.does(&["create stage s", "create table t (id integer)"]).await;
    for sql in [
        "create table \"@s\" (id integer)",
        "create table \"@other\" as select 1 as id",
        "create view \"@s\" as select 1 as id",
        "alter table t rename to \"@s\"",
        "create table \"file format f\" (id integer)",
        "create stage \"@s\"",
    ] {
        let told = world.run(sql).await.unwrap_err().to_string();
        assert!(told.contains("begins as the path of a stage"), "{sql}: {told}");
    }
    for sql in ["create stage \"a\"\"b\"", "alter stage s rename to \"a\"\"b\"", "create file format \"a\"\"b\""] {
        let told = world.run(sql).await.unwrap_err().to_string();
        assert!(told.contains("has a quote in it"), "{sql}: {told}");
    }
    world.does(&["alter stage s rename to r", "drop stage r", "drop table t"]).await;
    world.stop().await;
}

#[tokio::test]
async fn who_may_only_read_makes_no_stage_and_sees_those_there_are() {
    let world = world().await;
    world.does(&["create stage files"]).await;
    for sql in [
        "create stage mine",
        "create or replace stage files",
        "drop stage files",
        "alter stage files set comment = 'x'",
        "alter stage files rename to mine",
        "create file format mine",
    ] {
        assert_eq!(world.analyst(sql).await.unwrap_err().code().stable(), "FORBIDDEN", "{sql}");
    }
    assert!(world.analyst("show stages").await.unwrap().json.contains("files"));
    world.stop().await;
}

#[tokio::test]
async fn a_stage_that_a_policy_denies_is_as_if_it_were_not_there() {
    let world = world().await;
    world.does(&["create stage hidden", "create stage shown"]).await;
    world.change(|rules| {
        let denied = |value: &'static str| rule(Condition::TableIs, &[value], Action::Deny);
        rules.abac_policies = vec![ruled("stages", vec![denied("main.@hid*"), denied("nope*"), denied("@nope")])];
    });
    assert_eq!(world.names("show stages").await, "shown");
    let listed = world.run("select stage_name from information_schema.stages").await.unwrap().json;
    assert_eq!(listed, r#"["shown"]"#);
    let code = async |sql: &str| {
        let error = world.run(sql).await.unwrap_err();
        format!("{} {error}", error.code().stable()).replace("nope", "hidden")
    };
    for sql in [
        "describe stage hidden",
        "drop stage if exists hidden",
        "drop stage main.hidden",
        "create or replace stage hidden",
        "create stage hidden",
        "alter stage hidden set comment = 'x'",
        "alter stage shown rename to hidden",
    ] {
        assert_eq!(code(sql).await, code(&sql.replace("hidden", "nope")).await, "{sql}");
    }
    world.does(&["alter stage shown set comment = 'x'", "drop stage shown"]).await;
    world.stop().await;
}

#[tokio::test]
async fn the_log_names_a_stage_and_keeps_no_word_of_its_options() {
    let world = world().await;
    world.does(&["create stage files file_format = (type = csv null_if = ('open'))"]).await;
    let (started, finished) = world.last();
    let told = format!("{started:?} {finished:?}");
    assert!(told.contains("CREATE STAGE files ?") && told.contains("main.@files"), "{told}");
    for sql in [
        "create stage s url = 's3://b/' credentials = (aws_key_id = 'k' aws_secret_key = 'sesame')",
        "create stage s credentials = (aws_secret_key = 'sesame')",
        "alter stage files set credentials = (aws_secret_key = 'sesame')",
        "copy into customer from 's3://b/' credentials = (aws_secret_key = 'sesame')",
        "create stage s credentials = (aws_secret_key = 'sesame'",
    ] {
        let error = world.run(sql).await.unwrap_err();
        assert!(!error.to_string().contains("sesame"), "{sql}: {error}");
    }
    let told = format!("{:?}", world.entries());
    assert!(!told.contains("sesame") && !told.contains("aws_"), "{told}");
    world.stop().await;
}

#[tokio::test]
async fn a_rule_by_stage_holds_for_every_use_whether_or_not_there_is_such_a_stage() {
    let world = world().await;
    world.does(&["create stage hidden", "create stage shown"]).await;
    world.change(|rules| {
        let denied = rule(Condition::StageIs, &["hid*", "main.nope"], Action::Deny);
        rules.abac_policies = vec![ruled("stages", vec![denied])];
    });
    assert_eq!(world.names("show stages").await, "shown");
    let listed = world.run("select stage_name from information_schema.stages").await.unwrap().json;
    assert_eq!(listed, r#"["shown"]"#);
    let told = async |sql: &str| {
        let error = world.run(sql).await.unwrap_err();
        format!("{} {error}", error.code().stable()).replace("nope", "hidden")
    };
    for sql in [
        "list @hidden",
        "select $1 from @hidden",
        "select $1 from @main.hidden/a.csv",
        "copy into customer (id) from (select $1 from @hidden)",
        "copy into @hidden/a from customer file_format = (type = csv)",
        "remove @hidden/a",
        "describe stage hidden",
        "drop stage hidden",
        "create or replace stage hidden",
        "alter stage shown rename to hidden",
    ] {
        assert_eq!(told(sql).await, told(&sql.replace("hidden", "nope")).await, "{sql}");
    }
    world.change(|rules| {
        let read_only = rule(Condition::StageIs, &["shown"], Action::ReadOnly);
        rules.abac_policies = vec![ruled("stages", vec![read_only])];
    });
    world.does(&["list @shown", "select $1 from @shown", "select count(*) from customer"]).await;
    for sql in ["copy into @shown/a from customer file_format = (type = csv)", "remove @shown/a", "drop stage shown"] {
        assert_eq!(world.run(sql).await.unwrap_err().code(), Code::PolicyDenied, "{sql}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_rule_that_allows_a_stage_allows_no_other_beside_it() {
    let world = world().await;
    world.does(&["create stage one", "create stage other"]).await;
    world.change(|rules| {
        let allowed = rule(Condition::StageIs, &["one"], Action::Allow);
        rules.abac_policies = vec![ruled("stages", vec![allowed])];
    });
    world
        .does(&[
            "select $1 from @one",
            "select count(*) from customer",
            "copy into @one/a from customer file_format = (type = csv)",
        ])
        .await;
    for sql in ["select $1 from @other", "select $1 from @one union all select $1 from @other", "list @other"] {
        let error = world.run(sql).await.unwrap_err();
        assert_eq!((error.code(), error.to_string().contains("@other")), (Code::TableDenied, true), "{sql}: {error}");
    }
    world.stop().await;
}
