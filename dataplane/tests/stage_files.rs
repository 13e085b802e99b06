//! Files of internal stages over REST: put, listed, read and removed, by whom, and what is written down of that.

use std::io::Read;

use axum::body::Body;
use axum::http::{Request, Response};
use contract::policy::MaskFunction;
use contract::policy::abac::{Action, Condition};
use contract::wire::{Forwarded, Who, header};
use contract::{KeyId, Role};
use dataplane::testing::{analyst_id, filtering, masking, owner_id, rule, ruled};
use flate2::read::GzDecoder;
use futures::stream;
use serde_json::{Value, json};

use crate::agents_router::{as_json, whole};
use crate::rest::{post, sent};
use crate::world::{World, world};

const FILES: &str = "/v1/environments/env-1/stages";

/// The answer to a request below `…/stages/` by this key.
pub async fn answered(world: &World, who: KeyId, method: &str, path: &str, body: impl Into<Body>) -> Response<Body> {
    let caller = Forwarded::of(Who::Key { key_id: who }, Some([127, 0, 0, 1].into()));
    let request = Request::builder()
        .method(method)
        .uri(format!("{FILES}/{path}"))
        .header(header::CALLER, serde_json::to_string(&caller).unwrap())
        .body(body.into())
        .unwrap();
    sent(world, request).await
}

/// Its status and body.
pub async fn by(world: &World, who: KeyId, method: &str, path: &str, body: impl Into<Body>) -> (u16, Vec<u8>) {
    let response = answered(world, who, method, path, body).await;
    let status = response.status().as_u16();
    (status, whole(response).await.0)
}

pub async fn owner(world: &World, method: &str, path: &str, body: impl Into<Body>) -> (u16, Value) {
    let (status, body) = by(world, owner_id(), method, path, body).await;
    (status, serde_json::from_slice(&body).unwrap())
}

fn message((status, body): &(u16, Value)) -> (u16, &str) {
    (*status, body["error"]["message"].as_str().unwrap_or_else(|| panic!("{body}")))
}

pub async fn paths(world: &World, stage: &str) -> Vec<String> {
    let (status, listed) = owner(world, "GET", &format!("{stage}/files"), "").await;
    assert_eq!(status, 200, "{listed}");
    listed["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_file_of_a_stage_is_put_listed_read_and_removed() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    let (status, put) = owner(&world, "PUT", "files/files/2026%2Fa.csv", "id\n1\n").await;
    assert_eq!((status, &put["path"], &put["bytes"]), (200, &json!("2026/a.csv"), &json!(5)), "{put}");
    assert_eq!(put["md5"], "bc9280dfc1d4e67233f138f5bbbf0951");
    let (started, finished) = world.last();
    assert_eq!(started.sql_original, "PUT main.@files/2026/a.csv, 5 bytes");
    assert_eq!(started.tables_accessed, ["main.@files"]);
    assert!(finished.micro_credits > 0, "{finished:?}");
    owner(&world, "PUT", "main.files/files/b.csv", "").await;
    assert_eq!(paths(&world, "FILES").await, ["2026/a.csv", "b.csv"]);
    let (_, listed) = owner(&world, "GET", "files/files?prefix=2026%2F", "").await;
    assert_eq!(listed["files"], json!([put]));
    let (status, read) = by(&world, owner_id(), "GET", "files/files/2026%2Fa.csv", "").await;
    assert_eq!((status, read.as_slice()), (200, b"id\n1\n".as_slice()));
    assert_eq!(world.last().0.sql_original, "GET main.@files/2026/a.csv, 5 bytes");
    let removed = owner(&world, "DELETE", "files/files/2026%2Fa.csv", "").await;
    assert_eq!(removed, (200, json!({"path": "2026/a.csv", "removed": true})));
    for method in ["GET", "DELETE"] {
        let missing = owner(&world, method, "files/files/2026%2Fa.csv", "").await;
        let told = "the stage has no file 2026/a.csv: LIST it to see the files that it has";
        assert_eq!(message(&missing), (404, told), "{method}");
    }
    assert_eq!(paths(&world, "files").await, ["b.csv"]);
    world.stop().await;
}

#[tokio::test]
async fn the_files_of_a_stage_go_with_it() {
    let world = world().await;
    for stage in ["one", "two", "three"] {
        world.run(&format!("create stage {stage}")).await.unwrap();
        assert_eq!(owner(&world, "PUT", &format!("{stage}/files/a"), "1").await.0, 200);
    }
    let folders = || world.pipeline.stage_files.stages().unwrap().len();
    world.run("alter stage one rename to uno").await.unwrap();
    assert_eq!((paths(&world, "uno").await, folders()), (vec!["a".to_owned()], 3));
    world.run("create or replace stage two").await.unwrap();
    assert!(paths(&world, "two").await.is_empty());
    world.run("drop stage three").await.unwrap();
    assert_eq!(owner(&world, "GET", "three/files", "").await.0, 404);
    assert_eq!(folders(), 1);
    world.pipeline.sweep_stage_files().await.unwrap();
    assert_eq!(paths(&world, "uno").await, ["a"]);
    world.stop().await;
}

#[tokio::test]
async fn who_may_only_read_puts_and_removes_nothing() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    owner(&world, "PUT", "files/files/a", "1").await;
    let analyst = async |method: &str, path: &str| {
        let (status, body) = by(&world, analyst_id(), method, path, "2").await;
        (status, String::from_utf8(body).unwrap())
    };
    for method in ["PUT", "DELETE"] {
        let (status, told) = analyst(method, "files/files/a").await;
        assert!(status == 403 && told.contains("developer"), "{method}: {told}");
    }
    assert_eq!(analyst("GET", "files/files/a").await, (200, "1".to_owned()));
    assert_eq!(analyst("GET", "files/files").await.0, 200);
    world.change(|rules| rules.organization.limits.storage_limit_gb = Some(0));
    assert_eq!(owner(&world, "PUT", "files/files/b", "1").await.0, 403);
    assert_eq!(owner(&world, "DELETE", "files/files/a", "").await.0, 200);
    world.stop().await;
}

#[tokio::test]
async fn a_stage_that_is_denied_is_as_absent_as_one_that_is_not_there() {
    let world = world().await;
    world.run("create stage hidden").await.unwrap();
    owner(&world, "PUT", "hidden/files/a", "1").await;
    world.change(|rules| {
        rules.abac_policies = vec![ruled("no", vec![rule(Condition::TableIs, &["main.@hid*"], Action::Deny)])];
    });
    for (method, path) in [("GET", "files"), ("GET", "files/a"), ("PUT", "files/a"), ("DELETE", "files/a")] {
        let hidden = owner(&world, method, &format!("hidden/{path}"), "2").await;
        let absent = owner(&world, method, &format!("absent/{path}"), "2").await;
        assert_eq!(message(&hidden).0, 404, "{method} {path}");
        assert_eq!(message(&hidden).1.replace("hidden", "absent"), message(&absent).1, "{method} {path}");
        assert!(world.last().0.sql_original.ends_with(" main.@absent/"), "{method} {path}");
    }
    let _ = owner(&world, "GET", "hidden/files/a", "").await;
    let (started, finished) = world.last();
    assert_eq!(
        (started.sql_original.as_str(), started.tables_accessed),
        ("GET main.@hidden/", vec!["main.@hidden".to_owned()])
    );
    assert!(finished.error_code.is_some(), "{finished:?}");
    world.change(|rules| rules.abac_policies.clear());
    assert_eq!(by(&world, owner_id(), "GET", "hidden/files/a", "").await, (200, b"1".to_vec()));
    world.stop().await;
}

#[tokio::test]
async fn no_path_leads_out_of_a_stage_and_a_broken_file_is_none() {
    let world = world().await;
    for stage in ["files", "other"] {
        world.run(&format!("create stage {stage}")).await.unwrap();
    }
    owner(&world, "PUT", "other/files/secret", "sesame").await;
    for path in ["..%2Fother%2Fsecret", "%2Fetc%2Fpasswd", "a%2F..%2F..%2Fb", "a%5Cb", "a%00", ".", "a%2F%2Fb"] {
        for method in ["GET", "PUT", "DELETE"] {
            let (status, body) = by(&world, owner_id(), method, &format!("files/files/{path}"), "x").await;
            assert!((400..500).contains(&status), "{method} {path}: {}", String::from_utf8_lossy(&body));
        }
    }
    let broken = stream::iter([Ok("half"), Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))]);
    let refused = owner(&world, "PUT", "files/files/a", Body::from_stream(broken)).await;
    assert_eq!(message(&refused), (400, "the body broke off before its end"));
    assert!(paths(&world, "files").await.is_empty());
    assert_eq!(paths(&world, "other").await, ["secret"]);
    world.stop().await;
}

#[tokio::test]
async fn sql_lists_and_removes_files_by_path_and_pattern() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    for path in ["2026%2Fa.csv", "2026%2Fb.json", "2027%2Fa.csv", "x%20y"] {
        assert_eq!(owner(&world, "PUT", &format!("files/files/{path}"), "id\n1\n").await.0, 200);
    }
    let got = world.run("list @files/2026").await.unwrap();
    let names: Vec<_> = got.answer.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["name", "size", "md5", "last_modified"]);
    let rows: Vec<Vec<Value>> = serde_json::from_str(&format!("[{}]", got.json)).unwrap();
    assert_eq!(rows[0][..3], [json!("files/2026/a.csv"), json!(5), json!("bc9280dfc1d4e67233f138f5bbbf0951")]);
    assert!(rows[0][3].as_str().unwrap().ends_with(" GMT") && rows.len() == 2, "{rows:?}");
    assert_eq!(world.last().0.tables_accessed, ["main.@files"]);
    let names = async |sql: &str| {
        let rows: Vec<Vec<Value>> = serde_json::from_str(&format!("[{}]", world.run(sql).await.unwrap().json)).unwrap();
        rows.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("ls @MAIN.FILES pattern = '.*[.]csv'").await, "files/2026/a.csv files/2027/a.csv");
    assert_eq!(names("ls '@files/x y'").await, "files/x y");
    assert_eq!(names("list @files/none").await, "");
    let removed = world.run("remove @files/2026 pattern = '.*json'").await.unwrap();
    assert_eq!(removed.json, r#"["files/2026/b.json","removed"]"#);
    assert_eq!(paths(&world, "files").await, ["2026/a.csv", "2027/a.csv", "x y"]);
    assert_eq!(names("rm @files/2026/").await, "files/2026/a.csv");
    assert_eq!(paths(&world, "files").await, ["2027/a.csv", "x y"]);
    let code = async |sql: &str| world.run(sql).await.unwrap_err().code().http();
    assert_eq!(code("list @absent").await, 404);
    assert_eq!(code("list @files pattern = '('").await, 400);
    assert_eq!(world.analyst("rm @files").await.unwrap_err().code().http(), 403);
    assert_eq!(world.analyst("ls @files/x").await.unwrap().json.matches("files/x y").count(), 1);
    world.stop().await;
}

#[tokio::test]
async fn nothing_is_removed_in_a_transaction_nor_of_a_stage_that_is_denied() {
    let wired = crate::pgwire::wired().await;
    let world = &wired.world;
    world.run("create stage files").await.unwrap();
    owner(world, "PUT", "files/files/a", "1").await;
    let client = wired.owner().await;
    client.batch_execute("begin").await.unwrap();
    let refused = client.batch_execute("rm @files").await.unwrap_err();
    assert!(refused.as_db_error().unwrap().message().contains("REMOVE in a transaction"), "{refused:?}");
    client.batch_execute("rollback").await.unwrap();
    assert_eq!(paths(world, "files").await, ["a"]);
    world.change(|rules| {
        rules.abac_policies = vec![ruled("no", vec![rule(Condition::TableIs, &["main.@files"], Action::Deny)])];
    });
    for sql in ["rm @files", "ls @files"] {
        assert_eq!(world.run(sql).await.unwrap_err().code().http(), 403, "{sql}");
    }
    world.change(|rules| rules.abac_policies.clear());
    assert_eq!(paths(world, "files").await, ["a"]);
    wired.stop().await;
}

#[tokio::test]
async fn what_a_caller_may_see_is_unloaded_and_no_more() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    let plain = "copy into @files/out/ from customer file_format = (type = csv compression = none) header = true";
    let got = world.run(plain).await.unwrap();
    let (_, listed) = owner(&world, "GET", "files/files", "").await;
    assert_eq!(listed["files"][0]["path"], "out/data_0_0_0.csv");
    assert_eq!(got.json, format!("[3,{0},{0}]", listed["files"][0]["bytes"]));
    let text = async |path: &str| {
        let (status, body) = by(&world, owner_id(), "GET", &format!("files/files/{path}"), "").await;
        (status, String::from_utf8(body).unwrap())
    };
    let all = text("out%2Fdata_0_0_0.csv").await.1;
    assert!(all.starts_with("id,name,region,ssn,balance\n1,Ada,EU,078-05-1120,10.50\n"), "{all}");
    let again = world.run(plain).await.unwrap_err();
    assert_eq!((again.code().http(), world.last().0.sql_original.as_str()), (409, "PUT main.@files/"));
    assert_eq!(
        world.analyst("copy into @files from customer file_format = (type = csv)").await.unwrap_err().code().http(),
        403
    );
    world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer);
    world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    let own = "copy into @files/own.json from (select object_construct('id', id, 'ssn', ssn) from customer order by id) \
               single = true file_format = (type = json compression = none)";
    assert!(world.analyst(own).await.unwrap().json.starts_with("[2,"));
    assert_eq!(text("own.json").await.1, "{\"id\":1,\"ssn\":\"***\"}\n{\"id\":3,\"ssn\":\"***\"}\n");
    let exempt = world.run("copy into @files/all from customer file_format = (type = csv)").await.unwrap_err();
    assert!(exempt.code().http() == 403 && exempt.to_string().contains("exempt"), "{exempt}");
    for sql in [
        "copy into @files/x from (select 1 / 0 from customer) file_format = (type = csv)",
        "copy into @files/x from (delete from customer) file_format = (type = csv)",
        "copy into @files/x from (select id, name from customer) file_format = (type = json)",
        "copy into @files/../x from customer file_format = (type = csv)",
        "copy into @files/x from customer file_format = (format_name = 'none')",
        "copy into @absent/x from customer file_format = (type = csv)",
        "explain copy into @files/x from customer file_format = (type = csv)",
    ] {
        assert!(world.run(sql).await.is_err(), "{sql}");
    }
    assert_eq!(paths(&world, "files").await, ["out/data_0_0_0.csv", "own.json"]);
    world.stop().await;
}

#[tokio::test]
async fn an_unload_is_compressed_unless_it_says_else() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    let sql = "copy into @files from (select range as n from range(1000)) file_format = (type = csv)";
    let numbers: Value = serde_json::from_str(&world.run(sql).await.unwrap().json).unwrap();
    assert_eq!(paths(&world, "files").await, ["data_0_0_0.csv.gz"]);
    let (_, packed) = by(&world, owner_id(), "GET", "files/files/data_0_0_0.csv.gz", "").await;
    let mut text = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    assert_eq!(numbers, json!([1000, text.len(), packed.len()]));
    assert!(packed.len() < text.len() && text.starts_with("0\n1\n") && text.ends_with("\n999\n"), "{text}");
    world.stop().await;
}

#[tokio::test]
async fn an_unload_is_of_several_files_that_are_there_together() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    let unload = |path: &str, options: &str| {
        let format = "file_format = (type = csv compression = none)";
        format!("copy into @files/{path} from (select range as n from range(1000) order by n) {format} {options}")
    };
    let detailed = unload("many/", "header = true max_file_size = 2000 detailed_output = true");
    let before = world.entries().len();
    let got = world.run(&detailed).await.unwrap();
    let names: Vec<_> = got.answer.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["file_name", "file_size", "row_count"]);
    let rows: Vec<(String, u64, u64)> = serde_json::from_str(&format!("[{}]", got.json)).unwrap();
    assert!(rows.len() > 1 && rows.iter().all(|(_, bytes, _)| *bytes <= 2000), "{rows:?}");
    assert_eq!(rows.iter().map(|(_, _, count)| count).sum::<u64>(), 1000);
    let (started, finished) = world.last();
    assert_eq!((world.entries().len() - before, finished.rows_returned), (2, 1000), "one query");
    assert_eq!(started.sql_original, detailed);
    assert!(started.sql.starts_with("COPY INTO main.@files FROM (SELECT "), "{}", started.sql);
    assert_eq!(started.tables_accessed, ["main.@files"]);
    let noted = started.sql_transpiled.unwrap();
    assert!(noted.contains("\n-- wrote main.@files/many/data_0_0_0.csv, "), "{noted}");
    assert_eq!(noted.matches("\n-- wrote ").count(), rows.len(), "{noted}");
    let mut all = String::new();
    for (number, (path, bytes, _)) in rows.iter().enumerate() {
        assert_eq!(*path, format!("many/data_0_0_{number}.csv"));
        let (_, file) = by(&world, owner_id(), "GET", &format!("files/files/{}", path.replace('/', "%2F")), "").await;
        assert_eq!(u64::try_from(file.len()).unwrap(), *bytes);
        let text = String::from_utf8(file).unwrap();
        all.push_str(text.strip_prefix("n\n").unwrap());
    }
    assert_eq!(all, (0..1000).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat());
    // the second file is there already: none comes
    owner(&world, "PUT", "files/files/again_0_0_1.csv", "mine").await;
    let refused = world.run(&unload("again", "max_file_size = 2000")).await.unwrap_err();
    assert_eq!(refused.code().http(), 409);
    for options in ["single = true max_file_size = 2000", "max_file_size = 1 overwrite = true include_query_id = true"]
    {
        assert_eq!(world.run(&unload("x", options)).await.unwrap_err().code().http(), 400, "{options}");
    }
    let told = paths(&world, "files").await;
    assert_eq!(told.iter().filter(|path| !path.starts_with("many/")).collect::<Vec<_>>(), ["again_0_0_1.csv"]);
    let got = world.run(&unload("id", "include_query_id = true")).await.unwrap();
    let path = format!("id_{}_0_0_0.csv", got.answer.query_id);
    assert!(paths(&world, "files").await.contains(&path), "{path}");
    world.stop().await;
}

#[tokio::test]
async fn an_unload_as_parquet_is_what_the_caller_sees_and_is_loaded_again() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer);
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", MaskFunction::Full)]);
    let unload = "copy into @files/p from (select id, ssn, balance from customer) file_format = (type = parquet)";
    assert!(world.analyst(&format!("{unload} header = true")).await.unwrap().json.starts_with("[3,"));
    assert_eq!(paths(&world, "files").await, ["p_0_0_0.snappy.parquet"]);
    world.run("create table back (id int, ssn varchar, balance decimal(12, 2))").await.unwrap();
    let load = "copy into back from @files/p file_format = (type = parquet) match_by_column_name = case_insensitive";
    world.run(load).await.unwrap();
    let rows = world.run("select id, ssn, balance from back order by id limit 1").await.unwrap();
    assert_eq!(rows.json, r#"[1,"***",10.50]"#);
    let interval =
        "copy into @files/i from (select id, interval '1 day' as i from customer) file_format = (type = parquet)";
    let refused = world.analyst(interval).await.unwrap_err();
    assert!(refused.code().http() == 400 && refused.to_string().contains("INTERVAL"), "{refused}");
    assert_eq!(paths(&world, "files").await, ["p_0_0_0.snappy.parquet"]);
    world.stop().await;
}

#[tokio::test]
async fn a_file_under_a_rule_is_sent_whole_to_nobody_whom_the_rule_binds() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    owner(&world, "PUT", "files/files/a", "1").await;
    world.change(|rules| rules.policies = vec![masking("main.@files", "x", MaskFunction::Full)]);
    for path in ["a", "none"] {
        let (status, body) = by(&world, analyst_id(), "GET", &format!("files/files/{path}"), "").await;
        assert_eq!(status, 403, "{path}: {}", String::from_utf8_lossy(&body));
        assert_eq!(world.last().0.sql_original, "GET main.@files/");
    }
    assert_eq!(by(&world, owner_id(), "GET", "files/files/a", "").await, (200, b"1".to_vec()));
    world.stop().await;
}

#[tokio::test]
async fn what_becomes_of_a_list_is_told_without_its_files() {
    let world = world().await;
    world.run("create stage files").await.unwrap();
    owner(&world, "PUT", "files/files/secret.csv", "1").await;
    for sql in ["list @files", "remove @files"] {
        let asked = post(&world, "/v1/environments/env-1/transpile", owner_id().as_str(), json!({"sql": sql})).await;
        let told = as_json(asked).await;
        assert!(!told.to_string().contains("secret.csv"), "{told}");
        assert!(told["warnings"].to_string().contains("no file of the stage is looked for"), "{told}");
    }
    assert_eq!(paths(&world, "files").await, ["secret.csv"]);
    world.stop().await;
}
