//! A span: something that was asked, from its beginning to its end, with the steps it took.

use std::borrow::Cow;
use std::time::{Duration, Instant, SystemTime};

use opentelemetry::trace::{Span as _, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer as _};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::trace::{SdkTracer, Span as Recorded};

use crate::place::Place;

/// Which side of a call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Answers somebody.
    Server,
    /// Asks somebody, and waits.
    Client,
}

/// Told of when it is dropped, if it is told of at all.
#[derive(Debug)]
pub struct Span {
    recorded: Option<(SdkTracer, Recorded)>,
    place: Place,
    at: SystemTime,
    began: Instant,
}

impl Span {
    /// Nobody is told: what is asked on its behalf is asked where it was asked itself.
    pub(crate) fn untold(parent: &Place) -> Self {
        Self { recorded: None, place: parent.clone(), at: SystemTime::UNIX_EPOCH, began: Instant::now() }
    }

    pub(crate) fn new(tracer: SdkTracer, name: Cow<'static, str>, kind: Kind, parent: &Place, at: SystemTime) -> Self {
        let kind = match kind {
            Kind::Server => SpanKind::Server,
            Kind::Client => SpanKind::Client,
        };
        let builder = SpanBuilder::from_name(name).with_kind(kind).with_start_time(at);
        let span = tracer.build_with_context(builder, &context(parent));
        let place = Place(span.span_context().clone());
        Self { recorded: Some((tracer, span)), place, at, began: Instant::now() }
    }

    /// Where what it does is done.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Is it worth finding out what could be told?
    pub fn is_told(&self) -> bool {
        self.recorded.as_ref().is_some_and(|(_, span)| span.is_recording())
    }

    pub fn name(&mut self, name: impl Into<Cow<'static, str>>) {
        if let Some((_, span)) = &mut self.recorded {
            span.update_name(name);
        }
    }

    /// A name, a code or a count; never what belongs to a tenant.
    pub fn tell(&mut self, key: &'static str, value: impl Into<Value>) {
        if let Some((_, span)) = &mut self.recorded {
            span.set_attribute(KeyValue::new(key, value));
        }
    }

    /// It failed, with a code of the table.
    pub fn failed(&mut self, code: &'static str) {
        self.tell("error.type", code);
        if let Some((_, span)) = &mut self.recorded {
            span.set_status(Status::error(code));
        }
    }

    /// A step that has ended.
    pub fn step(&self, name: &'static str, began: Instant, took: Duration) {
        let Some((tracer, _)) = self.recorded.as_ref().filter(|_| self.is_told()) else { return };
        let at = self.at + began.saturating_duration_since(self.began);
        let builder = SpanBuilder::from_name(name).with_kind(SpanKind::Internal).with_start_time(at);
        tracer.build_with_context(builder, &context(&self.place)).end_with_timestamp(at + took);
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let ended = self.at + self.began.elapsed();
        if let Some((_, span)) = &mut self.recorded {
            span.end_with_timestamp(ended);
        }
    }
}

/// A context that holds no place would be taken for a parent that decided against.
fn context(parent: &Place) -> Context {
    if parent.is_known() { Context::new().with_remote_span_context(parent.0.clone()) } else { Context::new() }
}
