use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use kubernetes::until;
use reqwest::Method;
use serde_json::{Value, json};

use super::Platform;
use super::platform::managed;

#[tokio::test]
async fn who_signs_up_finds_a_resource_whose_uid_is_the_id() {
    let platform = Platform::start("signup").await;
    let organizations: Api<crds::Organization> = platform.world.api();
    let made = organizations.get("ada").await.unwrap();
    assert_eq!(made.uid().as_deref(), platform.org["id"].as_str());
    assert_eq!((made.spec.billing_email.as_str(), made.spec.tier), ("ada@example.com", crds::Tier::Free));
    let path = platform.path("");
    let changed = platform.expect(200, Method::PUT, &path, json!({"name": "Ada & Co"})).await;
    assert_eq!(changed["name"], "Ada & Co");
    let changed = organizations.get("ada").await.unwrap();
    assert_eq!((changed.spec.name.as_str(), changed.spec.billing_email.as_str()), ("Ada & Co", "ada@example.com"));
    let ours = managed(&serde_json::to_value(&changed).unwrap(), "sluice-controlplane");
    assert!(ours.contains_key("f:name") && ours.contains_key("f:slug"), "{ours:?}");
    let body = json!({"name": "Again", "slug": "ada", "billing_email": "a@b.example"});
    let (status, body) = platform.send(Method::POST, "/v1/organizations", body).await;
    assert_eq!((status, &body["error"]["details"]["reason"]), (409, &json!("slug_taken")));
    platform.done().await;
}

#[tokio::test]
async fn tier_and_quotas_that_kubectl_sets_hold_for_rest() {
    let platform = Platform::start("quotas").await;
    let organizations: Api<crds::Organization> = platform.world.api();
    let set = |spec: Value| Patch::Merge(json!({"spec": spec}));
    let by = PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..PatchParams::default() };
    let spec = json!({"tier": "growth", "quotas": {"maxEnvironments": 1}});
    organizations.patch("ada", &by, &set(spec)).await.unwrap();
    platform.organization(|org| org["tier"] == "growth").await;
    let path = platform.path("/environments");
    platform.expect(201, Method::POST, &path, json!({"name": "One", "slug": "one"})).await;
    let refused = platform.expect(403, Method::POST, &path, json!({"name": "Two", "slug": "two"})).await;
    assert_eq!(refused["error"]["details"]["limit"], 1);
    organizations.patch("ada", &by, &set(json!({"suspended": true}))).await.unwrap();
    platform.organization(|org| org["status"] == "suspended").await;
    platform.done().await;
}

#[tokio::test]
async fn an_organization_of_kubectl_is_a_record_whose_owner_is_invited() {
    let platform = Platform::start("applied").await;
    let spec = json!({"slug": "bob", "name": "Bob", "billingEmail": "Bob@Example.com"});
    let object =
        json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "Organization", "metadata": {"name": "bob"}, "spec": spec});
    let uid = platform.world.apply(object).await.uid().unwrap();
    let organizations: Api<crds::Organization> = platform.world.api();
    until(&organizations, "bob", "there", |_| true).await;
    let owner = format!("select email || ' ' || role || ' ' || status from users where org_id = '{uid}'");
    assert_eq!(platform.row(&owner).await, "bob@example.com owner invited");
    let events = format!("select string_agg(actor_id, ' ') from iam_events where org_id = '{uid}'");
    assert_eq!(platform.row(&events).await, "system:test system:test");
    platform.done().await;
}
