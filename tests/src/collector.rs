//! A collector of spans: takes them over OTLP, as any does, and shows what has come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use controlplane::platform::identity::Pems;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use telemetry::Collector;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

/// A span as it came; ids in hex.
#[derive(Debug, Clone)]
pub struct Told {
    pub service: String,
    pub trace_id: String,
    pub span_id: String,
    pub parent_id: String,
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    /// Nanoseconds.
    pub took: u64,
}

/// A collector that listens, and what it has received.
pub struct Received {
    endpoint: String,
    taking: Taking,
    server: JoinHandle<()>,
}

impl Received {
    pub async fn listening() -> Self {
        Self::serving("http://127.0.0.1", Server::builder()).await
    }

    /// The same under a certificate of `localhost`.
    pub async fn secured(by: &Pems) -> Self {
        let tls = ServerTlsConfig::new().identity(Identity::from_pem(&by.certificate, by.key.expose()));
        Self::serving("https://localhost", Server::builder().tls_config(tls).unwrap()).await
    }

    async fn serving(at: &str, mut server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("{at}:{}", listener.local_addr().unwrap().port());
        let taking = Taking::default();
        let service = TraceServiceServer::new(taking.clone());
        let serving = server.add_service(service).serve_with_incoming(TcpListenerStream::new(listener));
        let server = tokio::task::spawn(async move { serving.await.unwrap() });
        Self { endpoint, taking, server }
    }

    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// What sends its spans here.
    pub fn settings(&self) -> Collector {
        Collector::at(self.endpoint.clone())
    }

    /// Every `authorization` that came with spans.
    pub fn credentials(&self) -> BTreeSet<String> {
        self.taking.credentials.lock().unwrap().clone()
    }

    /// Everything of one trace.
    pub fn of(&self, trace_id: &str) -> Vec<Told> {
        self.taking.told.lock().unwrap().iter().filter(|told| told.trace_id == trace_id).cloned().collect()
    }

    pub fn all(&self) -> Vec<Told> {
        self.taking.told.lock().unwrap().clone()
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[derive(Clone, Default)]
struct Taking {
    told: Arc<Mutex<Vec<Told>>>,
    credentials: Arc<Mutex<BTreeSet<String>>>,
}

#[tonic::async_trait]
impl TraceService for Taking {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        if let Some(credential) = request.metadata().get("authorization") {
            self.credentials.lock().unwrap().insert(credential.to_str().unwrap().to_owned());
        }
        for of_resource in request.into_inner().resource_spans {
            let resource = texts(of_resource.resource.unwrap().attributes);
            let service = &resource["service.name"];
            let spans = of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            self.told.lock().unwrap().extend(spans.map(|span| told(service, span)));
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn told(service: &str, span: Span) -> Told {
    Told {
        service: service.to_owned(),
        trace_id: hex(&span.trace_id),
        span_id: hex(&span.span_id),
        parent_id: hex(&span.parent_span_id),
        name: span.name,
        attributes: texts(span.attributes),
        took: span.end_time_unix_nano - span.start_time_unix_nano,
    }
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    attributes.into_iter().map(|pair| (pair.key, text(pair.value))).collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(is)) => is.to_string(),
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
