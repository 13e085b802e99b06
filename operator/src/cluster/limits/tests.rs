//! The limits around a service that answers as it is told.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::{Method, StatusCode, Uri};
use tower::service_fn;

use super::*;

fn asked(method: &str, uri: &str) -> (String, String, String) {
    let attributes = ResourceAttributes::of(&method.parse::<Method>().unwrap(), &uri.parse::<Uri>().unwrap());
    (attributes.verb.to_owned(), attributes.group, attributes.resource)
}

#[test]
fn a_request_is_read_as_the_api_server_reads_it() {
    for (method, uri, verb, group, resource) in [
        ("GET", "/apis/sluice.dev/v1alpha1/environments?limit=500", "list", "sluice.dev", "environments"),
        ("GET", "/apis/sluice.dev/v1alpha1/environments?watch=true&x=1", "watch", "sluice.dev", "environments"),
        ("GET", "/api/v1/namespaces/a/secrets/b", "get", "", "secrets"),
        ("PATCH", "/api/v1/namespaces/a/secrets/b?fieldManager=m", "patch", "", "secrets"),
        (
            "PATCH",
            "/apis/sluice.dev/v1alpha1/namespaces/a/environments/b/status",
            "patch",
            "sluice.dev",
            "environments/status",
        ),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", "update", "coordination.k8s.io", "leases"),
        ("POST", "/apis/events.k8s.io/v1/namespaces/a/events", "create", "events.k8s.io", "events"),
        ("DELETE", "/apis/apps/v1/namespaces/a/deployments/b", "delete", "apps", "deployments"),
        ("DELETE", "/apis/apps/v1/namespaces/a/deployments", "deletecollection", "apps", "deployments"),
        ("GET", "/api/v1/namespaces/a", "get", "", "namespaces"),
        ("GET", "/version", "list", "", ""),
    ] {
        let expected = (verb.to_owned(), group.to_owned(), resource.to_owned());
        assert_eq!(asked(method, uri), expected, "{method} {uri}");
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<()>, BoxError>> + Send>>;

/// A service that counts what reaches it, waits for one of `places`, and answers `code`.
fn served(
    limits: &Limits,
    code: u16,
    places: &Arc<Semaphore>,
) -> (impl FnMut(&str, &str) -> Answer + use<>, Arc<AtomicUsize>) {
    let reached = Arc::new(AtomicUsize::new(0));
    let (counter, places) = (Arc::clone(&reached), Arc::clone(places));
    let mut service = limits.layer(service_fn(move |_: Request<()>| {
        counter.fetch_add(1, Ordering::SeqCst);
        let places = Arc::clone(&places);
        async move {
            places.acquire().await.unwrap().forget();
            Ok::<_, Infallible>(Response::builder().status(StatusCode::from_u16(code).unwrap()).body(()).unwrap())
        }
    }));
    let call =
        move |method: &str, uri: &str| service.call(Request::builder().method(method).uri(uri).body(()).unwrap());
    (call, reached)
}

const SECRET: &str = "/api/v1/namespaces/a/secrets/b";

fn open() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(1_000))
}

fn limits(budget: Budget, fence: Option<Fence>) -> Limits {
    Limits::new(budget, fence, Metrics::default())
}

fn soon() -> Instant {
    Instant::now() + Duration::from_mins(10)
}

fn is_not_leading(error: &BoxError) -> bool {
    matches!(error.downcast_ref(), Some(Refused::NotLeading))
}

#[tokio::test]
async fn once_leadership_has_run_out_nothing_is_changed_and_reading_goes_on() {
    let (leads, fence) = watch::channel(Some(soon()));
    let (mut call, reached) = served(&limits(Budget::default(), Some(fence)), 200, &open());
    call("PATCH", SECRET).await.unwrap();
    leads.send(Some(Instant::now())).unwrap();
    for method in ["PATCH", "POST", "PUT", "DELETE"] {
        assert!(is_not_leading(&call(method, SECRET).await.unwrap_err()), "{method}");
    }
    call("GET", SECRET).await.unwrap();
    assert_eq!(reached.load(Ordering::SeqCst), 2);
    leads.send(Some(soon())).unwrap();
    call("DELETE", SECRET).await.unwrap();
    leads.send(None).unwrap();
    call("DELETE", SECRET).await.unwrap_err();
}

#[tokio::test]
async fn a_change_that_waited_past_the_end_of_leadership_is_not_sent() {
    let (leads, fence) = watch::channel(Some(soon()));
    let places = Arc::new(Semaphore::new(0));
    let budget = Budget { at_once: 1, ..Budget::default() };
    let (mut call, reached) = served(&limits(budget, Some(fence)), 200, &places);
    let (first, second) = (call("GET", SECRET), call("PATCH", SECRET));
    let end = async {
        tokio::task::yield_now().await;
        leads.send(None).unwrap();
        places.add_permits(2);
    };
    let (first, second, ()) = tokio::join!(first, second, end);
    first.unwrap();
    assert!(is_not_leading(&second.unwrap_err()));
    assert_eq!(reached.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_could_go_on_only_after_its_time_does_not() {
    let (mut reached, places) = (false, Semaphore::new(0));
    let deadline = Instant::now() + Duration::from_millis(20);
    let call = before(deadline, async {
        places.acquire().await.unwrap().forget();
        reached = true;
    });
    let held_still = async {
        places.add_permits(1);
        // as a process that is stopped: nothing of it runs, and the clock goes on
        while Instant::now() < deadline {
            std::hint::spin_loop();
        }
    };
    let (answer, ()) = tokio::join!(call, held_still);
    assert_eq!(answer, None);
    assert!(!reached);
}

#[tokio::test]
async fn no_more_than_so_many_run_at_once() {
    let places = Arc::new(Semaphore::new(0));
    let (mut call, reached) = served(&limits(Budget { at_once: 4, ..Budget::default() }, None), 200, &places);
    let mut calls: FuturesUnordered<_> = (0..12).map(|_| call("GET", SECRET)).collect();
    for done in 0..12 {
        let pending = tokio::time::timeout(Duration::from_millis(20), calls.next()).await;
        assert!(pending.is_err(), "nobody was let through");
        assert_eq!(reached.load(Ordering::SeqCst), (4 + done).min(12));
        places.add_permits(1);
        calls.next().await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_sooner_for_a_change_than_for_a_read() {
    let (read, change) = (Duration::from_millis(60), Duration::from_millis(20));
    let shut = Arc::new(Semaphore::new(0));
    let (mut call, _) = served(&limits(Budget { read, change, ..Budget::default() }, None), 200, &shut);
    for (method, limit) in [("PATCH", change), ("GET", read)] {
        let start = Instant::now();
        let refused = call(method, SECRET).await.unwrap_err();
        assert!(matches!(refused.downcast_ref(), Some(Refused::Timeout)));
        assert!(start.elapsed() >= limit, "{method}");
    }
}

#[tokio::test]
async fn a_server_that_fails_is_asked_less_often_until_it_answers() {
    for (code, slow) in [(503, true), (429, true), (404, false), (200, false)] {
        let limits = limits(Budget::default(), None);
        served(&limits, code, &open()).0("GET", SECRET).await.unwrap();
        let waits: Vec<_> = (0..10).map(|_| limits.shared.wait()).collect();
        assert_eq!(waits.last().is_some_and(|wait| *wait > Duration::from_secs(1)), slow, "{code}: {waits:?}");
    }
}

#[test]
fn while_the_server_fails_it_is_asked_six_times_a_second_whatever_waits() {
    let now = Instant::now();
    let mut bucket = Bucket::new(Budget::default().rate, now);
    bucket.failing(true, now);
    let within = (0..1_000).filter(|_| bucket.take(now) <= Duration::from_secs(10)).count();
    assert_eq!(within, 61);
}

#[test]
fn a_bucket_lets_a_burst_through_and_then_its_rate() {
    let now = Instant::now();
    let mut bucket = Bucket::new(Rate { per_second: 10.0, burst: 3.0, per_second_failing: 1.0 }, now);
    let waits: Vec<_> = (0..5).map(|_| bucket.take(now).as_millis()).collect();
    assert_eq!(waits, [0, 0, 0, 100, 200]);
    bucket.failing(true, now);
    let waits: Vec<_> = (0..3).map(|_| bucket.take(now).as_millis()).collect();
    assert_eq!(waits, [1_000, 2_000, 3_000]);
}
