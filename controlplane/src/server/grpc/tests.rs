use std::net::SocketAddr;
use std::sync::Arc;

use contract::agent::{self, Refusal, Registered};
use contract::report::{Body, Entry, Finished, Outcome};
use contract::wire::{CONTROL_PLANE_NAME, environment_name};
use contract::{EnvId, Governance};
use platform::identity::{Authority, Current, Pems};
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::proto::governance_client::GovernanceClient;
use super::proto::{
    Entries, RegisterAgentRequest, ReserveRequest, RuntimeRowsRequest, Snapshot, StoredRequest, WatchRequest,
};
use crate::server::snapshots::publisher::Publisher;
use crate::testing::authority;
use crate::worlds::World;

/// A world whose control plane serves data planes and the operator.
pub struct Served {
    pub world: World,
    address: SocketAddr,
    identity: Arc<Current>,
}

impl Served {
    pub async fn start() -> Self {
        let world = World::start().await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let identity = Arc::new(Current::new(&authority().issue(CONTROL_PLANE_NAME).unwrap()).unwrap());
        let served = Arc::clone(&identity);
        let app = world.app.app.clone();
        let publisher = Publisher::of(&app);
        app.tasks().spawn({
            let (publisher, shutdown) = (Arc::clone(&publisher), app.shutdown().clone());
            async move { publisher.run(shutdown).await }
        });
        app.clone().tasks().spawn(async move { super::serve(app, publisher, listener, served).await.unwrap() });
        Self { world, address, identity }
    }

    pub async fn client(&self, name: &str) -> GovernanceClient<Channel> {
        GovernanceClient::new(self.channel(&[name]).await)
    }

    /// A connection under a certificate of these names.
    pub async fn channel(&self, names: &[&str]) -> Channel {
        self.connect(&authority().issue_all(names).unwrap()).await.unwrap()
    }

    async fn connect(&self, pems: &Pems) -> Result<Channel, tonic::transport::Error> {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&pems.authority))
            .identity(Identity::from_pem(&pems.certificate, pems.key.expose()))
            .domain_name(CONTROL_PLANE_NAME);
        self.endpoint().tls_config(tls)?.connect().await
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::from_shared(format!("https://{}", self.address)).unwrap()
    }

    async fn own(&self) -> GovernanceClient<Channel> {
        self.client(&environment_name(&self.world.env_id)).await
    }

    pub fn stop(&self) {
        self.world.app.app.shutdown().cancel();
    }
}

fn read(snapshot: &Snapshot) -> Governance {
    serde_json::from_slice(&snapshot.governance).unwrap()
}

#[tokio::test]
async fn a_data_plane_gets_its_snapshot_and_then_the_news() {
    let served = Served::start().await;
    let mut client = served.own().await;
    let mut news = client.watch(WatchRequest { have_version: 0 }).await.unwrap().into_inner();
    let first = news.message().await.unwrap().unwrap();
    assert_eq!(read(&first).environment.env_id, served.world.env_id);
    served.world.mask("ssn").await;
    let second = news.message().await.unwrap().unwrap();
    assert!(second.version > first.version);
    assert_eq!(read(&second).policies[0].name, "ssn");
    served.stop();
}

#[tokio::test]
async fn a_data_plane_that_has_the_version_waits_for_a_newer_one() {
    let served = Served::start().await;
    let mut client = served.own().await;
    let have_version = u64::try_from(served.world.version().await).unwrap();
    let mut news = client.watch(WatchRequest { have_version }).await.unwrap().into_inner();
    served.world.mask("ssn").await;
    assert!(news.message().await.unwrap().unwrap().version > have_version);
    served.stop();
}

#[tokio::test]
async fn a_revoked_key_leaves_the_data_plane_within_a_moment() {
    let served = Served::start().await;
    let made = served.world.create_key(serde_json::json!({"name": "ci", "scopes": ["query:read"]})).await;
    let mut news = served.own().await.watch(WatchRequest { have_version: 0 }).await.unwrap().into_inner();
    let prefix = made["prefix"].as_str().unwrap();
    assert!(read(&news.message().await.unwrap().unwrap()).key_by_prefix(prefix).is_some());
    let path = served.world.env(&format!("api-keys/{}", made["key_id"].as_str().unwrap()));
    served.world.app.delete(&path, &served.world.owner).await.expect(200);
    assert!(read(&news.message().await.unwrap().unwrap()).key_by_prefix(prefix).is_none());
    served.stop();
}

#[tokio::test]
async fn the_certificate_alone_says_which_environment() {
    let served = Served::start().await;
    for (name, code) in [
        (environment_name(&EnvId::from("nowhere")), Code::NotFound),
        (CONTROL_PLANE_NAME.to_owned(), Code::PermissionDenied),
    ] {
        let refused = served.client(&name).await.watch(WatchRequest { have_version: 0 }).await.unwrap_err();
        assert_eq!(refused.code(), code, "{name}");
    }
    let pems = authority().issue("x").unwrap();
    let nobody =
        ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&pems.authority)).domain_name(CONTROL_PLANE_NAME);
    let channel = served.endpoint().tls_config(nobody).unwrap().connect().await;
    let refused = match channel {
        Err(_) => true,
        Ok(channel) => GovernanceClient::new(channel).watch(WatchRequest { have_version: 0 }).await.is_err(),
    };
    assert!(refused, "without a certificate nobody is served");
    served.stop();
}

#[tokio::test]
async fn a_renewed_identity_serves_the_next_connection_and_ends_none() {
    let served = Served::start().await;
    let mut news = served.own().await.watch(WatchRequest { have_version: 0 }).await.unwrap().into_inner();
    news.message().await.unwrap().unwrap();
    let renewed = Authority::make().unwrap();
    served.identity.replace(&renewed.issue(CONTROL_PLANE_NAME).unwrap()).unwrap();
    let own = renewed.issue(&environment_name(&served.world.env_id)).unwrap();
    let channel = served.connect(&own).await.unwrap();
    GovernanceClient::new(channel).watch(WatchRequest { have_version: 0 }).await.unwrap();
    assert!(served.connect(&authority().issue("x").unwrap()).await.is_err(), "the old authority is no longer ours");
    served.world.mask("ssn").await;
    assert_eq!(read(&news.message().await.unwrap().unwrap()).policies[0].name, "ssn");
    served.stop();
}

#[tokio::test]
async fn entries_are_acknowledged_once_they_are_stored() {
    let served = Served::start().await;
    let mut client = served.own().await;
    let entry = Entry {
        sequence: 1,
        body: Body::Finished(Box::new(Finished {
            query_id: "q".into(),
            outcome: Outcome::Completed,
            error_code: None,
            rows_returned: 0,
            micro_credits: 0,
            cache_hit: false,
            execution_time_ms: 0.5,
            transpilation_time_ms: 0.0,
            stages: vec![],
            at: served.world.app.app.now(),
        })),
    };
    // An end without a start is what no data plane writes: nothing of it may be acknowledged.
    let bytes = serde_json::to_vec(&entry).unwrap();
    let orphan = Entries { log: "log-1".to_owned(), entries: vec![bytes] };
    let mut acks = client.report(tokio_stream::iter([orphan])).await.unwrap().into_inner();
    assert!(acks.message().await.is_err());
    assert_eq!(served.world.count("select count(*) from report_logs").await, 0);
    let nothing = Entries { log: "log-1".to_owned(), entries: vec![] };
    let mut acks = client.report(tokio_stream::iter([nothing])).await.unwrap().into_inner();
    assert_eq!(acks.message().await.unwrap().unwrap().sequence, 0);
    let unnamed = Entries { log: "../x".to_owned(), entries: vec![] };
    let mut acks = client.report(tokio_stream::iter([unnamed])).await.unwrap().into_inner();
    assert_eq!(acks.message().await.unwrap_err().code(), Code::InvalidArgument);
    served.stop();
}

#[tokio::test]
async fn credits_are_lent_over_the_wire() {
    let served = Served::start().await;
    let mut client = served.own().await;
    let ask = ReserveRequest { log: "log-1".to_owned(), want: 5_000_000, spent: 0 };
    let grant = client.reserve(ask.clone()).await.unwrap().into_inner();
    assert!(grant.unlimited);
    served.world.set_tier("free").await;
    let grant = client.reserve(ask).await.unwrap().into_inner();
    assert_eq!((grant.unlimited, grant.held, grant.expires_in_s), (false, 5_000_000, 300));
    served.stop();
}

#[tokio::test]
async fn what_a_data_plane_has_on_its_disk_is_the_organizations_storage() {
    let served = Served::start().await;
    let total = async || {
        let path = served.world.org("billing/usage");
        served.world.app.get(&path, &served.world.owner).await.expect(200)["storage"]["total_gb"].clone()
    };
    assert_eq!(total().await, serde_json::Value::Null);
    let mut client = served.own().await;
    for (bytes, gigabytes) in [(2_500_000_000, 2.5), (500_000_000, 0.5)] {
        let told = client.stored(StoredRequest { bytes }).await.unwrap().into_inner();
        assert_eq!(told.organization_bytes, bytes);
        assert_eq!(total().await, gigabytes);
    }
    served.stop();
}

#[tokio::test]
async fn the_runtimes_rows_are_those_of_the_certificates_organization() {
    let served = Served::start().await;
    let task = serde_json::json!({"kind": "build", "project_id": "p1"});
    served.world.app.post("/v2/runtime/tasks", &served.world.owner, task).await.expect(200);
    let mut client = served.own().await;
    let ask = |table: &str| RuntimeRowsRequest { tables: vec![table.to_owned()], timeout_ms: 5_000 };
    let mut pages = client.runtime_rows(ask("tasks")).await.unwrap().into_inner();
    let page = pages.message().await.unwrap().unwrap();
    assert_eq!(page.table, "tasks");
    let rows: Vec<serde_json::Value> = serde_json::from_str(&page.rows).unwrap();
    assert_eq!(rows[0]["org_id"], served.world.org_id.as_str());
    assert!(pages.message().await.unwrap().is_none());
    for table in ["releases", "tasks; select 1", ""] {
        assert_eq!(client.runtime_rows(ask(table)).await.unwrap_err().code(), Code::InvalidArgument, "{table}");
    }
    let mut nowhere = served.client(&environment_name(&EnvId::from("nowhere"))).await;
    let mut nothing = nowhere.runtime_rows(ask("tasks")).await.unwrap().into_inner();
    assert_eq!(nothing.message().await.unwrap_err().code(), Code::NotFound);
    let mut late =
        client.runtime_rows(RuntimeRowsRequest { timeout_ms: 0, ..ask("tasks") }).await.unwrap().into_inner();
    assert_eq!(late.message().await.unwrap_err().code(), Code::DeadlineExceeded);
    served.stop();
}

/// Says something of an agent for the environment of this name.
async fn register(served: &Served, env_id: &EnvId, said: &serde_json::Value) -> Result<agent::Answer, Code> {
    let mut client = served.client(&environment_name(env_id)).await;
    let request = RegisterAgentRequest { registration: serde_json::to_vec(said).unwrap() };
    let reply = client.register_agent(request).await.map_err(|status| status.code())?;
    Ok(serde_json::from_slice(&reply.into_inner().answer).unwrap())
}

#[tokio::test]
async fn an_agent_registers_itself_once_and_is_brought_up_to_date() {
    let served = Served::start().await;
    let env_id = &served.world.env_id;
    let said = serde_json::json!({"agent_id": "planner", "framework": "crewai"});
    let first = register(&served, env_id, &said).await.unwrap().unwrap();
    assert_eq!((first.created, first.registration_source.as_str()), (true, "mcp"));
    assert_eq!((first.trust_level.as_str(), first.status.as_str()), ("provisional", "active"));
    served.world.app.advance(chrono::Duration::hours(1));
    let child = serde_json::json!({"agent_id": "child", "framework": "crewai", "parent_agent_id": "planner"});
    assert!(register(&served, env_id, &child).await.unwrap().unwrap().created);
    let said = serde_json::json!({"agent_id": "planner", "framework": "langchain", "metadata": {"team": "growth"}});
    let again = register(&served, env_id, &said).await.unwrap().unwrap();
    let last_seen_at = first.registered_at + chrono::Duration::hours(1);
    let expected = Registered { created: false, framework: "langchain".to_owned(), last_seen_at, ..first };
    assert_eq!(again, expected);
    served.stop();
}

#[tokio::test]
async fn whose_agents_they_are_says_the_certificate_and_how_many_there_are_is_bounded() {
    let served = Served::start().await;
    let env_id = &served.world.env_id;
    let child = serde_json::json!({"agent_id": "child", "framework": "x", "parent_agent_id": "nobody"});
    assert_eq!(register(&served, env_id, &child).await.unwrap(), Err(Refusal::ParentUnknown));
    let wrong = serde_json::json!({"agent_id": "", "framework": "x"});
    assert_eq!(register(&served, env_id, &wrong).await.unwrap_err(), Code::FailedPrecondition);
    let unknown = serde_json::json!({"agent_id": "a", "framework": "x", "org_id": "another"});
    assert_eq!(register(&served, env_id, &unknown).await.unwrap_err(), Code::InvalidArgument);
    let one = serde_json::json!({"agent_id": "one", "framework": "x"});
    assert_eq!(register(&served, &EnvId::from("nowhere"), &one).await.unwrap_err(), Code::FailedPrecondition);
    sqlx::query(
        "insert into agents (org_id, agent_id, status, trust_level, registration_source, registered_at)
         select $1, 'made-' || n, 'active', 'provisional', 'query', $2 from generate_series(1, 9999) n",
    )
    .bind(served.world.org_id.as_str())
    .bind(served.world.app.app.now())
    .execute(served.world.app.app.pool())
    .await
    .unwrap();
    assert!(register(&served, env_id, &one).await.unwrap().unwrap().created);
    let two = serde_json::json!({"agent_id": "two", "framework": "x"});
    assert_eq!(register(&served, env_id, &two).await.unwrap(), Err(Refusal::Full { limit: 10_000 }));
    let noticed = serde_json::json!({"agent_id": "made-7", "framework": "x"});
    assert!(register(&served, env_id, &noticed).await.unwrap().unwrap().created, "known by its own word from now on");
    served.stop();
}
