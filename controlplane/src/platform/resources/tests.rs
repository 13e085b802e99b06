use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use contract::caller::Limits;
use contract::governance::EnvironmentStatus;
use contract::{EnvId, OrgId, Tier};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::platform::provisioner::{Placement, Provision, ProvisionError, Provisioner};
use crate::server::kubernetes::organizations::Projected;
use crate::testing::{TestApp, bearer};

fn source(revision: i64) -> ResourceRevision {
    ResourceRevision { namespace: "ns".to_owned(), revision, writer: "kubectl".to_owned() }
}

fn acme(revision: i64) -> OrganizationResource {
    OrganizationResource {
        org_id: "acme-uid".into(),
        source: source(revision),
        slug: "acme".to_owned(),
        name: "Acme".to_owned(),
        billing_email: "bills@acme.example".to_owned(),
        cloud_region: "us-east-1".to_owned(),
        tier: Tier::Cloud,
        quotas: Limits::default(),
        status: "active",
        mfa_required: false,
        enforce_sso: false,
    }
}

fn dev(revision: i64) -> EnvironmentResource {
    EnvironmentResource {
        env_id: "dev-uid".into(),
        source: source(revision),
        organization: "acme".to_owned(),
        slug: "dev".to_owned(),
        name: "Dev".to_owned(),
        status: EnvironmentStatus::Active,
        query_timeout_ms: 30_000,
        max_concurrent_queries: 100,
        cache_enabled: true,
        heal: contract::Heal::default(),
        test_mode: true,
        allowed_networks: Vec::new(),
        placed: Some(Placed {
            pg: ("acme-dev.ns.svc".to_owned(), 5439),
            tools: ("acme-dev.ns.svc".to_owned(), 5440),
            internal: "acme-dev.ns.svc:8090".to_owned(),
        }),
    }
}

/// A control plane that has followed an organization and its environment.
struct Followed(TestApp);

impl Followed {
    async fn start() -> Self {
        let app = TestApp::start().await;
        assert_eq!(
            crate::server::kubernetes::organizations::project(&app.app, &acme(1)).await.unwrap(),
            Projected::Made
        );
        assert_eq!(
            crate::server::kubernetes::environments::project(&app.app, &dev(2)).await.unwrap(),
            Some(Projected::Made)
        );
        Self(app)
    }

    async fn organization(&self, said: &OrganizationResource) -> Projected {
        crate::server::kubernetes::organizations::project(&self.0.app, said).await.unwrap()
    }

    async fn environment(&self, said: &EnvironmentResource) -> Option<Projected> {
        crate::server::kubernetes::environments::project(&self.0.app, said).await.unwrap()
    }

    async fn text(&self, sql: &str) -> String {
        let sql = sqlx::AssertSqlSafe(format!("select ({sql})::text"));
        let found: Option<String> = sqlx::query_scalar(sql).fetch_one(self.0.app.pool()).await.unwrap();
        found.unwrap_or_default()
    }

    /// Type and actor of what was recorded, in order.
    async fn events(&self) -> Vec<(String, String)> {
        sqlx::query_as("select event_type, actor_id from iam_events order by sequence")
            .fetch_all(self.0.app.pool())
            .await
            .unwrap()
    }
}

fn event(kind: &str, actor: &str) -> (String, String) {
    (kind.to_owned(), actor.to_owned())
}

#[tokio::test]
async fn what_kubectl_makes_is_a_record_and_who_is_billed_is_invited_to_own_it() {
    let followed = Followed::start().await;
    let by = "system:kubectl";
    assert_eq!(
        followed.events().await,
        [event("org.created", by), event("user.invited", by), event("environment.created", by)]
    );
    let owner = "select email || ' ' || role || ' ' || status from users";
    assert_eq!(followed.text(owner).await, "bills@acme.example owner invited");
    let row = "select concat_ws(' ', env_id, status, test_mode, pg_host, pg_port, tools_port, internal_address) from environments";
    assert_eq!(followed.text(row).await, "dev-uid active t acme-dev.ns.svc 5439 5440 acme-dev.ns.svc:8090");
}

#[tokio::test]
async fn a_row_never_goes_back_whoever_repeats_what() {
    let followed = Followed::start().await;
    let renamed = |revision, name: &str| EnvironmentResource { name: name.to_owned(), ..dev(revision) };
    for (said, projected, name) in [
        (renamed(2, "repeated"), Projected::Known, "Dev"),
        (renamed(5, "newer"), Projected::Changed, "newer"),
        (renamed(4, "older"), Projected::Known, "newer"),
        (renamed(5, "repeated"), Projected::Known, "newer"),
        (renamed(6, "newest"), Projected::Changed, "newest"),
    ] {
        assert_eq!(followed.environment(&said).await, Some(projected), "{said:?}");
        assert_eq!(followed.text("select name from environments").await, name);
    }
    let sooner = OrganizationResource { name: "Before".to_owned(), ..acme(1) };
    assert_eq!(followed.organization(&sooner).await, Projected::Known);
}

#[tokio::test]
async fn an_environment_waits_for_its_organization() {
    let app = TestApp::start().await;
    assert_eq!(crate::server::kubernetes::environments::project(&app.app, &dev(1)).await.unwrap(), None);
    crate::server::kubernetes::organizations::project(&app.app, &acme(2)).await.unwrap();
    assert_eq!(
        crate::server::kubernetes::environments::project(&app.app, &dev(1)).await.unwrap(),
        Some(Projected::Made)
    );
}

#[tokio::test]
async fn what_a_data_plane_must_learn_of_moves_the_version_and_nothing_else_does() {
    let followed = Followed::start().await;
    let version = "select governance_version from environments";
    let mut revision = 10;
    for (moves, said) in [
        (true, EnvironmentResource { query_timeout_ms: 5, ..dev(0) }),
        (true, EnvironmentResource { max_concurrent_queries: 7, query_timeout_ms: 5, ..dev(0) }),
        (
            false,
            EnvironmentResource { name: "Other".to_owned(), max_concurrent_queries: 7, query_timeout_ms: 5, ..dev(0) },
        ),
        (true, EnvironmentResource { status: EnvironmentStatus::Suspended, ..dev(0) }),
        (true, EnvironmentResource { allowed_networks: vec!["10.0.0.0/8".parse().unwrap()], ..dev(0) }),
    ] {
        revision += 1;
        let before = followed.text(version).await;
        let said = EnvironmentResource { source: source(revision), ..said };
        assert_eq!(followed.environment(&said).await, Some(Projected::Changed));
        assert_eq!(followed.text(version).await != before, moves, "{said:?}");
    }
    let before = followed.text(version).await;
    let less = Limits { max_concurrent_queries: Some(3), ..Limits::default() };
    followed.organization(&OrganizationResource { quotas: less, ..acme(20) }).await;
    assert_ne!(followed.text(version).await, before, "quotas are part of it");
    let app = &followed.0.app;
    let governed =
        crate::server::snapshots::load::load(app.pool(), app.keyring(), &EnvId::from("dev-uid")).await.unwrap();
    let governed = governed.unwrap();
    assert_eq!(governed.environment.allowed_networks, ["10.0.0.0/8".parse::<ipnet::IpNet>().unwrap()]);
    let limits = governed.organization.limits;
    assert_eq!((limits.max_concurrent_queries, limits.max_environments), (Some(3), Some(5)));
}

#[tokio::test]
async fn changes_are_events_that_name_the_writer() {
    let followed = Followed::start().await;
    let said = OrganizationResource {
        tier: Tier::Growth,
        source: ResourceRevision { writer: "argocd".to_owned(), ..source(10) },
        ..acme(0)
    };
    followed.organization(&said).await;
    followed.environment(&EnvironmentResource { status: EnvironmentStatus::Suspended, ..dev(11) }).await;
    followed
        .environment(&EnvironmentResource { status: EnvironmentStatus::Suspended, name: "x".to_owned(), ..dev(12) })
        .await;
    let events = followed.events().await;
    assert_eq!(
        events[3..],
        [
            event("org.settings_updated", "system:argocd"),
            event("environment.suspended", "system:kubectl"),
            event("environment.updated", "system:kubectl"),
        ]
    );
    let changes = followed.text("select changes from iam_events where event_type = 'org.settings_updated'").await;
    let changes: Value = serde_json::from_str(&changes).unwrap();
    assert_eq!(changes, json!({"before": {"tier": "cloud"}, "after": {"tier": "growth"}}));
}

/// A key of the environment.
async fn key(followed: &Followed) {
    let seed =
        crate::domain::api_keys::KeySeed { name: "ci".to_owned(), user_id: None, scopes: contract::Scopes::all() };
    crate::domain::api_keys::seed(&followed.0.app, &"dev-uid".into(), &seed).await.unwrap();
}

#[tokio::test]
async fn what_is_deleted_opens_no_more_and_gives_its_name_back() {
    let followed = Followed::start().await;
    key(&followed).await;
    let leaving = EnvironmentResource { status: EnvironmentStatus::Decommissioning, ..dev(10) };
    followed.environment(&leaving).await;
    assert_eq!(followed.text("select count(*) from api_keys where revoked_at is null").await, "0");
    for _ in 0..2 {
        crate::server::kubernetes::environments::removed(&followed.0.app, &"dev-uid".into()).await.unwrap();
        crate::server::kubernetes::organizations::removed(&followed.0.app, &"acme-uid".into()).await.unwrap();
    }
    assert_eq!(followed.text("select status from environments").await, "decommissioning");
    assert_eq!(followed.text("select status from organizations").await, "cancelled");
    let kinds: Vec<String> = followed.events().await.into_iter().skip(4).map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["key.revoked", "environment.removed", "org.removed"]);
    let again = OrganizationResource { org_id: "acme-again".into(), ..acme(20) };
    assert_eq!(followed.organization(&again).await, Projected::Made);
    let again = EnvironmentResource { env_id: "dev-again".into(), ..dev(21) };
    assert_eq!(followed.environment(&again).await, Some(Projected::Made));
    assert_eq!(followed.organization(&acme(22)).await, Projected::Known, "what is gone stays gone");
}

#[tokio::test]
async fn a_deletion_that_nobody_saw_is_told_by_what_took_the_name() {
    let followed = Followed::start().await;
    key(&followed).await;
    let again = EnvironmentResource { env_id: "dev-again".into(), ..dev(20) };
    assert_eq!(followed.environment(&again).await, Some(Projected::Made));
    assert_eq!(followed.text("select status from environments where env_id = 'dev-uid'").await, "decommissioning");
    assert_eq!(followed.text("select count(*) from api_keys where revoked_at is null").await, "0");
    let late = EnvironmentResource { env_id: "dev-before".into(), ..dev(19) };
    let refused = crate::server::kubernetes::environments::project(&followed.0.app, &late).await.unwrap_err();
    assert_eq!(refused.problem().code.http(), 409, "an older resource does not take the name");
    assert_eq!(followed.text("select status from environments where env_id = 'dev-again'").await, "active");
}

/// Keeps what was written, and answers as an API server would: for the order of things in REST.
/// What an API server really says is proven against one.
#[derive(Debug, Default)]
struct Kept {
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
        let timeout = change.query_timeout_ms.unwrap_or(30_000);
        let is_off = change.suspended == Some(true);
        let status = if is_off { EnvironmentStatus::Suspended } else { EnvironmentStatus::Active };
        Ok(EnvironmentResource { query_timeout_ms: timeout, status, ..dev(revision) })
    }

    async fn delete_environment(&self, place: &NamespacedName, env_id: &EnvId) -> Result<()> {
        self.note(format!("{} {env_id} goes", place.name));
        Ok(())
    }

    async fn write_key(&self, key: &Key) -> Result<Option<String>> {
        self.note(format!("key of {} {}", key.environment.name, key.revision));
        Ok(Some(format!("{}-uid", key.key_id)))
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
async fn what_kubectl_resumes_is_told_by_the_watch_and_what_rest_resumes_is_not_told_twice() {
    let followed = Followed::start().await;
    let of = |revision, writer: &str, status| {
        let source = ResourceRevision { writer: writer.to_owned(), ..source(revision) };
        EnvironmentResource { source, status, ..dev(0) }
    };
    for (revision, writer) in [(10, "kubectl"), (12, crate::server::kubernetes::MANAGER)] {
        followed.environment(&of(revision, writer, EnvironmentStatus::Suspended)).await;
        followed.environment(&of(revision + 1, writer, EnvironmentStatus::Active)).await;
    }
    let kinds: Vec<_> = followed.events().await.into_iter().skip(3).collect();
    let (kubectl, rest) = ("system:kubectl", "system:sluice-controlplane");
    assert_eq!(
        kinds,
        [
            event("environment.suspended", kubectl),
            event("environment.resumed", kubectl),
            event("environment.suspended", rest)
        ]
    );
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
