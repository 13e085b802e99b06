//! Files that are loaded into a table: their types, the modes, their faults, and who may.

mod arrow_rows;

use axum::body::Body;
use axum::http::{Method, Request};
use contract::policy::MaskFunction;
use contract::wire::{Forwarded, Who, header};
use contract::{KeyId, Role};
use dataplane::testing::{analyst_id, denying, filtering, masking, owner_id};
use futures::stream;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::agents_router::as_json;
use crate::rest::{router, sent};
use crate::world::{World, world};

/// Status and body of a load by this key; `query` is what stands behind `load?`.
async fn load_by(world: &World, who: KeyId, query: &str, body: impl Into<Body>) -> (u16, Value) {
    let caller = Forwarded::of(Who::Key { key_id: who }, Some([127, 0, 0, 1].into()));
    let (table, query) = query.split_once('?').unwrap();
    let request = Request::post(format!("/v1/environments/env-1/tables/{table}/load?{query}"))
        .header(header::CALLER, serde_json::to_string(&caller).unwrap())
        .body(body.into())
        .unwrap();
    answered(world, request).await
}

async fn answered(world: &World, request: Request<Body>) -> (u16, Value) {
    let response = sent(world, request).await;
    let (status, body) = (response.status().as_u16(), as_json(response).await);
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    (status, body)
}

async fn load(world: &World, query: &str, body: impl Into<Body>) -> (u16, Value) {
    load_by(world, owner_id(), query, body).await
}

fn message((status, body): &(u16, Value)) -> (u16, &str) {
    (*status, body["error"]["message"].as_str().unwrap_or_else(|| panic!("{body}")))
}

const PEOPLE: &str = "id,name,born,score,zip\n1,Ada,1815-12-10,1.5,00123\n2,\"Bo, b\",,2,4567\n";

#[tokio::test]
async fn a_table_is_made_of_a_csv_file_with_the_types_of_its_values() {
    let world = world().await;
    let (status, shown) = load(&world, "people?mode=create&format=csv&dry_run=true", PEOPLE).await;
    let columns = json!([
        {"name": "id", "type": "BIGINT"},
        {"name": "name", "type": "VARCHAR"},
        {"name": "born", "type": "DATE"},
        {"name": "score", "type": "DOUBLE"},
        {"name": "zip", "type": "VARCHAR"},
    ]);
    assert_eq!((status, &shown["columns"]), (200, &columns), "{shown}");
    let rows = json!([[1, "Ada", "1815-12-10", 1.5, "00123"], [2, "Bo, b", null, 2.0, "4567"]]);
    assert_eq!((&shown["rows"], shown.get("rows_loaded")), (&rows, None));
    assert!(world.run("select * from people").await.is_err(), "a dry run makes nothing");
    let loaded = load(&world, "people?mode=create&format=csv&file=people.csv", PEOPLE).await;
    let expected = json!({"table": "main.people", "columns": columns, "bytes": PEOPLE.len(), "rows_loaded": 2});
    assert_eq!(loaded, (200, expected));
    let (started, finished) = world.last();
    let words = format!("/* load of people.csv, {} bytes */ create table", PEOPLE.len());
    assert!(started.sql_original.starts_with(&words), "{started:?}");
    assert!(started.tables_accessed.contains(&"main.people".to_owned()), "{started:?}");
    assert!(!started.sql_transpiled.as_ref().unwrap().contains("spool"), "{started:?}");
    assert!(finished.micro_credits > 0 && finished.stages.len() > 10, "{finished:?}");
    assert_eq!(world.run("select * from people order by id").await.unwrap().json, {
        r#"[1,"Ada","1815-12-10",1.5,"00123"],[2,"Bo, b",null,2.0,"4567"]"#
    });
    let again = load(&world, "people?mode=create&format=csv", PEOPLE).await;
    assert_eq!(message(&again), (409, "a thing of that name already exists"));
    world.stop().await;
}

#[tokio::test]
async fn types_that_are_declared_are_those_of_the_table() {
    let world = world().await;
    let typed = |query: &str, types: &str| {
        let types = types.replace('{', "%7B").replace('}', "%7D").replace('"', "%22").replace(' ', "%20");
        format!("people?{query}&format=csv&types={types}")
    };
    let declared = r#"{"ID":"varchar","score":"DECIMAL(6, 2)"}"#;
    let (status, shown) = load(&world, &typed("mode=create&dry_run=true", declared), PEOPLE).await;
    assert_eq!((status, &shown["rows"][0][0]), (200, &json!("1")), "{shown}");
    assert_eq!(shown["columns"][3], json!({"name": "score", "type": "DECIMAL(6,2)"}));
    let (status, loaded) = load(&world, &typed("mode=create", declared), PEOPLE).await;
    assert_eq!((status, &loaded["rows_loaded"]), (200, &json!(2)), "{loaded}");
    let rows = || async { world.run("select id, score from people order by id").await.unwrap().json };
    assert_eq!(rows().await, r#"["1",1.50],["2",2.00]"#);
    for (query, types, told) in [
        (
            "mode=replace",
            r#"{"name":"BIGINT"}"#,
            "line 2 of the file: column name has a value that is no BIGINT; nothing was loaded",
        ),
        ("mode=replace", r#"{"nope":"DATE"}"#, "the file has no column nope"),
        ("mode=append", r#"{"id":"BIGINT"}"#, "rows that are added have the types of their table: leave the types out"),
    ] {
        let refused = load(&world, &typed(query, types), PEOPLE).await;
        assert_eq!(message(&refused), (400, told), "{types}");
    }
    assert_eq!(rows().await, r#"["1",1.50],["2",2.00]"#);
    world.stop().await;
}

#[tokio::test]
async fn rows_are_added_by_the_names_of_columns_and_replaced_whole() {
    let world = world().await;
    world.run("create table t (id integer, amount decimal(12,2), note varchar(5) default 'none')").await.unwrap();
    let added = load(&world, "main.t?mode=append&format=csv", "Amount,ID\n10.50,1\n,2\n").await;
    assert_eq!((added.0, &added.1["rows_loaded"]), (200, &json!(2)), "{}", added.1);
    let rows = || async { world.run("select id, amount, note from t order by id").await.unwrap().json };
    assert_eq!(rows().await, r#"[1,10.50,"none"],[2,null,"none"]"#);
    for (body, told) in [
        ("id,nope\n1,2\n", "the file: table main.t has no column nope: it has id, amount, note; nothing was loaded"),
        ("id,ID\n1,2\n", "the file: it has two columns ID; nothing was loaded"),
        ("id\n3\nx\n", "line 3 of the file: column id has a value that is no INTEGER; nothing was loaded"),
        ("id,note\n3,much too long\n", "value too long for type character varying(5)"),
    ] {
        let refused = load(&world, "t?mode=append&format=csv", body).await;
        assert_eq!(message(&refused), (400, told), "{body}");
    }
    assert_eq!(rows().await, r#"[1,10.50,"none"],[2,null,"none"]"#);
    assert_eq!(load(&world, "absent?mode=append&format=csv", "id\n1\n").await.0, 404);
    let replaced = load(&world, "t?mode=replace&format=csv", "id\n7\n").await;
    assert_eq!((replaced.0, &replaced.1["rows_loaded"]), (200, &json!(1)), "{}", replaced.1);
    assert_eq!(world.run("select * from t").await.unwrap().json, "[7]");
    world.stop().await;
}

#[tokio::test]
async fn json_lines_and_parquet_say_their_own_types() {
    let world = world().await;
    let lines = "{\"id\": 1, \"tags\": [\"a\"], \"more\": {\"x\": 1}}\n{\"id\": 2, \"day\": \"2024-01-02\"}\n";
    let (status, loaded) = load(&world, "events?mode=create&format=jsonl", lines).await;
    assert_eq!((status, &loaded["rows_loaded"]), (200, &json!(2)), "{loaded}");
    let read = "select id, tags, more, day from events order by id";
    let rows = r#"[1,["a"],{"x":1},null],[2,null,null,"2024-01-02"]"#;
    assert_eq!(world.run(read).await.unwrap().json, rows);
    let added = load(&world, "events?mode=append&format=jsonl", "{\"id\": 3, \"more\": [1]}\n").await;
    assert_eq!((added.0, &added.1["rows_loaded"]), (200, &json!(1)), "{}", added.1);
    let made = world.spool().join("made.parquet");
    let sql = "select id::bigint as id, name, balance, date '2024-01-02' as day from raw.main.customer";
    world.behind_our_back(&format!("copy ({sql}) to '{}' (format parquet)", made.display())).await;
    let parquet = std::fs::read(&made).unwrap();
    std::fs::remove_file(&made).unwrap();
    let (status, loaded) = load(&world, "copied?mode=create&format=parquet", parquet.clone()).await;
    assert_eq!((status, &loaded["rows_loaded"]), (200, &json!(3)), "{loaded}");
    assert_eq!(loaded["columns"][2], json!({"name": "balance", "type": "DECIMAL(12,2)"}));
    let added = load(&world, "copied?mode=append&format=parquet", parquet.clone()).await;
    assert_eq!((added.0, &added.1["rows_loaded"]), (200, &json!(3)), "{}", added.1);
    assert_eq!(world.count("select count(*) from raw.main.copied").await, 6);
    let typed = "texts?mode=create&format=parquet&types=%7B%22id%22:%22VARCHAR%22%7D";
    let (status, loaded) = load(&world, typed, parquet.clone()).await;
    assert_eq!((status, &loaded["columns"][0]["type"]), (200, &json!("VARCHAR")), "{loaded}");
    let broken = parquet[..parquet.len() - 20].to_vec();
    let refused = load(&world, "copied?mode=append&format=parquet", broken).await;
    assert_eq!(message(&refused), (400, "the file: it is no whole Parquet file; nothing was loaded"));
    world.stop().await;
}

#[tokio::test]
async fn a_file_with_a_fault_is_refused_by_its_line_and_leaves_nothing() {
    let world = world().await;
    let long = format!("a\n1\n{}\n", "x".repeat((4 << 20) + 1));
    let many = format!("a,b\n{}1,2,3\n", "1,2\n".repeat(5_000));
    for (format, body, line, reason) in [
        ("csv", "a,b\n1,2\n3\n", 3, "it has 1 values for 2 columns"),
        ("csv", many.as_str(), 5_002, "it has 3 values for 2 columns"),
        ("csv", "a,b\n1,\"2\n", 2, "a quote is not closed"),
        ("csv", "\n1,2\n", 1, "the header is missing: the first line names the columns"),
        ("csv", long.as_str(), 3, "it is longer than 4 MiB"),
        ("jsonl", "{\"a\": 1}\n{\"a\": \n", 3, "it is no whole JSON object"),
    ] {
        let refused = load(&world, &format!("made?mode=create&format={format}"), body.to_owned()).await;
        let told = format!("line {line} of the file: {reason}; nothing was loaded");
        assert_eq!(message(&refused), (400, told.as_str()));
        assert_eq!(refused.1["error"]["details"]["line"], line);
    }
    for (format, body) in [("csv", ""), ("jsonl", "[1]\n"), ("parquet", "a,b\n1,2\n")] {
        assert_eq!(load(&world, &format!("made?mode=create&format={format}"), body).await.0, 400, "{format} {body}");
    }
    let broken = stream::iter([Ok("a,b\n1,2\n"), Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))]);
    let refused = load(&world, "made?mode=create&format=csv", Body::from_stream(broken)).await;
    assert_eq!(message(&refused), (400, "the body broke off before its end"));
    assert!(world.run("select * from made").await.is_err());
    world.stop().await;
}

#[tokio::test]
async fn what_is_no_load_is_refused_by_its_field() {
    let world = world().await;
    for query in [
        "t?mode=create",
        "t?mode=upsert&format=csv",
        "t?mode=create&format=xml",
        "t?mode=create&format=csv&delimiter=;",
        "a.b.c?mode=create&format=csv",
        "_svc_memory.memories?mode=append&format=csv",
        "pg_temp.t?mode=create&format=csv",
    ] {
        let refused = load(&world, query, "a\n1\n").await;
        assert!((400..500).contains(&refused.0), "{query}: {refused:?}");
    }
    let request = Request::post("/v1/environments/env-1/tables/t/load?mode=create&format=csv")
        .header("content-length", (1_u64 << 40).to_string())
        .header(header::CALLER, caller(&owner_id()))
        .body(Body::from("a\n1\n"))
        .unwrap();
    let refused = answered(&world, request).await;
    assert_eq!((refused.0, &refused.1["error"]["details"]["limit"]), (413, &json!(128 << 20)), "{refused:?}");
    world.stop().await;
}

fn caller(who: &KeyId) -> String {
    let caller = Forwarded::of(Who::Key { key_id: who.clone() }, Some([127, 0, 0, 1].into()));
    serde_json::to_string(&caller).unwrap()
}

#[tokio::test]
async fn a_load_is_governed_as_an_insert_is() {
    let world = world().await;
    let by_analyst = async |query: &str, body: &'static str| load_by(&world, analyst_id(), query, body).await;
    for dry_run in ["", "&dry_run=true"] {
        let refused = by_analyst(&format!("customer?mode=append&format=csv{dry_run}"), "id\n4\n").await;
        let (status, told) = message(&refused);
        assert!(status == 403 && told.contains("developer"), "{told}");
    }
    world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer);
    world.change(|rules| rules.policies = vec![filtering("customer", "region = {region}")]);
    let count = async || world.count("select count(*) from raw.main.customer").await;
    let outside = by_analyst("customer?mode=append&format=csv", "id,region\n4,EU\n5,US\n").await;
    assert_eq!((outside.0, count().await), (403, 3), "one row is outside: {outside:?}");
    assert_eq!(by_analyst("customer?mode=append&format=csv", "id,region\n4,EU\n").await.0, 200);
    let replaced = by_analyst("customer?mode=replace&format=csv", "id,region\n4,EU\n").await;
    assert_eq!((replaced.0, count().await), (409, 4), "hidden rows are not dropped: {replaced:?}");
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", MaskFunction::Full)]);
    assert_eq!(by_analyst("customer?mode=append&format=csv", "id,ssn\n6,078-05-1120\n").await.0, 200);
    assert_eq!(world.analyst("select ssn from customer where id = 6").await.unwrap().json, r#"["***"]"#);
    world.change(|rules| rules.abac_policies = vec![denying("customer", &[Role::Owner])]);
    for mode in ["create", "append", "replace"] {
        let denied = by_analyst(&format!("customer?mode={mode}&format=csv"), "id\n7\n").await;
        assert_eq!((denied.0, count().await), (403, 5), "{mode}: {denied:?}");
    }
    world.change(|rules| rules.abac_policies.clear());
    world.change(|rules| rules.organization.limits.storage_limit_gb = Some(0));
    let full = by_analyst("customer?mode=append&format=csv", "id\n7\n").await;
    assert_eq!((full.0, count().await), (403, 5), "{full:?}");
    world.stop().await;
}

#[tokio::test]
async fn a_named_load_tells_its_rows_and_is_cancelled_whole_by_whoever_sends_it() {
    let world = world().await;
    let router = router(&world);
    let asked = |method: Method, path: &str, who: &KeyId, body: Body| {
        let request = Request::builder().method(method).uri(format!("/v1/environments/env-1/{path}"));
        let request = request.header(header::CALLER, caller(who)).header(header::OPERATION, "op-1");
        router.clone().oneshot(request.body(body).unwrap())
    };
    let operation = async |method: Method, who: &KeyId| {
        let response = asked(method, "operations/op-1", who, Body::empty()).await.unwrap();
        (response.status().as_u16(), as_json(response).await)
    };
    let (sender, pieces) = futures::channel::mpsc::unbounded::<Result<&str, std::io::Error>>();
    let path = "tables/made/load?mode=create&format=csv";
    assert_eq!(operation(Method::GET, &owner_id()).await.0, 404, "it has not begun");
    let watching = async {
        sender.unbounded_send(Ok("a\n1\n2\n")).unwrap();
        while operation(Method::GET, &owner_id()).await != (200, json!({"rows": 2})) {
            tokio::task::yield_now().await;
        }
        assert_eq!(operation(Method::DELETE, &analyst_id()).await.0, 404, "it is somebody else's");
        assert_eq!(operation(Method::DELETE, &owner_id()).await.0, 200);
        sender.close_channel();
    };
    let (loaded, ()) = tokio::join!(asked(Method::POST, path, &owner_id(), Body::from_stream(pieces)), watching);
    assert_eq!(loaded.unwrap().status(), 408);
    assert_eq!(operation(Method::GET, &owner_id()).await.0, 404, "it has ended");
    assert!(world.run("select * from made").await.is_err(), "nothing of it is there");
    world.stop().await;
}
