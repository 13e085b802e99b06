//! Worlds for tests: an organization of tier `enterprise` with its owner, an environment, and keys.

use contract::caller::Scopes;
use contract::policy::abac::{Operation, Origin};
use contract::report::{Body, CREDIT, Entry, Finished, Outcome, Started, Verdict};
use contract::{EnvId, OrgId, Redacted, Role, Tier, UserId};
use serde_json::{Value, json};

use crate::domain::tenancy::organizations;
use crate::domain::tenancy::organizations::Seeded;
use crate::domain::{api_keys, environments};
use crate::server::intake;
use crate::testing::TestApp;

pub struct World {
    pub app: TestApp,
    pub org_id: OrgId,
    pub env_id: EnvId,
    pub owner_id: UserId,
    /// `Authorization` of a key that acts for the owner, with every scope.
    pub owner: String,
}

impl World {
    pub async fn start() -> Self {
        Self::of(TestApp::start().await).await
    }

    pub async fn of(app: TestApp) -> Self {
        let acme = organizations::OrganizationSeed {
            name: "Acme".to_owned(),
            slug: "acme".to_owned(),
            tier: Tier::Enterprise,
            owner_email: "olga@acme.example".to_owned(),
            owner_name: "Olga".to_owned(),
            owner_password: Redacted::new("a password that is long enough 7".to_owned()),
        };
        let Seeded { org_id, owner_id } = organizations::seed(&app.app, &acme).await.unwrap();
        let demo = environments::EnvironmentSeed { name: "Demo".to_owned(), slug: "demo".to_owned(), test_mode: true };
        let env_id = environments::record(&app.app, &org_id, &demo).await.unwrap();
        let owner = key(&app, &env_id, Some(&owner_id), &[]).await;
        Self { app, org_id, env_id, owner_id, owner }
    }

    /// `/v1/environments/{env_id}/…`.
    pub fn env(&self, rest: &str) -> String {
        format!("/v1/environments/{}/{rest}", self.env_id)
    }

    /// `/v1/organizations/{org_id}/…`.
    pub fn org(&self, rest: &str) -> String {
        format!("/v1/organizations/{}/{rest}", self.org_id)
    }

    /// A key of this environment: acts for nobody, with these scopes (none: every scope).
    pub async fn key(&self, scopes: &[&str]) -> String {
        key(&self.app, &self.env_id, None, scopes).await
    }

    /// A key that acts for this user, with every scope.
    pub async fn key_of(&self, user_id: &UserId) -> String {
        key(&self.app, &self.env_id, Some(user_id), &[]).await
    }

    /// A key of another environment of the same organization, with every scope.
    pub async fn elsewhere(&self) -> String {
        let other =
            environments::EnvironmentSeed { name: "Other".to_owned(), slug: "other".to_owned(), test_mode: false };
        let env_id = environments::record(&self.app.app, &self.org_id, &other).await.unwrap();
        key(&self.app, &env_id, None, &[]).await
    }

    /// A user of the organization.
    pub async fn user(&self, email: &str, role: &str) -> UserId {
        user(&self.app, &self.org_id, email, role).await
    }

    pub async fn set_tier(&self, tier: &str) {
        self.sql(&format!("update organizations set tier = '{tier}'")).await;
    }

    pub async fn sql(&self, text: &str) {
        sqlx::raw_sql(sqlx::AssertSqlSafe(text.to_owned())).execute(self.app.app.pool()).await.unwrap();
    }

    pub async fn count(&self, text: &str) -> i64 {
        sqlx::query_scalar(sqlx::AssertSqlSafe(text.to_owned())).fetch_one(self.app.app.pool()).await.unwrap()
    }

    pub async fn version(&self) -> i64 {
        self.count(&format!("select governance_version from environments where env_id = '{}'", self.env_id)).await
    }

    pub async fn create_key(&self, body: Value) -> Value {
        self.app.post(&self.env("api-keys"), &self.owner, body).await.expect(201)
    }

    pub async fn mask(&self, name: &str) -> Value {
        let rule = json!({"table": "customers", "column": "ssn", "function": "partial", "visible_chars": 4, "exempt_roles": ["owner"]});
        let body = json!({"name": name, "type": "column_masking", "rules": [rule], "enabled": true});
        self.app.post(&self.env("policies"), &self.owner, body).await.expect(201)
    }
}

/// What data planes report.
impl World {
    /// Reports a SELECT that cost this many credits; `n` counts them from 0.
    pub async fn spend(&self, n: u64, credits: u64) {
        self.spend_in("log-1", (2 * n + 1, &format!("spent {n}")), credits).await;
    }

    /// The same from a log of its own, whose next entry is `sequence`.
    pub async fn spend_in(&self, log: &str, (sequence, query): (u64, &str), credits: u64) {
        let mut finish = self.finished(sequence + 1, query);
        if let Body::Finished(finished) = &mut finish.body {
            finished.micro_credits = credits * CREDIT;
        }
        let entries = vec![self.started(sequence, query), finish];
        intake::store_entries(&self.app.app, &self.env_id, log, entries).await.unwrap();
    }

    pub fn started(&self, sequence: u64, query: &str) -> Entry {
        let start = Started {
            query_id: query.into(),
            request_id: "req_1".into(),
            org_id: self.org_id.clone(),
            user_id: Some(self.owner_id.clone()),
            key_id: None,
            role: Role::Owner,
            source_ip: Some([10, 0, 0, 1].into()),
            origin: Origin::Rest,
            by_dashboard: false,
            agent: None,
            grant_id: None,
            sql: "SELECT ssn FROM customers WHERE name = ?".to_owned(),
            sql_original: format!("select ssn from customers where name = 'svc_live_{}'", "x".repeat(63)),
            sql_healed: None,
            sql_transpiled: None,
            sql_with_rls: None,
            operation: Some(Operation::Select),
            tables_accessed: vec!["main.customers".to_owned()],
            columns_masked: vec!["ssn".to_owned()],
            policy_verdicts: vec![Verdict {
                policy_id: "p".into(),
                policy_name: "ssn".to_owned(),
                action: "mask".to_owned(),
                columns: vec!["customers.ssn".to_owned()],
                function: Some("partial".to_owned()),
            }],
            abac_evaluation: None,
            governance_version: 1,
            snapshot: None,
            estimated_micro_credits: 1_000_000,
            at: self.app.app.now(),
        };
        Entry { sequence, body: Body::Started(Box::new(start)) }
    }

    pub fn finished(&self, sequence: u64, query: &str) -> Entry {
        let finish = Finished {
            query_id: query.into(),
            outcome: Outcome::Completed,
            error_code: None,
            rows_returned: 3,
            micro_credits: 1_100_000,
            cache_hit: false,
            execution_time_ms: 1.5,
            transpilation_time_ms: 0.25,
            stages: vec![("semaphore".to_owned(), 0.1), ("execute".to_owned(), 1.5)],
            at: self.app.app.now(),
        };
        Entry { sequence, body: Body::Finished(Box::new(finish)) }
    }
}

pub async fn organization(app: &TestApp, slug: &str, tier: &str) -> OrgId {
    let org_id = OrgId::fresh(app.app.now(), app.app.entropy());
    sqlx::query(
        "insert into organizations (org_id, name, slug, billing_email, cloud_region, tier, status, created_at, updated_at)
         values ($1, $2, $2, 'b@acme.example', 'us-east-1', $3, 'active', $4, $4)",
    )
    .bind(org_id.as_str())
    .bind(slug)
    .bind(tier)
    .bind(app.app.now())
    .execute(app.app.pool())
    .await
    .unwrap();
    org_id
}

async fn user(app: &TestApp, org_id: &OrgId, email: &str, role: &str) -> UserId {
    let user_id = UserId::fresh(app.app.now(), app.app.entropy());
    sqlx::query(
        "with account as (
           insert into accounts (account_id, email, password_hash, created_at, updated_at) values ($1, $3, '!', $5, $5)
         )
         insert into users (user_id, org_id, account_id, email, role, status, created_at, updated_at)
         values ($1, $2, $1, $3, $4, 'active', $5, $5)",
    )
    .bind(user_id.as_str())
    .bind(org_id.as_str())
    .bind(email)
    .bind(role)
    .bind(app.app.now())
    .execute(app.app.pool())
    .await
    .unwrap();
    user_id
}

async fn key(app: &TestApp, env_id: &EnvId, user_id: Option<&UserId>, scopes: &[&str]) -> String {
    let scopes = match scopes {
        [] => Scopes::all(),
        some => Scopes::try_from(some.iter().map(|scope| (*scope).to_owned()).collect::<Vec<_>>()).unwrap(),
    };
    let name = format!("seeded {}", app.app.entropy().base62(8));
    let seed = api_keys::KeySeed { name, user_id: user_id.cloned(), scopes };
    let (_, text) = api_keys::seed(&app.app, env_id, &seed).await.unwrap();
    format!("ApiKey {}", text.expose())
}
