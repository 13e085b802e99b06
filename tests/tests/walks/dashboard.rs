//! Queries of the dashboard for its own pages, from a browser's session to the engine, the audit log and the bill.

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tests::World;

use super::query::entry;

/// The cookies of somebody who signs in with a password, and the second of them by itself.
async fn signed_in(world: &World) -> (String, String) {
    let users = format!("/v1/organizations/{}/users/invite", world.org_id);
    let (email, password) = ("ada@world.example", "correct horse battery");
    let invited = world.ok(Method::POST, &users, &world.owner, json!({"email": email, "role": "developer"})).await;
    let accepted = json!({"token": invited["invitation_token"], "password": password, "name": "Ada"});
    world.ok(Method::POST, "/v1/auth/accept-invitation", "", accepted).await;
    let login =
        Client::new().post(format!("{}/v1/auth/login", world.url)).header("x-requested-with", "sluice-dashboard");
    let opened = login.json(&json!({"email": email, "password": password})).send().await.unwrap();
    let set = opened.headers().get_all("set-cookie").iter();
    let cookies: Vec<_> = set.map(|line| line.to_str().unwrap().split(';').next().unwrap().to_owned()).collect();
    let csrf = cookies.iter().find_map(|cookie| cookie.strip_prefix("__Host-sluice_csrf=")).unwrap().to_owned();
    (cookies.join("; "), csrf)
}

/// The ids of the queries that the log lists.
async fn listed(world: &World, query: &str) -> Vec<String> {
    let path = format!("/v1/environments/{}/audit/queries{query}", world.env_id);
    let page = world.ok(Method::GET, &path, &world.owner, Value::Null).await;
    page["data"].as_array().unwrap().iter().map(|entry| entry["query_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_free_and_out_of_the_way_and_a_statement_of_the_same_session_is_not() {
    let world = World::new().await;
    let (cookies, csrf) = signed_in(&world).await;
    let path = |rest: &str| format!("{}/v1/environments/{}/{rest}", world.url, world.env_id);
    let by_session = |request: reqwest::RequestBuilder| {
        let headers = [("cookie", cookies.as_str()), ("x-csrf-token", csrf.as_str())];
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.header("x-requested-with", "sluice-dashboard").send()
    };
    let id_of = |answer: &Value| answer["query_id"].as_str().unwrap().to_owned();

    let page: Value = by_session(Client::new().get(path("catalogue"))).await.unwrap().json().await.unwrap();
    assert_eq!(page["rows"][0], json!(["main", "customers", "id", "NUMBER"]), "{page}");
    assert_eq!(page["credits_consumed"], 0.0);
    let text = entry(&world, &id_of(&page)).await["sql_original"].as_str().unwrap().to_owned();
    // the same but for its end, so that no answer is kept from the other
    let post = Client::new().post(path("query")).json(&json!({ "sql": format!("{text} limit 1000") }));
    let person: Value = by_session(post).await.unwrap().json().await.unwrap();
    assert_eq!((&person["rows"], &person["credits_consumed"]), (&page["rows"], &json!(1.0)), "{person}");
    let keyed = format!("/v1/environments/{}/catalogue", world.env_id);
    let key = world.ok(Method::GET, &keyed, &format!("ApiKey {}", world.key), Value::Null).await;

    for (answer, by_dashboard, origin) in
        [(&page, true, "dashboard"), (&person, false, "dashboard"), (&key, false, "rest")]
    {
        let entry = entry(&world, &id_of(answer)).await;
        assert_eq!((&entry["by_dashboard"], &entry["origin"]), (&json!(by_dashboard), &json!(origin)), "{entry}");
    }
    let page = id_of(&page);
    assert!(!listed(&world, "").await.contains(&page));
    for shown in [id_of(&person), id_of(&key)] {
        assert!(listed(&world, "").await.contains(&shown), "{shown}");
    }
    assert!(listed(&world, "?include_dashboard=true").await.contains(&page));
    let usage = format!("/v1/organizations/{}/billing/usage", world.org_id);
    let usage = world.ok(Method::GET, &usage, &world.owner, Value::Null).await;
    assert_eq!(usage["breakdown"]["queries"]["dashboard"], 1);
    let chain = format!("/v1/environments/{}/audit/admin/verify-chain", world.env_id);
    assert_eq!(world.ok(Method::GET, &chain, &world.owner, Value::Null).await["chain_valid"], true);
    world.end().await;
}
