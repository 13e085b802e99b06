//! Changes by kubectl, as the control plane follows them.

mod rest;
mod secrets;

use contract::caller::Limits;
use contract::governance::EnvironmentStatus;
use contract::{EnvId, EnvironmentSettings, Tier};
use platform::resources::{EnvironmentResource, OrganizationResource, Placed, ResourceRevision};
use serde_json::{Value, json};

use crate::server::kubernetes::organizations::Projected;
use crate::testing::TestApp;

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
        settings: EnvironmentSettings { test_mode: true, ..EnvironmentSettings::default() },
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
    let short = EnvironmentSettings { query_timeout_ms: 5, ..dev(0).settings };
    let few = EnvironmentSettings { max_concurrent_queries: 7, ..short };
    let mut revision = 10;
    for (moves, said) in [
        (true, EnvironmentResource { settings: short, ..dev(0) }),
        (true, EnvironmentResource { settings: few, ..dev(0) }),
        (false, EnvironmentResource { name: "Other".to_owned(), settings: few, ..dev(0) }),
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
