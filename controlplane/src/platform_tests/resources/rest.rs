//! Changes by REST, where resources are written first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use contract::governance::EnvironmentStatus;
use contract::{EnvId, OrgId};
use platform::provisioner::{Placement, Provision, ProvisionError, Provisioner};
use platform::resources::{
    EnvironmentChange, EnvironmentResource, Key, NamespacedName, NewEnvironment, NewOrganization, OrganizationChange,
    OrganizationResource, Resources, SecretRead,
};
use platform::{App, Result};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{acme, dev, source};
use crate::server::kubernetes::organizations::Projected;
use crate::testing::{TestApp, bearer};

/// Keeps what was written, and answers as an API server would: for the order of things in REST.
/// What an API server really says is proven against one.
#[derive(Debug, Default)]
pub struct Kept {
    /// By name.
    pub secrets: Mutex<BTreeMap<String, SecretRead>>,
    written: Mutex<Vec<String>>,
    asked: Notify,
    /// Whoever has this keeps those waiting who change something.
    busy: tokio::sync::Mutex<()>,
}

impl Kept {
    fn note(&self, what: String) -> i64 {
        let mut written = self.written.lock().unwrap();
        written.push(what);
        i64::try_from(written.len()).unwrap()
    }

    async fn change(&self, what: String) -> i64 {
        self.asked.notify_one();
        let _free = self.busy.lock().await;
        self.note(what)
    }
}

#[async_trait]
impl Resources for Kept {
    async fn create_organization(&self, new: &NewOrganization<'_>) -> Result<OrganizationResource> {
        let revision = self.note(format!("organization {}", new.slug));
        let said = OrganizationResource {
            org_id: OrgId::from(format!("{}-uid", new.slug)),
            slug: new.slug.to_owned(),
            ..acme(revision)
        };
        Ok(OrganizationResource { name: new.name.to_owned(), billing_email: new.billing_email.to_owned(), ..said })
    }

    async fn change_organization(
        &self,
        place: &NamespacedName,
        change: &OrganizationChange,
    ) -> Result<OrganizationResource> {
        let revision = self.change(format!("{}: {change:?}", place.name)).await;
        let said = OrganizationResource {
            org_id: OrgId::from(format!("{}-uid", place.name)),
            slug: place.name.clone(),
            ..acme(revision)
        };
        Ok(OrganizationResource { name: change.name.clone().unwrap_or_default(), ..said })
    }

    async fn create_environment(&self, new: &NewEnvironment<'_>) -> Result<EnvironmentResource> {
        let revision = self.note(format!("environment {}-{}", new.organization.name, new.slug));
        let said = EnvironmentResource {
            env_id: EnvId::from(format!("{}-uid", new.slug)),
            slug: new.slug.to_owned(),
            ..dev(revision)
        };
        Ok(EnvironmentResource { status: EnvironmentStatus::Provisioning, placed: None, ..said })
    }

    async fn change_environment(
        &self,
        place: &NamespacedName,
        change: &EnvironmentChange,
    ) -> Result<EnvironmentResource> {
        let revision = self.change(format!("{}: {change:?}", place.name)).await;
        let settings = dev(revision).settings.with(&change.settings).unwrap();
        let is_off = change.suspended == Some(true);
        let status = if is_off { EnvironmentStatus::Suspended } else { EnvironmentStatus::Active };
        Ok(EnvironmentResource { settings, status, ..dev(revision) })
    }

    async fn delete_environment(&self, place: &NamespacedName, env_id: &EnvId) -> Result<()> {
        self.note(format!("{} {env_id} goes", place.name));
        Ok(())
    }

    async fn write_key(&self, key: &Key) -> Result<Option<String>> {
        self.note(format!("key of {} {}", key.environment.name, key.revision));
        Ok(Some(format!("{}-uid", key.key_id)))
    }

    async fn secret(&self, place: &NamespacedName) -> Result<SecretRead> {
        assert_eq!(place.namespace, "ns", "beside the environment");
        Ok(self.secrets.lock().unwrap().get(&place.name).cloned().unwrap_or(SecretRead::Absent))
    }

    async fn follow(&self, _: &App) {}
}

#[async_trait]
impl Provisioner for Kept {
    async fn provision(&self, _: &Provision) -> std::result::Result<Placement, ProvisionError> {
        Err(ProvisionError::Unattended)
    }

    fn resources(&self) -> Option<&dyn Resources> {
        Some(self)
    }
}

#[tokio::test]
async fn rest_writes_the_resource_first_and_its_row_is_that_resources() {
    let kept = Arc::new(Kept::default());
    let app = TestApp::with(|_| {}, Arc::<Kept>::clone(&kept)).await;
    let ada = app.signup("ada", "9 Lives").await;
    assert_eq!(ada["org"]["id"], "lives-uid");
    let body = json!({"name": "Dev", "slug": "dev"});
    let made = app.post(&app.org(&ada, "/environments"), &bearer(&ada), body.clone()).await.expect(201);
    assert_eq!((&made["env_id"], &made["status"]), (&json!("dev-uid"), &json!("provisioning")));
    let taken = app.post(&app.org(&ada, "/environments"), &bearer(&ada), body).await;
    assert_eq!(taken.code(), (409, "CONFLICT"));
    for slug in ["9-lives", &"x".repeat(26)] {
        let answer = app.post(&app.org(&ada, "/environments"), &bearer(&ada), json!({"name": "x", "slug": slug})).await;
        assert_eq!(answer.body["error"]["details"]["field"], "slug", "{slug}");
    }
    let path = app.org(&ada, "/environments/dev-uid");
    let body = json!({"name": "Dev", "settings": {"query_timeout_ms": 7, "cache_enabled": true}});
    let changed = app.put(&path, &bearer(&ada), body).await.expect(200);
    assert_eq!(changed["settings"]["query_timeout_ms"], 7);
    app.put(&path, &bearer(&ada), json!({"name": "Dev"})).await.expect(200);
    app.put(&app.org(&ada, ""), &bearer(&ada), json!({"name": "Ten"})).await.expect(200);
    let written = kept.written.lock().unwrap().clone();
    assert_eq!(written.len(), 4, "what is as it was is not written: {written:?}");
    assert!(
        written[2].contains("query_timeout_ms: Some(7)") && written[2].contains("cache_enabled: None"),
        "{written:?}"
    );
    assert!(written[3].contains("name: Some(\"Ten\")"), "{written:?}");
    let events: Vec<String> = app.events(&ada).await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(events, ["org.created", "environment.created", "environment.updated", "org.settings_updated"]);
}

#[tokio::test]
async fn rest_suspends_resumes_and_deletes_the_resource() {
    let kept = Arc::new(Kept::default());
    let app = TestApp::with(|_| {}, Arc::<Kept>::clone(&kept)).await;
    let ada = app.signup("ada", "Acme").await;
    app.post(&app.org(&ada, "/environments"), &bearer(&ada), json!({"name": "Dev", "slug": "dev"})).await.expect(201);
    let path = app.org(&ada, "/environments/dev-uid");
    let suspended = app.post(&format!("{path}/suspend"), &bearer(&ada), Value::Null).await.expect(200);
    assert_eq!(suspended["status"], "suspended");
    let resumed = app.post(&format!("{path}/resume"), &bearer(&ada), Value::Null).await.expect(200);
    assert_eq!(resumed["status"], "active");
    let removed = app.delete(&format!("{path}?confirm=Dev"), &bearer(&ada)).await.expect(200);
    assert_eq!(removed["status"], "decommissioning");
    let written = kept.written.lock().unwrap().clone();
    let says = |at: usize, what: &str| assert!(written[at].contains(what), "{written:?}");
    says(2, "suspended: Some(true)");
    says(3, "suspended: Some(false)");
    assert_eq!(written[4], "acme-dev dev-uid goes");
    let late = EnvironmentResource { source: source(9), ..dev(9) };
    assert_eq!(
        crate::server::kubernetes::environments::project(&app.app, &late).await.unwrap(),
        Some(Projected::Known)
    );
    crate::server::kubernetes::environments::removed(&app.app, &"dev-uid".into()).await.unwrap();
    let events: Vec<String> = app.events(&ada).await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(events[2..], ["environment.suspended", "environment.resumed", "environment.removed"]);
}

#[tokio::test]
async fn a_key_of_rest_is_written_as_a_resource_after_it_is_committed() {
    let kept = Arc::new(Kept::default());
    let app = TestApp::with(|_| {}, Arc::<Kept>::clone(&kept)).await;
    let ada = app.signup("ada", "Acme").await;
    app.post(&app.org(&ada, "/environments"), &bearer(&ada), json!({"name": "Dev", "slug": "dev"})).await.expect(201);
    let keys = "/v1/environments/dev-uid/api-keys";
    let made = app.post(keys, &bearer(&ada), json!({"name": "ci", "scopes": ["query:read"]})).await.expect(201);
    let path = format!("{keys}/{}", made["key_id"].as_str().unwrap());
    crate::server::jobs::run_due(&app.app).await.unwrap();
    app.post(&format!("{path}/rotate"), &bearer(&ada), Value::Null).await.expect(200);
    app.delete(&path, &bearer(&ada)).await.expect(200);
    crate::server::jobs::run_due(&app.app).await.unwrap();
    let written = kept.written.lock().unwrap().clone();
    let prefix = made["prefix"].as_str().unwrap();
    assert_eq!(written[2], format!("key of acme-dev {prefix}"));
    let last = written.last().unwrap();
    assert!(last.ends_with("-revoked") && !last.contains(prefix), "{written:?}");
}

#[tokio::test]
async fn nobody_whose_access_ends_waits_for_the_api_server() {
    let kept = Arc::new(Kept::default());
    let app = TestApp::with(|_| {}, Arc::<Kept>::clone(&kept)).await;
    let ada = app.signup("ada", "Acme").await;
    let bob = app.join(&ada, "bob", "developer").await;
    app.post(&app.org(&ada, "/environments"), &bearer(&ada), json!({"name": "Dev", "slug": "dev"})).await.expect(201);
    let keys = "/v1/environments/dev-uid/api-keys";
    let made = app.post(keys, &bearer(&ada), json!({"name": "ci", "scopes": ["query:read"]})).await.expect(201);
    let key = format!("{keys}/{}", made["key_id"].as_str().unwrap());
    let member = app.org(&ada, &format!("/users/{}", bob["user"]["id"].as_str().unwrap()));
    for (path, ends) in [("/environments/dev-uid", key), ("", member)] {
        let (path, bearer) = (app.org(&ada, path), bearer(&ada));
        let busy = kept.busy.lock().await;
        let change = app.put(&path, &bearer, json!({"name": "Another"}));
        let ending = async {
            kept.asked.notified().await;
            let ended = tokio::time::timeout(Duration::from_secs(30), app.delete(&ends, &bearer)).await;
            drop(busy);
            assert!(ended.expect("it waits for the change").status.is_success(), "{ends}");
        };
        let (changed, ()) = tokio::join!(change, ending);
        changed.expect(200);
    }
}
