use kube::{Client, Config};
use kubernetes::World;
use serde_json::json;

use super::platform::{database, start};

#[tokio::test]
async fn without_an_api_server_rest_says_503_and_makes_nothing() {
    let world = World::new("away").await;
    let database = database(&world.namespace).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::try_from(Config::new(nobody.parse().unwrap())).unwrap();
    let (running, stop) = start(&database, &world.namespace, client, None).await;
    let body =
        json!({"name": "Ada", "email": "ada@example.com", "password": "correct horse battery", "org_name": "Ada"});
    let url = |path: &str| format!("http://{}{path}", running.http);
    let answer = reqwest::Client::new().post(url("/v1/signup")).json(&body).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 503);
    assert!(answer.headers().contains_key("retry-after"));
    let body = json!({"email": "ada@example.com", "password": "correct horse battery"});
    let answer = reqwest::Client::new().post(url("/v1/auth/login")).json(&body).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 401, "no account was left behind");
    stop.cancel();
    running.drained().await;
}
