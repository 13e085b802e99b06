//! Who is signed in asks an environment's own endpoints with the token that they have: with their role, and one that
//! they were lent, until they sign out.

use reqwest::Method;
use serde_json::{Value, json};
use tests::World;

use crate::agents;

/// The token of somebody new in this role.
async fn signed_in(world: &World, role: &str) -> String {
    let users = format!("/v1/organizations/{}/users/invite", world.org_id);
    let invited =
        world.ok(Method::POST, &users, &world.owner, json!({"email": "ada@world.example", "role": role})).await;
    let accepted = json!({"token": invited["invitation_token"], "password": "correct horse battery", "name": "Ada"});
    let account = world.ok(Method::POST, "/v1/auth/accept-invitation", "", accepted).await;
    account["token"].as_str().unwrap().to_owned()
}

/// A tool's answer by token: the status, and the result.
async fn tool(url: &str, token: &str, sql: &str) -> (u16, Value) {
    let call = json!({"name": "run_sql", "arguments": {"sql": sql}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
    let answer = reqwest::Client::new().post(url).bearer_auth(token).json(&message).send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json::<Value>().await.unwrap()["result"].clone())
}

async fn arrow(url: &str, token: &str) -> u16 {
    let url = url.replace("/mcp", "/v1/query/arrow");
    let asked = reqwest::Client::new().post(url).bearer_auth(token).json(&json!({"sql": "select 1 as n"}));
    asked.send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_accepted_by_the_agent_tool_server_with_its_users_role_until_they_sign_out() {
    let world = World::new().await;
    let (url, token) = (agents::url(&world).await, signed_in(&world, "analyst").await);
    let write = "update customers set name = 'Alicia' where id = 1";
    let (status, read) = tool(&url, &token, "select count(*) as n from customers").await;
    assert_eq!((status, &read["isError"]), (200, &json!(false)), "{read}");
    let (_, refused) = tool(&url, &token, write).await;
    assert_eq!(agents::refusal(&refused)["error"]["code"], "FORBIDDEN", "{refused}");
    assert_eq!(arrow(&url, &token).await, 200);

    let (path, auth) = (format!("/v1/environments/{}/jit-access", world.env_id), format!("Bearer {token}"));
    let wish = json!({"requested_role": "developer", "reason": "mend a name", "duration_minutes": 30});
    let asked = world.ok(Method::POST, &path, &auth, wish).await;
    let path = format!("{path}/{}/approve", asked["request_id"].as_str().unwrap());
    world.ok(Method::POST, &path, &world.owner, Value::Null).await;
    assert_eq!(tool(&url, &token, write).await.1["isError"], false, "a role that was lent");

    world.ok(Method::POST, "/v1/auth/logout", &auth, Value::Null).await;
    assert_eq!((tool(&url, &token, "select 1 as n").await.0, arrow(&url, &token).await), (401, 401));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_another_organization_or_of_nobody_opens_nothing() {
    let world = World::bare().await;
    let url = agents::url(&world).await;
    let signup = json!({"name": "Other", "email": "other@else.example", "password": "correct horse battery", "org_name": "Else"});
    let stranger = world.ok(Method::POST, "/v1/signup", "", signup).await;
    let own = world.owner.strip_prefix("Bearer ").unwrap();
    let forged = format!("{own}x");
    for token in [stranger["token"].as_str().unwrap(), forged.as_str(), "a.b.c", "a"] {
        assert_eq!((tool(&url, token, "select 1 as n").await.0, arrow(&url, token).await), (401, 401), "{token}");
    }
    assert_eq!((tool(&url, own, "select 1 as n").await.0, arrow(&url, own).await), (200, 200));
    world.end().await;
}
