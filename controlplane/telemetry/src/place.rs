//! Where in a trace something happens: W3C Trace Context, as headers, as members of a JSON object and
//! as a comment of a statement carry it.

use std::future::Future;

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{SpanContext, TraceContextExt};
use opentelemetry_sdk::propagation::TraceContextPropagator;

use crate::comment;

const PARENT: HeaderName = HeaderName::from_static("traceparent");
const STATE: HeaderName = HeaderName::from_static("tracestate");
/// Of version 00; a later version may say more after it.
const PARENT_BYTES: usize = 55;
const PARENT_BYTES_MAX: usize = 256;
/// "Vendors SHOULD propagate at least 512 characters": what is longer is left out.
const STATE_BYTES_MAX: usize = 2_048;

tokio::task_local! {
    static HERE: Place;
}

/// A place in a trace; by default in none.
#[derive(Debug, Clone, PartialEq)]
pub struct Place(pub(crate) SpanContext);

impl Default for Place {
    fn default() -> Self {
        Self(SpanContext::NONE)
    }
}

/// Where the task that asks is at work.
pub fn here() -> Place {
    HERE.try_with(Clone::clone).unwrap_or_default()
}

impl Place {
    /// What cannot be read is no place.
    pub fn of(traceparent: Option<&str>, tracestate: Option<&str>) -> Self {
        let Some(parent) = traceparent.map(str::trim).filter(|parent| is_formed(parent)) else {
            return Self::default();
        };
        let said = Said { parent, state: tracestate.filter(|state| state.len() <= STATE_BYTES_MAX) };
        let read = TraceContextPropagator::new().extract_with_context(&Context::new(), &said);
        Self(read.span().span_context().clone())
    }

    /// As a request says it: one parent, and a state that may be spread over several headers.
    pub fn of_headers(headers: &HeaderMap) -> Self {
        let mut parents = headers.get_all(PARENT).iter();
        let (Some(parent), None) = (parents.next(), parents.next()) else { return Self::default() };
        let states: Vec<_> = headers.get_all(STATE).iter().filter_map(|value| value.to_str().ok()).collect();
        Self::of(parent.to_str().ok(), (!states.is_empty()).then(|| states.join(",")).as_deref())
    }

    /// As a comment at either end of a statement says it.
    pub fn of_sql(sql: &str) -> Self {
        let said = comment::read(sql);
        Self::of(said.traceparent.as_deref(), said.tracestate.as_deref())
    }

    pub fn is_known(&self) -> bool {
        self.0.is_valid()
    }

    pub fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        if self.is_known() { self } else { other() }
    }

    /// 32 hex digits, where there is a trace.
    pub fn trace_id(&self) -> Option<String> {
        self.is_known().then(|| self.0.trace_id().to_string())
    }

    /// The header of that name, where there is a trace.
    pub fn traceparent(&self) -> Option<String> {
        let (trace, span, sampled) = (self.0.trace_id(), self.0.span_id(), u8::from(self.0.is_sampled()));
        self.is_known().then(|| format!("00-{trace}-{span}-{sampled:02x}"))
    }

    /// The header of that name, where it says anything.
    pub fn tracestate(&self) -> Option<String> {
        Some(self.0.trace_state().header()).filter(|state| self.is_known() && !state.is_empty())
    }

    /// Says it on what is sent.
    pub fn write(&self, headers: &mut HeaderMap) {
        for (name, value) in [(PARENT, self.traceparent()), (STATE, self.tracestate())] {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.insert(name, value);
            }
        }
    }

    /// Does work that is to be known as done here.
    pub async fn around<F: Future>(self, work: F) -> F::Output {
        HERE.scope(self, work).await
    }
}

/// `00-<32>-<16>-<2>`, in lower case; the propagator is laxer.
fn is_formed(parent: &str) -> bool {
    let dash = |at: usize| matches!(at, 2 | 35 | 52);
    (PARENT_BYTES..=PARENT_BYTES_MAX).contains(&parent.len())
        && parent.bytes().take(PARENT_BYTES).enumerate().all(|(at, byte)| match byte {
            b'-' => dash(at),
            b'0'..=b'9' | b'a'..=b'f' => !dash(at),
            _ => false,
        })
}

struct Said<'a> {
    parent: &'a str,
    state: Option<&'a str>,
}

impl Extractor for Said<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => Some(self.parent),
            "tracestate" => self.state,
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT_TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_was_read_is_written_again() {
        let mut headers = HeaderMap::new();
        headers.append(PARENT, HeaderValue::from_static(PARENT_TEXT));
        headers.append(STATE, HeaderValue::from_static("a=1"));
        headers.append(STATE, HeaderValue::from_static("b=2"));
        let place = Place::of_headers(&headers);
        let mut sent = HeaderMap::new();
        place.write(&mut sent);
        assert_eq!(place.trace_id().as_deref(), Some(TRACE));
        assert_eq!((sent[PARENT].to_str().unwrap(), sent[STATE].to_str().unwrap()), (PARENT_TEXT, "a=1,b=2"));
    }

    #[test]
    fn a_context_that_is_not_well_formed_is_none() {
        let cases = [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ];
        for text in cases {
            assert!(!Place::of(Some(text), None).is_known(), "{text}");
        }
        let later = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more";
        assert_eq!(Place::of(Some(later), None).trace_id().as_deref(), Some(TRACE));
        let long = format!("a={}", "x".repeat(STATE_BYTES_MAX));
        assert_eq!(Place::of(Some(PARENT_TEXT), Some(&long)).tracestate(), None);
    }

    #[test]
    fn two_parents_are_none() {
        let mut headers = HeaderMap::new();
        headers.append(PARENT, HeaderValue::from_static(PARENT_TEXT));
        headers.append(PARENT, HeaderValue::from_static(PARENT_TEXT));
        assert!(!Place::of_headers(&headers).is_known());
    }

    #[tokio::test]
    async fn work_knows_where_it_is_done() {
        assert!(!here().is_known());
        let place = Place::of(Some(PARENT_TEXT), None);
        assert_eq!(place.clone().around(async { here() }).await, place);
    }
}
