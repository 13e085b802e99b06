//! Whoever makes spans, and brings them to a collector.
//!
//! A thread of its own sends them, at most [`WAITING_MAX`] wait for it, and what comes on top is
//! dropped: a collector that is away, slow or gone costs nobody anything.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use contract::{Entropy, SharedClock};
use opentelemetry::trace::{SpanId, TraceId, TracerProvider};
use opentelemetry::{KeyValue, Value};
use opentelemetry_otlp::tonic_types::transport::{Certificate, ClientTlsConfig};
use opentelemetry_otlp::{ExporterBuildError, RetryPolicy, SpanExporter as Otlp, WithExportConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, IdGenerator, Sampler, SdkTracer, SdkTracerProvider, SpanData, SpanExporter,
    SpanProcessor,
};

use crate::place::Place;
use crate::settings::Collector;
use crate::span::{Kind, Span};

/// Spans that wait to be sent.
const WAITING_MAX: usize = 4_096;
const BATCH_MAX: usize = 512;
const SENT_EVERY: Duration = Duration::from_secs(1);
/// A collector that takes longer has lost the batch.
const SENT_WITHIN: Duration = Duration::from_secs(5);
/// How long a stop waits for what is still to be sent.
const FINISHED_WITHIN: Duration = Duration::from_secs(5);

/// Why there is no way to a collector.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    #[error("the authority of the collector, {}, cannot be read: {error}", .path.display())]
    Authority { path: PathBuf, error: std::io::Error },
    #[error("the collector of spans: {0}")]
    Exporter(#[from] ExporterBuildError),
}

/// By default nobody is told.
#[derive(Debug, Clone, Default)]
pub struct Tracer(Option<Arc<Telling>>);

#[derive(Debug)]
struct Telling {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    clock: SharedClock,
}

impl Tracer {
    /// Tells the collector, if one is set. Called within the runtime that sends.
    pub fn to(
        collector: &Collector,
        service: &'static str,
        clock: SharedClock,
        entropy: Entropy,
    ) -> Result<Self, Unreachable> {
        let Some(endpoint) = &collector.destination.endpoint else { return Ok(Self::default()) };
        let mut otlp = Otlp::builder()
            .with_tonic()
            .with_endpoint(endpoint)
            .with_timeout(SENT_WITHIN)
            .with_retry_policy(RetryPolicy::disabled());
        if endpoint.starts_with("https:") {
            otlp = otlp.with_tls_config(believed(collector)?);
        }
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(WAITING_MAX)
            .with_max_export_batch_size(BATCH_MAX)
            .with_scheduled_delay(SENT_EVERY)
            .build();
        let noticed = Noticed { inner: otlp.build()?, away: AtomicBool::new(false) };
        let processor = BatchSpanProcessor::builder(noticed).with_batch_config(batches).build();
        Ok(Self::through(processor, collector.destination.part(), service, clock, entropy))
    }

    fn through(
        processor: impl SpanProcessor + 'static,
        part: f64,
        service: &'static str,
        clock: SharedClock,
        entropy: Entropy,
    ) -> Self {
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder().with_service_name(Value::from(service)).with_attribute(version).build();
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(part))))
            .with_id_generator(Ids(entropy))
            .with_resource(resource)
            .with_span_processor(processor)
            .build();
        let tracer = provider.tracer("sluice");
        Self(Some(Arc::new(Telling { provider, tracer, clock })))
    }

    /// Something begins that was asked at `parent`.
    pub fn begin(&self, name: impl Into<Cow<'static, str>>, kind: Kind, parent: &Place) -> Span {
        let Some(telling) = &self.0 else { return Span::untold(parent) };
        let at = SystemTime::from(telling.clock.now());
        Span::new(telling.tracer.clone(), name.into(), kind, parent, at)
    }

    /// The same, where it was asked in a trace. What nobody asked for is told to nobody.
    pub fn follow(&self, name: impl Into<Cow<'static, str>>, kind: Kind, parent: &Place) -> Span {
        if parent.is_known() { self.begin(name, kind, parent) } else { Span::untold(parent) }
    }

    /// Sends what waits; nothing is told any more.
    pub async fn finish(&self) {
        let Some(telling) = self.0.clone() else { return };
        let finished = tokio::task::spawn_blocking(move || telling.provider.shutdown_with_timeout(FINISHED_WITHIN));
        if !matches!(finished.await, Ok(Ok(()))) {
            tracing::warn!("the last spans were not taken by the collector");
        }
    }
}

/// Whose certificate a collector may show: the given authority's alone, or a public one's.
fn believed(collector: &Collector) -> Result<ClientTlsConfig, Unreachable> {
    let tls = ClientTlsConfig::new();
    let Some(path) = &collector.ca else { return Ok(tls.with_enabled_roots()) };
    let pem = std::fs::read(path).map_err(|error| Unreachable::Authority { path: path.clone(), error })?;
    Ok(tls.ca_certificate(Certificate::from_pem(pem)))
}

/// Ids of this process's own randomness.
#[derive(Debug)]
struct Ids(Entropy);

impl IdGenerator for Ids {
    fn new_trace_id(&self) -> TraceId {
        TraceId::from_bytes(self.0.bytes())
    }

    fn new_span_id(&self) -> SpanId {
        SpanId::from_bytes(self.0.bytes())
    }
}

/// Logs that a collector is away, once, and that it is there again.
#[derive(Debug)]
struct Noticed<E> {
    inner: E,
    away: AtomicBool,
}

impl<E: SpanExporter> SpanExporter for Noticed<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sent = self.inner.export(batch).await;
        match (&sent, self.away.swap(sent.is_err(), Ordering::Relaxed)) {
            (Err(error), false) => tracing::warn!(%error, "the collector takes no spans; they are dropped"),
            (Ok(()), true) => tracing::info!("the collector takes spans again"),
            (Err(_), true) | (Ok(()), false) => {}
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

#[cfg(test)]
mod tests;
