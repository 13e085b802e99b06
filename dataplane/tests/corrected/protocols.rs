//! The same statements over every protocol: what is corrected is corrected at each and marked before its rows; what is not is
//! refused at each.

use arrow::ipc::reader::StreamReader;
use dataplane::request::answer::HEALED;
use dataplane::testing::{analyst_key, demo_key};
use serde_json::{Value, json};
use tokio_postgres::error::SqlState;

use crate::agents_router::{as_json, post, router, rpc, tool, whole};
use crate::flight::{batches, client, status};
use crate::pgwire::{refused, simple, wired};
use crate::rest::query;
use crate::world::world;

const MISSPELT: &str = "select name form customer where id = 1";
const HOW: &str = "healed: form was read as FROM";

#[tokio::test]
async fn rest_says_it_in_a_header_of_every_format() {
    let world = world().await;
    for format in ["json", "csv", "arrow"] {
        let response = query(&world, json!({"sql": MISSPELT, "format": format})).await;
        assert_eq!(response.headers()["x-query-healed"], HOW, "{format}");
        let (body, _) = whole(response).await;
        match format {
            "json" => {
                let body: Value = serde_json::from_slice(&body).unwrap();
                assert_eq!((&body["rows"], &body["warnings"]), (&json!([["Ada"]]), &json!([HOW])));
            }
            "csv" => assert_eq!(String::from_utf8(body).unwrap(), "name\r\nAda\r\n"),
            _ => assert_eq!(StreamReader::try_new(body.as_slice(), None).unwrap().schema().metadata()[HEALED], HOW),
        }
        let plain = query(&world, json!({"sql": "select name from customer", "format": format})).await;
        assert!(!plain.headers().contains_key("x-query-healed"), "{format}");
        let off = query(&world, json!({"sql": MISSPELT, "format": format, "heal": "off"})).await;
        assert_eq!(off.status(), 400, "{format}");
    }
    let unknown = as_json(query(&world, json!({"sql": MISSPELT, "heal": "always"})).await).await;
    assert_eq!(unknown["error"]["code"], "SVC_ERR_400_INVALID_PARAMS");
    world.stop().await;
}

#[tokio::test]
async fn arrow_says_it_in_its_header_and_its_schema() {
    let world = world().await;
    let router = router(&world);
    let response = post(&router, "/v1/query/arrow", demo_key(), &[], &json!({"sql": MISSPELT})).await;
    assert_eq!(response.headers()["x-query-healed"], HOW);
    let (body, _) = whole(response).await;
    assert_eq!(StreamReader::try_new(body.as_slice(), None).unwrap().schema().metadata()[HEALED], HOW);
    let off = post(&router, "/v1/query/arrow", demo_key(), &[], &json!({"sql": MISSPELT, "heal": "off"})).await;
    assert_eq!(as_json(off).await["error"], "SVC_ERR_400_BAD_SQL");
    world.stop().await;
}

#[tokio::test]
async fn flight_says_it_in_the_schema_of_its_rows_and_describes_what_will_run() {
    let world = world().await;
    let router = router(&world);
    let mut client = client(&router, analyst_key());
    let info = client.execute(MISSPELT.to_owned(), None).await.unwrap();
    assert!(!info.schema.is_empty(), "it is described");
    let (schema, rows) = batches(&mut client, &info).await.unwrap();
    assert_eq!((schema.metadata()[HEALED].as_str(), rows[0].num_rows()), (HOW, 1));
    let mut prepared = client.prepare(MISSPELT.to_owned(), None).await.unwrap();
    assert_eq!(prepared.dataset_schema().unwrap().field(0).name(), "name");
    let info = prepared.execute().await.unwrap();
    assert_eq!(batches(&mut client, &info).await.unwrap().0.metadata()[HEALED], HOW);
    client.set_header("x-query-heal", "off");
    let info = client.execute(MISSPELT.to_owned(), None).await.unwrap();
    let refused = batches(&mut client, &info).await.unwrap_err();
    assert!(refused.message().starts_with("SVC_ERR_400_BAD_SQL"), "{refused}");
    client.set_header("x-query-heal", "always");
    let refused = status(client.execute(MISSPELT.to_owned(), None).await.unwrap_err());
    assert!(refused.message().contains("`always` is not a level of healing"), "{refused}");
    world.stop().await;
}

#[tokio::test]
async fn tools_say_it_in_a_text_of_its_own() {
    let world = world().await;
    let router = router(&world);
    for (name, has_warnings) in [("run_sql", true), ("run_sql_readonly", true), ("run_sql_arrow", false)] {
        let params = json!({"name": name, "arguments": {"sql": MISSPELT}});
        let result = rpc(&router, demo_key(), "tools/call", params).await["result"].clone();
        let told = format!("{HOW}; this was run: select name from customer where id = 1");
        let note = result["content"][1]["text"].as_str().unwrap();
        assert_eq!(note.lines().collect::<Vec<_>>(), [told.as_str(), "rows: 1, the whole answer"], "{result}");
        let warnings = &result["structuredContent"]["warnings"];
        assert_eq!(*warnings == json!([HOW]), has_warnings, "{result}");
        let (result, is_error) = tool(&router, demo_key(), name, json!({"sql": MISSPELT, "heal": "off"})).await;
        assert!(is_error && result["error"]["code"] == "SVC_ERR_400_BAD_SQL", "{result}");
    }
    let params = json!({"name": "run_sql", "arguments": {"sql": "select name from customer"}});
    let plain = rpc(&router, demo_key(), "tools/call", params).await;
    assert_eq!(plain["result"]["content"][1]["text"], "rows: 3, the whole answer");
    world.stop().await;
}

#[tokio::test]
async fn what_describes_or_lists_is_never_healed() {
    let world = world().await;
    let router = router(&world);
    for name in ["customers", "custmer", "KÄSE"] {
        let (result, is_error) = tool(&router, demo_key(), "describe_table", json!({"table_name": name})).await;
        assert!(is_error && result["error"]["code"] == "SVC_ERR_404_TABLE_NOT_FOUND", "{name}: {result}");
    }
    let near = json!({"table_name": "customers"});
    let (result, _) = tool(&router, demo_key(), "describe_table", near).await;
    assert_eq!(result["error"]["details"]["did_you_mean"], "main.customer");
    world.run(r#"create table "Käse" (n integer)"#).await.unwrap();
    let (result, is_error) = tool(&router, demo_key(), "describe_table", json!({"table_name": "KÄSE"})).await;
    assert!(is_error, "{result}");
    world.stop().await;
}

#[tokio::test]
async fn the_wire_says_it_in_a_notice_in_both_its_protocols_and_in_a_transaction() {
    let wired = wired().await;
    let client = wired.owner().await;
    let noticed = || wired.noticed().iter().map(|notice| notice.message().to_owned()).collect::<Vec<_>>();
    assert_eq!(simple(&client, MISSPELT).await, ["Ada", "(1)"]);
    assert_eq!(noticed(), [HOW]);
    let sql = "select name form customer where id = $1";
    let statement = client.prepare(sql).await.unwrap();
    assert_eq!((statement.columns()[0].name(), noticed().len()), ("name", 0), "it has no rows yet");
    assert_eq!(client.query_one(&statement, &[&2_i32]).await.unwrap().get::<_, &str>(0), "Bob");
    assert_eq!(noticed(), [HOW]);
    simple(&client, "begin").await;
    assert_eq!(simple(&client, MISSPELT).await, ["Ada", "(1)"]);
    assert_eq!(client.query(sql, &[&2_i32]).await.unwrap().len(), 1);
    simple(&client, "commit").await;
    assert_eq!(noticed(), [HOW, HOW]);
    simple(&client, "set heal = off").await;
    assert_eq!(simple(&client, "show heal").await, ["off", "(0)"]);
    let error = refused(&client, MISSPELT).await;
    assert_eq!(error.code(), &SqlState::SYNTAX_ERROR);
    assert_eq!(error.hint(), Some("this would run: select name from customer where id = 1"));
    assert!(client.prepare(MISSPELT).await.is_err());
    simple(&client, "reset heal; set heal to 'auto'").await;
    assert_eq!(simple(&client, "show heal").await, ["safe", "(0)"], "what the environment permits");
    wired.stop().await;
}

#[tokio::test]
async fn another_name_is_refused_by_every_protocol() {
    let wired = wired().await;
    let world = &wired.world;
    world.run("create table kpi (revenue_2024 integer)").await.unwrap();
    let sql = "select sum(revenue_2023) from kpi";
    let message = "column revenue_2023 does not exist; did you mean revenue_2024?";
    let rest = as_json(query(world, json!({"sql": sql})).await).await;
    assert_eq!(rest["error"]["message"], message);
    let suggestion = "select sum(revenue_2024) from kpi";
    assert_eq!(rest["error"]["details"]["suggestion"], suggestion);
    let router = router(world);
    let (result, is_error) = tool(&router, demo_key(), "run_sql", json!({"sql": sql})).await;
    assert!(is_error && result["error"]["details"]["suggestion"] == suggestion, "{result}");
    let mut flight = client(&router, demo_key());
    let info = flight.execute(sql.to_owned(), None).await.unwrap();
    assert!(batches(&mut flight, &info).await.unwrap_err().message().ends_with(message));
    let pg = wired.owner().await;
    let hint = format!("did you mean revenue_2024?\nthis would run: {suggestion}");
    let told = refused(&pg, sql).await;
    assert_eq!((told.message(), told.hint()), (message, Some(hint.as_str())));
    let extended = pg.query(sql, &[]).await.unwrap_err();
    assert_eq!(extended.as_db_error().unwrap().message(), message);
    wired.stop().await;
}
