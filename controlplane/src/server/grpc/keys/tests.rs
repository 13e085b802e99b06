use contract::EnvId;
use contract::wire::{CONTROL_PLANE_NAME, OPERATOR_NAME, environment_name};
use serde_json::json;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::proto::keys_client::KeysClient;
use super::proto::{DeliveredRequest, Key, PutRequest, RevokeRequest, key};
use crate::server::grpc::tests::Served;

struct Operator {
    served: Served,
    client: KeysClient<Channel>,
}

impl Operator {
    async fn start() -> Self {
        let served = Served::start().await;
        let client = KeysClient::new(served.channel(&[OPERATOR_NAME]).await);
        Self { served, client }
    }

    /// The resource `uid`, whose text is wanted.
    fn wanted(&self, uid: &str) -> PutRequest {
        PutRequest {
            resource_uid: uid.to_owned(),
            env_id: self.served.world.env_id.to_string(),
            name: uid.to_owned(),
            scopes: vec!["query:read".to_owned()],
            grace_period_hours: 72,
            text_wanted: true,
            ..PutRequest::default()
        }
    }

    async fn put(&mut self, wanted: PutRequest) -> Result<Key, Status> {
        self.client.put(wanted).await.map(tonic::Response::into_inner)
    }

    async fn delivered(&mut self, uid: &str, rotation_id: Option<&str>) -> Key {
        let request = DeliveredRequest { resource_uid: uid.to_owned(), rotation_id: rotation_id.map(str::to_owned) };
        self.client.delivered(request).await.unwrap().into_inner()
    }

    async fn revoke(&mut self, uid: &str, key_id: Option<&str>) -> Key {
        let request = RevokeRequest { resource_uid: uid.to_owned(), key_id: key_id.map(str::to_owned) };
        self.client.revoke(request).await.unwrap().into_inner()
    }

    /// Is the text the key?
    async fn opens(&self, text: &str) -> bool {
        let me = self.served.world.app.get("/v1/auth/me", &format!("ApiKey {text}")).await;
        me.status.as_u16() == 200
    }

    async fn events(&self, event_type: &str) -> i64 {
        self.served.world.count(&format!("select count(*) from iam_events where event_type = '{event_type}'")).await
    }
}

fn text(key: &Key) -> String {
    key.text.clone().unwrap()
}

#[tokio::test]
async fn a_text_is_given_afresh_until_it_was_delivered_and_never_again() {
    let mut operator = Operator::start().await;
    let made = operator.events("key.created").await;
    let first = operator.put(operator.wanted("u1")).await.unwrap();
    let second = operator.put(operator.wanted("u1")).await.unwrap();
    assert_eq!(first.key_id, second.key_id);
    assert!(!operator.opens(&text(&first)).await, "nobody has kept the first text");
    assert!(operator.opens(&text(&second)).await);
    operator.delivered("u1", None).await;
    let third = operator.put(operator.wanted("u1")).await.unwrap();
    assert_eq!((&third.text, third.status()), (&None, key::Status::Active));
    assert_eq!(third.prefix, second.prefix);
    assert!(operator.opens(second.text.as_deref().unwrap()).await);
    assert_eq!(operator.events("key.created").await, made + 1);
    operator.served.stop();
}

#[tokio::test]
async fn a_new_rotation_gives_a_new_text_and_the_old_one_its_grace() {
    let mut operator = Operator::start().await;
    let first = operator.put(operator.wanted("u1")).await.unwrap();
    operator.delivered("u1", None).await;
    let rotated = PutRequest { rotation_id: Some("2".to_owned()), grace_period_hours: 1, ..operator.wanted("u1") };
    let second = operator.put(rotated.clone()).await.unwrap();
    assert_eq!((second.key_id.as_str(), second.rotation_id.as_str()), (first.key_id.as_str(), "2"));
    operator.delivered("u1", None).await;
    let again = operator.put(rotated.clone()).await.unwrap();
    assert_ne!(again.prefix, second.prefix, "what was delivered was an earlier rotation");
    operator.delivered("u1", Some("2")).await;
    assert_eq!(operator.put(rotated).await.unwrap().text, None);
    assert!(operator.opens(&text(&first)).await && operator.opens(&text(&again)).await);
    operator.served.world.app.advance(chrono::Duration::hours(1));
    assert!(!operator.opens(&text(&first)).await && operator.opens(&text(&again)).await);
    assert_eq!(operator.events("key.rotated").await, 1);
    operator.served.stop();
}

#[tokio::test]
async fn a_key_becomes_what_its_resource_says() {
    let mut operator = Operator::start().await;
    let made = operator.put(operator.wanted("u1")).await.unwrap();
    operator.delivered("u1", None).await;
    let changed = PutRequest {
        scopes: vec!["key:*".to_owned()],
        ip_allowlist: vec!["10.0.0.0/8".to_owned()],
        expires_in_days: Some(30),
        ..operator.wanted("u1")
    };
    let told = operator.put(changed.clone()).await.unwrap();
    assert_eq!(told.expires_at, "2026-10-21T14:13:20.000000Z");
    operator.put(changed).await.unwrap();
    assert_eq!(operator.events("key.updated").await, 1, "said twice, changed once");
    let world = &operator.served.world;
    let listed = world.app.get(&world.env("api-keys"), &world.owner).await.expect(200);
    let key = listed["data"].as_array().unwrap().iter().find(|key| key["key_id"] == made.key_id).unwrap();
    assert_eq!((&key["scopes"], &key["ip_allowlist"]), (&json!(["key:*"]), &json!(["10.0.0.0/8"])));
    operator.served.stop();
}

#[tokio::test]
async fn a_resource_revokes_its_own_key_and_no_other() {
    let mut operator = Operator::start().await;
    let made = operator.put(operator.wanted("u1")).await.unwrap();
    for (uid, key_id) in [("u2", Some(made.key_id.as_str())), ("u2", None)] {
        assert_eq!(operator.revoke(uid, key_id).await.key_id, "", "{uid} {key_id:?}");
    }
    assert!(operator.opens(&text(&made)).await);
    // that it was made to name another since keeps nothing open
    for key_id in ["another", made.key_id.as_str()] {
        let revoked = operator.revoke("u1", Some(key_id)).await;
        assert_eq!((revoked.key_id.as_str(), revoked.status()), (made.key_id.as_str(), key::Status::Revoked));
    }
    assert!(!operator.opens(&text(&made)).await);
    assert_eq!(operator.put(operator.wanted("u1")).await.unwrap().text, None, "what is revoked stays so");
    assert_eq!(operator.events("key.revoked").await, 1);
    operator.served.stop();
}

#[tokio::test]
async fn a_key_that_rest_made_is_described_and_nothing_else() {
    let mut operator = Operator::start().await;
    let made = operator.served.world.create_key(json!({"name": "ci", "scopes": ["query:read"]})).await;
    let key_id = made["key_id"].as_str().map(str::to_owned);
    let named = PutRequest { name: "ci".to_owned(), key_id, ..operator.wanted("u1") };
    let told = operator.put(named.clone()).await.unwrap();
    assert_eq!((&told.text, told.status()), (&None, key::Status::Active));
    assert_eq!(json!(told.prefix), made["prefix"]);
    let wider = PutRequest { scopes: vec!["key:*".to_owned()], ..named.clone() };
    let refused = operator.put(wider).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
    assert!(refused.message().contains("`scopes`"), "{refused}");
    let rotated = PutRequest { rotation_id: Some("2".to_owned()), ..named.clone() };
    assert!(operator.put(rotated).await.unwrap_err().message().contains("`rotation`"));
    let elsewhere = PutRequest { env_id: "elsewhere".to_owned(), ..named };
    assert_eq!(operator.put(elsewhere).await.unwrap().key_id, "", "a key is of one environment");
    operator.served.stop();
}

#[tokio::test]
async fn what_rest_would_refuse_is_refused() {
    let mut operator = Operator::start().await;
    operator.put(operator.wanted("u1")).await.unwrap();
    let owner = operator.served.world.owner_id.to_string();
    let wanted = || operator.wanted("u2");
    let cases = [
        (PutRequest { scopes: vec!["query:admin".to_owned()], ..wanted() }, Code::InvalidArgument),
        (PutRequest { ip_allowlist: vec!["10.0.0.0/99".to_owned()], ..wanted() }, Code::InvalidArgument),
        (PutRequest { user_id: Some("nobody".to_owned()), ..wanted() }, Code::InvalidArgument),
        (PutRequest { grace_period_hours: 169, ..wanted() }, Code::InvalidArgument),
        (PutRequest { resource_uid: String::new(), ..wanted() }, Code::InvalidArgument),
        (PutRequest { user_id: Some(owner), ..wanted() }, Code::FailedPrecondition),
        (PutRequest { name: "u1".to_owned(), ..wanted() }, Code::AlreadyExists),
        (PutRequest { env_id: "nowhere".to_owned(), ..wanted() }, Code::NotFound),
    ];
    for (wanted, code) in cases {
        let refused = operator.put(wanted.clone()).await.unwrap_err();
        assert_eq!(refused.code(), code, "{wanted:?}: {refused:?}");
    }
    let world = &operator.served.world;
    world.sql("update organizations set quotas = '{\"max_api_keys_per_environment\": 2}'").await;
    assert_eq!(operator.put(operator.wanted("u2")).await.unwrap_err().code(), Code::ResourceExhausted);
    operator.served.stop();
}

#[tokio::test]
async fn only_the_operators_certificate_is_served() {
    let operator = Operator::start().await;
    let environment = environment_name(&EnvId::from("e"));
    for names in [&[CONTROL_PLANE_NAME][..], &[environment.as_str()], &[OPERATOR_NAME, environment.as_str()]] {
        let mut client = KeysClient::new(operator.served.channel(names).await);
        let refused = client.put(operator.wanted("u1")).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{names:?}");
    }
    operator.served.stop();
}
