use contract::EnvId;
use contract::wire::{VouchRefusal, Vouched, Who, environment_name};
use serde_json::{Value, json};

use super::proto::VouchRequest;
use super::tests::Served;

/// What the data plane of this environment is told of a token.
async fn vouch(served: &Served, env_id: &EnvId, token: &str) -> Vouched {
    let mut client = served.client(&environment_name(env_id)).await;
    let reply = client.vouch(VouchRequest { token: token.to_owned() }).await.unwrap();
    serde_json::from_slice(&reply.into_inner().answer).unwrap()
}

/// The token of a new session of the world's owner.
async fn signed_in(served: &Served) -> String {
    let body = json!({"email": "olga@acme.example", "password": "a password that is long enough 7"});
    let account = served.world.app.post("/v1/auth/login", "", body).await.expect(200);
    account["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_token_is_its_users_in_the_environments_of_its_organization_alone() {
    let served = Served::start().await;
    let own = served.world.env_id.clone();
    let told = vouch(&served, &own, &signed_in(&served).await).await;
    assert!(matches!(told, Ok(Who::Session { user_id, .. }) if user_id == served.world.owner_id));
    let stranger = served.world.app.signup("sven", "Elsewhere").await;
    for token in [stranger["token"].as_str().unwrap(), "", "a.b.c", &served.world.owner] {
        assert_eq!(vouch(&served, &own, token).await, Err(VouchRefusal::Invalid), "{token}");
    }
    let nowhere = vouch(&served, &EnvId::from("nowhere"), &signed_in(&served).await).await;
    assert_eq!(nowhere, Err(VouchRefusal::Invalid));
    served.stop();
}

#[tokio::test]
async fn a_token_is_nobodys_once_its_session_has_ended_or_lacks_what_is_asked_for() {
    let served = Served::start().await;
    let env_id = served.world.env_id.clone();
    let (one, other) = (signed_in(&served).await, signed_in(&served).await);
    served.world.app.post("/v1/auth/logout", &format!("Bearer {one}"), Value::Null).await.expect(200);
    assert_eq!(vouch(&served, &env_id, &one).await, Err(VouchRefusal::Invalid));
    assert!(vouch(&served, &env_id, &other).await.is_ok());
    served.world.sql("update organizations set mfa_required = true").await;
    assert_eq!(vouch(&served, &env_id, &other).await, Err(VouchRefusal::SecondFactor));
    served.world.sql("update organizations set mfa_required = false").await;
    served.world.app.advance(chrono::Duration::hours(1));
    assert_eq!(vouch(&served, &env_id, &other).await, Err(VouchRefusal::Expired));
    served.stop();
}
