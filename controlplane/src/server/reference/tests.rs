use std::collections::BTreeSet;

use axum::http::header::CONTENT_SECURITY_POLICY;
use serde_json::{Value, json};

use super::document;
use crate::server::endpoints;
use crate::testing::TestApp;

fn whole() -> Value {
    document(&endpoints::rows().iter().collect::<Vec<_>>())
}

#[test]
fn every_row_says_what_it_does() {
    for row in endpoints::rows() {
        let place = format!("{} {}: put `.says(\"…\")` after the row", row.method, row.path);
        assert!(row.says.len() > 10 && row.says.ends_with('.'), "{place}");
    }
}

/// `Json<Value>` would tell nothing of what is answered.
#[test]
fn every_shape_tells_what_it_holds() {
    let document = whole();
    let mut seen = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let bodies = operation["responses"].as_object().unwrap().values().chain([&operation["requestBody"]]);
            for schema in bodies.filter_map(|body| body.pointer("/content/application~1json/schema")) {
                let tells =
                    ["$ref", "properties", "anyOf", "oneOf"].iter().any(|keyword| schema.get(keyword).is_some());
                assert!(tells || schema["additionalProperties"].is_object(), "{method} {path}: {schema}");
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen} bodies");
}

/// Two types of one name: `#[schemars(rename = "…")]` tells them apart.
#[test]
fn every_name_of_a_shape_is_one_that_somebody_chose() {
    for name in whole()["components"]["schemas"].as_object().unwrap().keys() {
        assert!(!name.ends_with(|c: char| c.is_ascii_digit()), "{name}: rename one of the types");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    let document = whole();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    for reference in &found {
        let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
        assert!(target.is_some(), "{reference}");
    }
    assert!(found.len() > 50, "{} references", found.len());
}

#[test]
fn an_operation_tells_who_may_what_is_taken_and_what_is_answered() {
    let document = whole();
    let rotate = &document["paths"]["/v1/environments/{env_id}/api-keys/{key_id}/rotate"]["post"];
    assert_eq!(rotate["operationId"], "api_keys_rotate");
    assert_eq!(rotate["security"], json!([{"session": ["owner", "admin"]}, {"key": ["key:write"]}]));
    let parameters: Vec<_> =
        rotate["parameters"].as_array().unwrap().iter().map(|parameter| &parameter["name"]).collect();
    assert_eq!(parameters, ["env_id", "key_id", "Idempotency-Key"]);
    let statuses: Vec<_> = rotate["responses"].as_object().unwrap().keys().collect();
    assert_eq!(statuses, ["200", "400", "401", "403", "404", "409", "413", "415", "429", "500", "503"]);
    let shape = |body: &Value| body["content"]["application/json"]["schema"]["$ref"].clone();
    assert_eq!(shape(&rotate["requestBody"]), "#/components/schemas/ApiKeyRotationInput");
    assert_eq!(shape(&rotate["responses"]["200"]), "#/components/schemas/ApiKeyRotation");
}

#[test]
fn a_list_takes_its_filters_and_a_page() {
    let document = whole();
    let list = &document["paths"]["/v2/runtime/artifacts"]["get"]["parameters"];
    let names: Vec<_> = list.as_array().unwrap().iter().map(|parameter| &parameter["name"]).collect();
    assert_eq!(
        names,
        ["task_id", "project_id", "kind", "branch_id", "offset", "envelope", "limit", "cursor", "If-None-Match"]
    );
    assert_eq!((&list[0]["schema"]["type"], &list[6]["schema"]["maximum"]), (&json!("string"), &json!(1_000)));
}

#[tokio::test]
async fn the_document_is_what_is_served() {
    let app = TestApp::start().await;
    assert_eq!(app.get("/openapi.json", "").await.expect(200), whole());
}

#[tokio::test]
async fn without_the_runtime_the_document_has_none() {
    let app = TestApp::with(
        |config| config.v2_runtime_enabled = false,
        std::sync::Arc::new(platform::provisioner::Unattended),
    )
    .await;
    let document = app.get("/openapi.json", "").await.expect(200);
    assert!(document["paths"].as_object().unwrap().keys().all(|path| !path.starts_with("/v2/")));
    assert!(document["components"]["schemas"].get("Task").is_none());
}

#[tokio::test]
async fn a_page_asks_nobody_for_anything() {
    let app = TestApp::start().await;
    for path in ["/docs", "/docs/errors"] {
        let answer = app.get(path, "").await;
        let policy = answer.headers[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        let page = answer.expect(200);
        for outward in ["<script", "<img", "<link", "http:", "https:", " src=", "style="] {
            assert!(!page.as_str().unwrap().contains(outward), "{path} has {outward}");
        }
    }
}

#[tokio::test]
async fn the_page_has_every_operation_and_every_shape() {
    let app = TestApp::start().await;
    let page = app.get("/docs", "").await.expect(200);
    let (page, document) = (page.as_str().unwrap(), whole());
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let ids = operations.map(|operation| operation["operationId"].as_str().unwrap());
    for id in ids.chain(document["components"]["schemas"].as_object().unwrap().keys().map(String::as_str)) {
        assert!(page.contains(&format!("<details id=\"{id}\">")), "{id}");
    }
}

#[tokio::test]
async fn every_code_has_a_place_in_the_catalogue() {
    let app = TestApp::start().await;
    let page = app.get("/docs/errors", "").await.expect(200);
    for code in contract::Code::ALL.iter().flat_map(|code| [code.control_plane(), code.stable()]) {
        assert_eq!(page.as_str().unwrap().matches(&format!("id=\"{code}\"")).count(), 1, "{code}");
    }
}
