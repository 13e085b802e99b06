//! The limits around a service that answers as it is told.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, StatusCode, Uri};
use tower::service_fn;

use super::*;

fn asked(method: &str, uri: &str) -> (String, String, String) {
    let asked = Asked::of(&method.parse::<Method>().unwrap(), &uri.parse::<Uri>().unwrap());
    (asked.verb.to_owned(), asked.group, asked.resource)
}

#[test]
fn a_request_is_read_as_the_api_server_reads_it() {
    for (method, uri, verb, group, resource) in [
        ("GET", "/apis/sluice.dev/v1alpha1/environments?limit=500", "list", "sluice.dev", "environments"),
        ("GET", "/apis/sluice.dev/v1alpha1/environments?watch=true&x=1", "watch", "sluice.dev", "environments"),
        ("GET", "/api/v1/namespaces/a/secrets/b", "get", "", "secrets"),
        ("PATCH", "/api/v1/namespaces/a/secrets/b?fieldManager=m", "patch", "", "secrets"),
        ("PATCH", "/apis/sluice.dev/v1alpha1/namespaces/a/environments/b/status", "patch", "sluice.dev", "environments/status"),
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

/// A service that counts what reaches it, answers `code`, and takes `takes` for it.
fn served(limits: &Limits, code: u16, takes: Duration) -> (impl FnMut(&str, &str) -> Answer, Arc<AtomicUsize>) {
    let reached = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&reached);
    let mut service = limits.layer(service_fn(move |_: Request<()>| {
        counter.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::time::sleep(takes).await;
            Ok::<_, Infallible>(Response::builder().status(StatusCode::from_u16(code).unwrap()).body(()).unwrap())
        }
    }));
    let call = move |method: &str, uri: &str| {
        service.call(Request::builder().method(method).uri(uri).body(()).unwrap())
    };
    (call, reached)
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<()>, BoxError>> + Send>>;

const SECRET: &str = "/api/v1/namespaces/a/secrets/b";

fn limits(budget: Budget, fence: Option<Fence>) -> Limits {
    Limits::new(budget, fence, Metrics::new())
}

#[tokio::test(start_paused = true)]
async fn once_leadership_has_run_out_nothing_is_changed_and_reading_goes_on() {
    let (leads, fence) = watch::channel(Some(Instant::now() + Duration::from_secs(10)));
    let (mut call, reached) = served(&limits(Budget::default(), Some(fence)), 200, Duration::ZERO);
    call("PATCH", SECRET).await.unwrap();
    tokio::time::advance(Duration::from_secs(10)).await;
    for method in ["PATCH", "POST", "PUT", "DELETE"] {
        let refused = call(method, SECRET).await.unwrap_err();
        assert!(matches!(refused.downcast_ref(), Some(Refused::NotLeading)), "{method}");
    }
    call("GET", SECRET).await.unwrap();
    assert_eq!(reached.load(Ordering::SeqCst), 2);
    leads.send(Some(Instant::now() + Duration::from_secs(10))).unwrap();
    call("DELETE", SECRET).await.unwrap();
    leads.send(None).unwrap();
    call("DELETE", SECRET).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_change_that_waited_past_the_end_of_leadership_is_not_sent() {
    let (_leads, fence) = watch::channel(Some(Instant::now() + Duration::from_secs(3)));
    let budget = Budget { at_once: 1, ..Budget::default() };
    let (mut call, reached) = served(&limits(budget, Some(fence)), 200, Duration::from_secs(4));
    let (first, second) = tokio::join!(call("GET", SECRET), call("PATCH", SECRET));
    first.unwrap();
    assert!(matches!(second.unwrap_err().downcast_ref(), Some(Refused::NotLeading)));
    assert_eq!(reached.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn no_more_than_so_many_run_at_once() {
    let budget = Budget { at_once: 4, ..Budget::default() };
    let (mut call, reached) = served(&limits(budget, None), 200, Duration::from_secs(1));
    let start = Instant::now();
    let calls: Vec<_> = (0..12).map(|_| call("GET", SECRET)).collect();
    futures::future::join_all(calls).await;
    assert_eq!((reached.load(Ordering::SeqCst), start.elapsed().as_secs()), (12, 3));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_given_up_sooner_for_a_change_than_for_a_read() {
    let (mut call, _) = served(&limits(Budget::default(), None), 200, Duration::from_secs(3_600));
    for (method, seconds) in [("PATCH", 5), ("GET", 30)] {
        let start = Instant::now();
        let refused = call(method, SECRET).await.unwrap_err();
        assert!(matches!(refused.downcast_ref(), Some(Refused::Timeout)));
        assert_eq!(start.elapsed().as_secs(), seconds, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_asked_eight_times_a_second_whatever_waits() {
    let (mut call, reached) = served(&limits(Budget::default(), None), 503, Duration::ZERO);
    call("GET", SECRET).await.unwrap();
    let calls: Vec<_> = (0..200).map(|_| call("GET", SECRET)).collect();
    let _ = tokio::time::timeout(Duration::from_secs(10), futures::future::join_all(calls)).await;
    let asked = reached.load(Ordering::SeqCst);
    assert!((75..=85).contains(&asked), "{asked} in ten seconds");
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
