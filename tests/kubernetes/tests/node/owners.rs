//! An organization that was made by kubectl gets an owner: the token is in a Secret until it is used.

use k8s_openapi::api::core::v1::Secret;
use kube::api::DeleteParams;
use kubernetes::until;
use reqwest::Method;
use serde_json::{Value, json};

use super::installation::{Rest, Tenant, entry, shared};

#[tokio::test]
async fn who_is_billed_owns_the_organization_by_the_token_in_its_secret() {
    let tenant = Tenant::applied(shared().await, "owned").await;
    let (secrets, name) = (tenant.world.api::<Secret>(), "owned-owner-invitation");
    let secret = until(&secrets, name, "there", |_| true).await;
    assert_eq!(secret.metadata.owner_references.unwrap()[0].kind, "Organization");
    assert_eq!(entry(&tenant.world, name, "email").await, "owned@example.com");
    assert!(entry(&tenant.world, name, "url").await.ends_with("/v1/auth/accept-invitation"));
    let visitor = Rest::of(&tenant.world, String::new()).await;
    let token = entry(&tenant.world, name, "token").await;
    let accept = json!({"token": token, "password": "correct horse battery", "name": "Olga"});
    let opened = visitor.ok(Method::POST, "/v1/auth/accept-invitation", accept).await;
    let owner = visitor.bearing(opened["token"].as_str().unwrap());
    let me = owner.ok(Method::GET, "/v1/auth/me", Value::Null).await;
    assert_eq!(me["role"], "owner", "{me}");
    let environments = format!("/v1/organizations/{}/environments", me["org_id"].as_str().unwrap());
    assert_eq!(owner.ok(Method::GET, &environments, Value::Null).await["data"][0]["slug"], "dev");

    secrets.delete(name, &DeleteParams::default()).await.unwrap();
    tenant.settled().await;
    assert!(secrets.get_opt(name).await.unwrap().is_none(), "a token that was used is not missed");
}
