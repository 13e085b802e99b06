use std::sync::Mutex;
use std::time::Instant;

use contract::TestClock;
use opentelemetry::trace::Status;
use opentelemetry_sdk::trace::SimpleSpanProcessor;

use super::*;

const SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const NOT_SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

fn tracer(part: f64) -> (Tracer, Kept) {
    let kept = Kept::default();
    let clock = Arc::new(TestClock::at(chrono::DateTime::UNIX_EPOCH));
    let processor = SimpleSpanProcessor::new(kept.clone());
    (Tracer::through(processor, part, "sluice-test", clock, Entropy::seeded(7)), kept)
}

#[test]
fn a_span_is_told_with_its_steps_when_it_ends() {
    let (tracer, kept) = tracer(0.0);
    let parent = Place::of(Some(SAMPLED), Some("a=1"));
    let mut span = tracer.begin("query", Kind::Server, &parent);
    span.step("policy_check", Instant::now(), Duration::from_millis(2));
    span.tell("sluice.rows", 3);
    span.failed("POLICY_DENIED");
    assert_eq!(span.place().tracestate().as_deref(), Some("a=1"));
    drop(span);
    let told = kept.0.lock().unwrap();
    let [step, query] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((step.name.as_ref(), query.name.as_ref()), ("policy_check", "query"));
    assert_eq!(step.parent_span_id, query.span_context.span_id());
    assert_eq!(query.parent_span_id, parent.0.span_id());
    assert_eq!(step.span_context.trace_id(), parent.0.trace_id());
    assert_eq!(step.end_time.duration_since(step.start_time).unwrap(), Duration::from_millis(2));
    assert!(query.start_time >= SystemTime::UNIX_EPOCH && query.end_time >= query.start_time);
    assert_eq!(query.status, Status::error("POLICY_DENIED"));
}

#[test]
fn the_parent_decides_and_where_there_is_none_the_ratio() {
    let cases = [(SAMPLED, 0.0, 1), (NOT_SAMPLED, 1.0, 0), ("", 1.0, 1), ("", 0.0, 0)];
    for (parent, part, expected) in cases {
        let (tracer, kept) = tracer(part);
        let span = tracer.begin("query", Kind::Server, &Place::of(Some(parent), None));
        assert_eq!(span.is_told(), expected == 1, "{parent} {part}");
        assert!(span.place().is_known(), "what follows knows the decision");
        span.step("execute", Instant::now(), Duration::ZERO);
        drop(span);
        assert_eq!(kept.0.lock().unwrap().len(), 2 * expected, "{parent} {part}");
    }
}

#[test]
fn who_tells_nobody_passes_the_context_on() {
    let parent = Place::of(Some(SAMPLED), Some("a=1"));
    let span = Tracer::default().begin("query", Kind::Server, &parent);
    assert!(!span.is_told());
    assert_eq!(span.place(), &parent);
    assert!(!Tracer::default().begin("query", Kind::Server, &Place::default()).place().is_known());
}

#[test]
fn what_nobody_asked_for_is_told_to_nobody() {
    let (tracer, kept) = tracer(1.0);
    drop(tracer.follow("webhook", Kind::Client, &Place::default()));
    assert!(kept.0.lock().unwrap().is_empty());
    drop(tracer.follow("webhook", Kind::Client, &Place::of(Some(SAMPLED), None)));
    assert_eq!(kept.0.lock().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_costs_nobody_anything() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap(); // takes connections, and never answers
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let collector = Collector::at(endpoint);
    let clock = Arc::new(TestClock::at(chrono::DateTime::UNIX_EPOCH));
    let tracer = Tracer::to(&collector, "sluice-test", clock, Entropy::seeded(7)).unwrap();
    let began = Instant::now();
    for _ in 0..20 * WAITING_MAX {
        drop(tracer.begin("query", Kind::Server, &Place::default()));
    }
    // what waits was full nineteen times: who waited for a send each time would need far longer
    assert!(began.elapsed() < 4 * SENT_WITHIN, "{:?}", began.elapsed());
}
