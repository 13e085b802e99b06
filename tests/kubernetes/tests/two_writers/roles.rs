use std::collections::BTreeSet;

use controlplane::server::kubernetes::RULES;
use kube::api::Api;
use kubernetes::audit::Audit;
use kubernetes::bench::eventually;
use kubernetes::until;
use reqwest::Method;
use serde_json::{Value, json};

use super::Platform;

/// Creating is not in the log: a server-side apply that makes an object is a `patch` there.
#[tokio::test]
async fn the_roles_permit_what_is_asked_and_nothing_more() {
    let audit = Audit::begin();
    let mut platform = Platform::start("roles").await;
    let user = format!("system:serviceaccount:{}:sluice-controlplane", platform.world.namespace);
    platform.expect(200, Method::PUT, &platform.path(""), json!({"name": "Other"})).await;
    let body = json!({"name": "Dev", "slug": "dev"});
    let made = platform.expect(201, Method::POST, &platform.path("/environments"), body).await;
    let keys = format!("/v1/environments/{}/api-keys", made["env_id"].as_str().unwrap());
    let key = platform.expect(201, Method::POST, &keys, json!({"name": "ci", "scopes": ["query:read"]})).await;
    let key_id = key["key_id"].as_str().unwrap();
    let objects: Api<crds::ApiKey> = platform.world.api();
    until(&objects, &format!("key-{key_id}"), "there", |_| true).await;
    super::keys::rotated_by_rest(&platform, made["env_id"].as_str().unwrap()).await;
    let path = platform.path(&format!("/environments/{}", made["env_id"].as_str().unwrap()));
    platform.expect(200, Method::GET, &path, Value::Null).await;
    platform.expect(200, Method::DELETE, &format!("{path}?confirm=Dev"), Value::Null).await;
    platform.pause().await;
    let permitted: BTreeSet<(String, String)> = RULES
        .iter()
        .flat_map(|rule| rule.verbs.iter().map(|verb| (rule.resource.to_owned(), (*verb).to_owned())))
        .filter(|(_, verb)| verb != "create")
        .collect();
    let asked = || -> BTreeSet<(String, String)> {
        audit.of(&user).into_iter().map(|request| (request.resource, request.verb)).collect()
    };
    // A watch is in the log when it has ended, which the API server notices some time after its client.
    eventually("all that is permitted is asked", async || permitted.is_subset(&asked())).await;
    assert_eq!(asked(), permitted);
    let refused: Vec<_> = audit.of(&user).into_iter().filter(|request| request.code == 403).collect();
    assert!(refused.is_empty(), "{refused:?}");
}
