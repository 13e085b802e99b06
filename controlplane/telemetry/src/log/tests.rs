use std::io;

use axum::body::{Body, to_bytes};
use axum::http::Method;
use tower::ServiceExt;

use super::*;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

async fn ask(log: &Log, method: Method, said: &str, peer: &str, host: &str) -> (u16, String) {
    let mut request = Request::builder().method(method).uri(PATH).header(HOST, host);
    request = request.extension(ConnectInfo::<SocketAddr>(peer.parse().unwrap()));
    let request = request.body(Body::from(said.to_owned())).unwrap();
    let answer = routes(Some(log.clone())).oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    (status, String::from_utf8(to_bytes(answer.into_body(), 4_096).await.unwrap().to_vec()).unwrap())
}

async fn say(log: &Log, said: &str) -> (u16, String) {
    ask(log, Method::PUT, said, "127.0.0.1:40000", "localhost:9090").await
}

#[tokio::test]
async fn a_line_is_written_once_its_level_is_said_and_not_after_it_is_unsaid() {
    let kept = Kept::default();
    let lines = kept.clone();
    let (log, subscriber) = Log::made("warn".to_owned(), move || lines.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    tracing::debug!(target: "dataplane::doors", "before");
    assert_eq!(say(&log, "dataplane=debug").await, (200, "warn,dataplane=debug\n".to_owned()));
    tracing::debug!(target: "dataplane::doors", "while");
    tracing::debug!(target: "hyper", "somebody else's");
    tracing::debug!(target: "controlplane", "not said");
    assert_eq!(ask(&log, Method::DELETE, "", "127.0.0.1:40000", "127.0.0.1").await, (200, "warn\n".to_owned()));
    tracing::debug!(target: "dataplane::doors", "after");
    let text = kept.text();
    assert!(text.contains("\"while\""), "{text}");
    for unwritten in ["before", "somebody else's", "not said", "after"] {
        assert!(!text.contains(unwritten), "{unwritten}: {text}");
    }
}

#[tokio::test]
async fn a_level_of_controlplane_holds_for_platform_without_one_of_its_own() {
    let kept = Kept::default();
    let lines = kept.clone();
    let (log, subscriber) = Log::made("controlplane=debug".to_owned(), move || lines.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    tracing::debug!(target: "platform::error", "from the start");
    assert_eq!(say(&log, "platform=info").await, (200, "controlplane=debug,platform=info\n".to_owned()));
    tracing::debug!(target: "platform::error", "below its own level");
    say(&log, "controlplane=trace").await;
    tracing::trace!(target: "platform::error", "once it is said");
    let text = kept.text();
    assert!(text.contains("from the start") && text.contains("once it is said"), "{text}");
    assert!(!text.contains("below its own level"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_said_changes_nothing_and_is_named() {
    let (log, _subscriber) = Log::made("info".to_owned(), io::sink);
    for said in ["", "loud", "hyper=trace", "h2=debug", "dataplane=loud", "dataplane[query]=trace", "debug,", "a=b=c"] {
        let (status, why) = say(&log, said).await;
        assert_eq!(status, 400, "{said}: {why}");
        assert_eq!(log.now(), "info", "{said}");
    }
    assert!(say(&log, "hyper=trace").await.1.starts_with("\"hyper=trace\": a module is wanted, of one of contract"));
    let (status, now) = say(&log, "debug").await;
    assert!(status == 200 && now.contains("dataplane=debug") && now.starts_with("info,"), "{now}");
    assert_eq!(say(&log, &"x".repeat(SAID_BYTES_MAX + 1)).await.0, 413);
}

#[tokio::test]
async fn nobody_else_may_say_it() {
    let (log, _subscriber) = Log::made("info".to_owned(), io::sink);
    let cases = [
        ("10.0.0.7:40000", "localhost", 403),
        ("127.0.0.1:40000", "evil.example:9090", 403),
        ("127.0.0.1:40000", "localhost.evil.example", 403),
        ("[::ffff:127.0.0.1]:40000", "localhost", 200),
        ("[::1]:40000", "[::1]:9090", 200),
    ];
    for (peer, host, expected) in cases {
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            assert_eq!(ask(&log, method.clone(), "debug", peer, host).await.0, expected, "{method} {peer} {host}");
        }
    }
}
