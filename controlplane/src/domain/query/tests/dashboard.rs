//! Queries of a browser's session, and those of the dashboard for its own pages.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use super::{echo, own_data_plane};
use crate::testing::{Answer, bearer};
use crate::worlds::World;

/// The cookies of somebody new, the second of them, and the token that is behind them.
struct Browser {
    cookies: String,
    csrf: String,
    token: String,
}

impl Browser {
    async fn of(world: &World, role: &str) -> Self {
        let invite = json!({"email": "ann@acme.example", "role": role});
        let invited = world.app.post(&world.org("users/invite"), &world.owner, invite).await.expect(201);
        let body = json!({"token": invited["invitation_token"], "password": world.app.password(), "name": "Ann"});
        world.app.post("/v1/auth/accept-invitation", "", body).await.expect(200);
        let login = json!({"email": "ann@acme.example", "password": world.app.password()});
        let dashboard = [("x-requested-with", "sluice-dashboard")];
        let opened = asked(world, Method::POST, "/v1/auth/login", &dashboard, login).await;
        let set = opened.headers.get_all("set-cookie").iter();
        let set = set.map(|line| line.to_str().unwrap().split_once(';').unwrap().0);
        let cookies = set.collect::<Vec<_>>().join("; ");
        let (_, csrf) = cookies.split_once("__Host-sluice_csrf=").unwrap();
        let csrf = csrf.split(';').next().unwrap().to_owned();
        Self { csrf, cookies, token: bearer(&opened.body) }
    }

    fn headers(&self) -> [(&str, &str); 2] {
        [("cookie", self.cookies.as_str()), ("x-csrf-token", self.csrf.as_str())]
    }
}

async fn asked(world: &World, method: Method, path: &str, headers: &[(&str, &str)], body: Value) -> Answer {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    world.app.send(request.body(Body::from(body.to_string())).unwrap()).await
}

/// As the data plane was told who asks: the origin, and whether the dashboard asks for itself.
fn told(answer: &Answer) -> (Value, Value) {
    let caller = &answer.body["rows"][0][0]["caller"];
    (caller["origin"].clone(), caller["by_dashboard"].clone())
}

/// The origin `dashboard` of attribute rules: a session in a browser's cookies, and nothing else.
#[tokio::test]
async fn what_a_browsers_cookies_ask_has_come_through_the_dashboard() {
    let world = World::start().await;
    own_data_plane(&world, echo).await;
    let browser = Browser::of(&world, "analyst").await;
    for (headers, origin) in [
        (browser.headers().to_vec(), json!("dashboard")),
        (vec![("cookie", browser.cookies.as_str()), ("authorization", browser.token.as_str())], Value::Null),
        (vec![("authorization", world.owner.as_str())], Value::Null),
    ] {
        let query = json!({"sql": "select 1"});
        let answer = asked(&world, Method::POST, &world.env("query"), &headers, query).await;
        assert_eq!(told(&answer), (origin, Value::Null), "{}", answer.body);
        answer.expect(200);
    }
}

/// It costs nothing, so that no header and no statement of a caller may lead there.
#[tokio::test]
async fn the_dashboard_asks_for_itself_by_a_browsers_session_and_a_statement_of_ours_alone() {
    let world = World::start().await;
    own_data_plane(&world, echo).await;
    let browser = Browser::of(&world, "analyst").await;
    let own = browser.headers();
    let claims = [
        ("x-requested-with", "sluice-dashboard"),
        (
            "x-sluice-caller",
            r#"{"credential":"key","key_id":"k","peer":null,"origin":"dashboard","by_dashboard":true}"#,
        ),
        ("referer", "http://localhost/catalogue"),
    ];
    let answer = asked(&world, Method::GET, &world.env("catalogue"), &own, json!({})).await;
    assert_eq!(told(&answer), (json!("dashboard"), json!(true)), "{}", answer.body);
    let key = world.key(&["query:read"]).await;
    for credential in [&browser.token, &world.owner, &key] {
        let headers = [claims.to_vec(), vec![("authorization", credential.as_str())]].concat();
        let answer = asked(&world, Method::GET, &world.env("catalogue"), &headers, json!({})).await;
        assert_eq!(told(&answer).1, Value::Null, "{}", answer.body);
        answer.expect(200);
    }
    let claimed = [claims.to_vec(), own.to_vec()].concat();
    for sql in ["select 1", super::super::catalogue::COLUMNS] {
        let answer = asked(&world, Method::POST, &world.env("query"), &claimed, json!({ "sql": sql })).await;
        assert_eq!(told(&answer), (json!("dashboard"), Value::Null), "{}", answer.body);
        let refused = json!({"sql": sql, "by_dashboard": true});
        let answer = asked(&world, Method::POST, &world.env("query"), &own, refused).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"));
    }
}
