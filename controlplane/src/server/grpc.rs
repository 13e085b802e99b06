//! Procedures that data planes call: `Watch`, `Report`, `Reserve`, `Stored`, `RuntimeRows`, `RegisterAgent`, `Vouch`
//! (proto/governance.proto), over mutual TLS.
//!
//! "The certificate names the environment, and every call is served for that environment only."
//! The operator calls on the same listener under a name of its own (`keys`, `owners`).

mod incoming;
pub mod keys;
mod owners;
mod traced;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::from_fn_with_state;
use contract::runtime_tables::Table;
use contract::wire;
use contract::{EnvId, Redacted, agent, report};
use futures::{Stream, StreamExt, stream};
use platform::identity::Current;
use platform::snapshot_size::SNAPSHOT_BYTES_MAX;
use platform::{App, Error};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, WatchStream};
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

use crate::domain::billing::credits;
use crate::domain::runtime::sql::{self, ReadRefusal, TableRows};
use crate::domain::{agents, authentication, billing};
use crate::server::snapshots::publisher::Publisher;

/// The messages and the service, made from the one proto.
pub mod proto {
    #![expect(clippy::pedantic, clippy::allow_attributes, reason = "generated")]
    tonic::include_proto!("sluice.governance.v1");
}

use proto::governance_server::{Governance as Service, GovernanceServer};
use proto::{
    Ack, AppliedReply, AppliedRequest, Entries, Grant, RegisterAgentReply, RegisterAgentRequest, ReserveRequest,
    RuntimePage, RuntimeRowsRequest, Snapshot, StoredReply, StoredRequest, VouchReply, VouchRequest, WatchRequest,
};

/// The largest message a data plane may send: a batch of entries, each with its SQL.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
const ENTRIES_MAX: usize = 1_000;
/// Pages of the runtime's rows that wait to be sent.
const PAGES_MAX: usize = 2;
/// What one agent may say of itself, before it is read.
const REGISTRATION_BYTES_MAX: usize = 64 * 1024;
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Serves until the application shuts down.
pub async fn serve(
    app: App,
    publisher: Arc<Publisher>,
    listener: TcpListener,
    identity: Arc<Current>,
) -> Result<(), tonic::transport::Error> {
    let shutdown = app.shutdown().clone();
    let links = incoming::incoming(&app, listener, identity);
    let keys = keys::service(app.clone());
    let owners = owners::service(app.clone());
    let governance =
        GovernanceServer::new(GrpcApi { app: app.clone(), publisher }).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let services = Routes::new(governance).add_service(keys).add_service(owners);
    let traced = services.into_axum_router().layer(from_fn_with_state(app, traced::call));
    Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .add_routes(Routes::from(traced))
        .serve_with_incoming_shutdown(links, shutdown.cancelled_owned())
        .await
}

struct GrpcApi {
    app: App,
    publisher: Arc<Publisher>,
}

type Reply<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Service for GrpcApi {
    type WatchStream = Reply<Snapshot>;
    type ReportStream = Reply<Ack>;
    type RuntimeRowsStream = Reply<RuntimePage>;

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let (env_id, peer) = (environment(&request)?, peer(&request)?);
        let have = request.into_inner().have_version;
        let followed = self.publisher.follow(&env_id).await.map_err(|error| refused(&error))?;
        let receiver = followed.ok_or_else(|| Status::not_found("no such environment"))?;
        let attached = self.publisher.attach(&env_id, peer, have);
        let news = WatchStream::new(receiver)
            .filter(move |governance| futures::future::ready(governance.version > have))
            .map(move |governance| {
                let _held = &attached; // counted as long as the stream lives
                snapshot(&governance)
            })
            .take_until(self.app.shutdown().clone().cancelled_owned());
        Ok(Response::new(Box::pin(news)))
    }

    async fn applied(&self, request: Request<AppliedRequest>) -> Result<Response<AppliedReply>, Status> {
        let (env_id, peer) = (environment(&request)?, peer(&request)?);
        self.publisher.applied(&env_id, peer, request.into_inner().version);
        Ok(Response::new(AppliedReply {}))
    }

    async fn report(&self, request: Request<Streaming<Entries>>) -> Result<Response<Self::ReportStream>, Status> {
        let env_id = environment(&request)?;
        let intake = Intake { app: self.app.clone(), env_id, inbound: request.into_inner() };
        let acks = stream::try_unfold(intake, |mut intake| async move {
            let ack = intake.next().await?;
            Ok(ack.map(|ack| (ack, intake)))
        });
        let acks = acks.take_until(self.app.shutdown().clone().cancelled_owned());
        Ok(Response::new(Box::pin(acks)))
    }

    async fn reserve(&self, request: Request<ReserveRequest>) -> Result<Response<Grant>, Status> {
        let env_id = environment(&request)?;
        let ReserveRequest { log, want, spent } = request.into_inner();
        let ask = credits::Ask { env_id, log: log_name(log)?, want, spent };
        let grant = credits::reserve(&self.app, &ask).await.map_err(|error| refused(&error))?;
        let expires_in_s = credits::GRANT_SECONDS;
        Ok(Response::new(match grant {
            credits::Grant::Unlimited => Grant { unlimited: true, held: 0, expires_in_s },
            credits::Grant::Held(held) => Grant { unlimited: false, held, expires_in_s },
        }))
    }

    async fn stored(&self, request: Request<StoredRequest>) -> Result<Response<StoredReply>, Status> {
        let env_id = environment(&request)?;
        let bytes = request.into_inner().bytes;
        let measured = billing::measured(&self.app, &env_id, bytes).await;
        let organization_bytes = measured.map_err(|error| refused(&error))?;
        Ok(Response::new(StoredReply { organization_bytes }))
    }

    async fn runtime_rows(
        &self,
        request: Request<RuntimeRowsRequest>,
    ) -> Result<Response<Self::RuntimeRowsStream>, Status> {
        let env_id = environment(&request)?;
        let RuntimeRowsRequest { tables, timeout_ms } = request.into_inner();
        let tables = tables.iter().map(|name| name.parse()).collect::<Result<BTreeSet<Table>, _>>();
        let tables = tables.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let timeout = Duration::from_millis(timeout_ms.into());
        let (pages, received) = mpsc::channel(PAGES_MAX);
        let app = self.app.clone();
        let reading = async move {
            let tables: Vec<_> = tables.into_iter().collect();
            let read = sql::read(&app, &env_id, &tables, timeout, &pages);
            app.shutdown().run_until_cancelled(read).await.unwrap_or(Err(ReadRefusal::Late))
        };
        // A stream that ends without an error is whole.
        let failed = stream::once(reading).filter_map(|read| std::future::ready(read.err().map(|e| Err(unread(&e)))));
        let sent = ReceiverStream::new(received)
            .map(|TableRows { table, rows }| Ok(RuntimePage { table: table.to_string(), rows }));
        Ok(Response::new(Box::pin(stream::select(sent, failed))))
    }

    async fn register_agent(
        &self,
        request: Request<RegisterAgentRequest>,
    ) -> Result<Response<RegisterAgentReply>, Status> {
        let env_id = environment(&request)?;
        let said = request.into_inner().registration;
        if said.len() > REGISTRATION_BYTES_MAX {
            return Err(Status::invalid_argument("a registration of this size"));
        }
        let said: agent::Registration = serde_json::from_slice(&said)
            .map_err(|error| Status::invalid_argument(format!("a registration cannot be read: {error}")))?;
        let answer = agents::register_itself(&self.app, &env_id, &said).await.map_err(|error| refused(&error))?;
        let answer = serde_json::to_vec(&answer).map_err(|_| Status::internal("the answer has no JSON form"))?;
        Ok(Response::new(RegisterAgentReply { answer }))
    }

    async fn vouch(&self, request: Request<VouchRequest>) -> Result<Response<VouchReply>, Status> {
        let env_id = environment(&request)?;
        let token = Redacted::new(request.into_inner().token);
        let answer =
            authentication::vouch(&self.app, &env_id, token.expose()).await.map_err(|error| refused(&error))?;
        let answer = serde_json::to_vec(&answer).map_err(|_| Status::internal("the answer has no JSON form"))?;
        Ok(Response::new(VouchReply { answer }))
    }
}

/// What a data plane is told of rows that it does not get.
fn unread(error: &ReadRefusal) -> Status {
    match error {
        ReadRefusal::Absent => Status::not_found(error.to_string()),
        ReadRefusal::TooLarge { .. } => Status::resource_exhausted(error.to_string()),
        ReadRefusal::Late => Status::deadline_exceeded(error.to_string()),
        ReadRefusal::Other(error) => refused(error),
    }
}

/// One open `Report`: entries come in, an acknowledgement goes out once they are stored.
struct Intake {
    app: App,
    env_id: EnvId,
    inbound: Streaming<Entries>,
}

impl Intake {
    async fn next(&mut self) -> Result<Option<Ack>, Status> {
        let Some(Entries { log, entries }) = self.inbound.message().await? else {
            return Ok(None);
        };
        if entries.len() > ENTRIES_MAX {
            return Err(Status::invalid_argument(format!("more than {ENTRIES_MAX} entries in one message")));
        }
        let log = log_name(log)?;
        let read = |line: Vec<u8>| report::Entry::of_json(&line);
        let entries: Vec<report::Entry> = entries.into_iter().map(read).collect::<Result<_, _>>().map_err(|error| {
            tracing::error!(env_id = %self.env_id, log, error = %error, "a data plane reported an entry that cannot be read");
            Status::invalid_argument(format!("an entry cannot be read: {error}"))
        })?;
        let sequence = super::intake::store_entries(&self.app, &self.env_id, &log, entries)
            .await
            .map_err(|error| refused(&error))?;
        Ok(Some(Ack { log, sequence }))
    }
}

fn snapshot(governance: &Arc<contract::Governance>) -> Result<Snapshot, Status> {
    let bytes =
        serde_json::to_vec(governance.as_ref()).map_err(|_| Status::internal("the snapshot has no JSON form"))?;
    if bytes.len() > SNAPSHOT_BYTES_MAX {
        let (env_id, version) = (&governance.environment.env_id, governance.version);
        tracing::error!(env.id = %env_id, version, bytes = bytes.len(), "a snapshot is larger than its data plane takes: the rules of before stay in force there");
    }
    Ok(Snapshot { version: governance.version, governance: bytes })
}

/// A log's name is the data plane's own choice, within bounds.
fn log_name(log: String) -> Result<String, Status> {
    let fits =
        (1..=64).contains(&log.len()) && log.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if fits { Ok(log) } else { Err(Status::invalid_argument("a log is named by 1 to 64 of A-Z, a-z, 0-9, - and _")) }
}

/// The connection: of several data planes of one environment, each has its own.
fn peer<T>(request: &Request<T>) -> Result<SocketAddr, Status> {
    request.remote_addr().ok_or_else(|| Status::internal("a connection without an address"))
}

/// The environment that the caller's certificate names.
fn environment<T>(request: &Request<T>) -> Result<EnvId, Status> {
    let certificates =
        request.peer_certs().ok_or_else(|| Status::unauthenticated("a client certificate is required"))?;
    let leaf = certificates.first().ok_or_else(|| Status::unauthenticated("a client certificate is required"))?;
    environment_in(leaf).ok_or_else(|| Status::permission_denied("the certificate names no environment"))
}

/// Exactly one environment: a certificate that names two stands for none.
fn environment_in(certificate: &[u8]) -> Option<EnvId> {
    use x509_parser::extensions::GeneralName;
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let names = certificate.subject_alternative_name().ok()??;
    let mut environments = names.value.general_names.iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => wire::environment_of(name),
        _ => None,
    });
    let only = environments.next()?;
    environments.next().is_none().then_some(only)
}

/// The one name that a certificate stands for: two names are none.
fn only_name(certificate: &[u8]) -> Option<String> {
    use x509_parser::extensions::GeneralName;
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let names = certificate.subject_alternative_name().ok()??;
    match names.value.general_names.as_slice() {
        [GeneralName::DNSName(name)] => Some((*name).to_owned()),
        _ => None,
    }
}

/// What a data plane is told of our own failure: enough to know whether to try again.
fn refused(error: &Error) -> Status {
    let problem = error.problem();
    if problem.code.http() >= 500 {
        tracing::error!(error = %error, code = %problem.code, "a data plane's call failed");
        return Status::unavailable(problem.message);
    }
    Status::failed_precondition(problem.message)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vouching_tests;
