use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::ConnectInfo;
use bytes::Bytes;
use contract::wire::{environment_name, header};
use futures::{StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::HeaderMap;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use platform::identity::Pems;
use platform::provisioner::Placement;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::domain::environments;
use crate::testing::authority;
use crate::worlds::World;

mod dashboard;
mod load;
mod stage_files;
mod takeover;

pub type Answer = fn(&Request<Incoming>) -> Response<Body>;

/// A data plane as far as the wire: mutual TLS under a name, and one answer for every query.
async fn data_plane(world: &World, name: &str, answer: Answer) {
    let (listener, acceptor) = listening(world, name).await;
    let tasks = world.app.app.tasks();
    tasks.spawn(serve(listener, acceptor, answer, tasks.clone()));
}

/// Where the environment's data plane is from now on.
async fn listening(world: &World, name: &str) -> (TcpListener, TlsAcceptor) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    place(world, listener.local_addr().unwrap()).await;
    (listener, TlsAcceptor::from(Arc::new(server(&authority().issue(name).unwrap()))))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, answer: Answer, tasks: TaskTracker) {
    while let Ok((tcp, _)) = listener.accept().await {
        let Ok(tls) = acceptor.accept(tcp).await else { continue };
        let service = service_fn(move |request| async move { Ok::<_, Infallible>(answer(&request)) });
        let builder = Builder::new(TokioExecutor::new());
        tasks.spawn(async move { builder.serve_connection(TokioIo::new(tls), service).await.is_ok() });
    }
}

pub async fn own_data_plane(world: &World, answer: Answer) {
    data_plane(world, &environment_name(&world.env_id), answer).await;
}

/// One that reads a whole file before it answers that two rows are loaded, and says meanwhile that two have come.
pub async fn reading_data_plane(world: &World) {
    let (listener, acceptor) = listening(world, &environment_name(&world.env_id)).await;
    let tasks = world.app.app.tasks().clone();
    world.app.app.tasks().spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let Ok(tls) = acceptor.accept(tcp).await else { continue };
            let builder = Builder::new(TokioExecutor::new());
            let service = service_fn(read_whole);
            tasks.spawn(async move { builder.serve_connection(TokioIo::new(tls), service).await.is_ok() });
        }
    });
}

async fn read_whole(request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    let is_load = request.method() == hyper::Method::POST;
    request.into_body().collect().await?;
    let loaded = json!({"table": "main.t", "columns": [], "bytes": 6, "rows_loaded": 2});
    let told = if is_load { loaded } else { json!({"rows": 2}) };
    Ok(Response::builder().header("content-type", "application/json").body(told.to_string().into()).unwrap())
}

async fn place(world: &World, internal: SocketAddr) {
    let address = ("127.0.0.1".to_owned(), 5439);
    let placement =
        Placement { internal: internal.to_string(), pg: address.clone(), tools: address, database: "demo".to_owned() };
    environments::place(world.app.app.pool(), &world.env_id, &placement, world.app.app.now()).await.unwrap();
}

async fn nobody_listens() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

fn server(pems: &Pems) -> ServerConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pems.authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let certificate = CertificateDer::from_pem_slice(pems.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pems.key.expose().as_bytes()).unwrap();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

async fn ask(world: &World, body: Value) -> crate::testing::Answer {
    world.app.post(&world.env("query"), &world.owner, body).await
}

fn echo(request: &Request<Incoming>) -> Response<Body> {
    let told = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let caller: Value = serde_json::from_str(told(header::CALLER)).unwrap();
    let heard = json!({
        "path": request.uri().path(),
        "caller": caller,
        "request_id": told(header::REQUEST_ID),
        "credential": request.headers().contains_key("authorization"),
        "key": told(header::IDEMPOTENCY_KEY),
    });
    let body = json!({
        "query_id": "q1", "columns": [{"name": "heard", "type": "JSON"}], "rows": [[heard]], "row_count": 1,
        "execution_time_ms": 0.5, "transpilation_time_ms": 0.5, "cache_hit": false, "credits_consumed": 1.0,
        "columns_masked": [], "warnings": [],
    });
    Response::builder()
        .header("content-type", "application/json")
        .header("x-query-id", "q1")
        .header(header::REPLAYED, "true")
        .header(header::ROWS_WITHHELD, "true")
        .body(body.to_string().into())
        .unwrap()
}

#[tokio::test]
async fn a_query_is_forwarded_with_who_asks_and_never_the_credential() {
    let world = World::start().await;
    own_data_plane(&world, echo).await;
    let answer = ask(&world, json!({"sql": "select 1"})).await;
    assert_eq!(answer.headers["x-query-id"], "q1");
    let request_id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
    let told = &answer.expect(200)["rows"][0][0];
    assert_eq!(told["path"], world.env("query"));
    assert_eq!((&told["caller"]["credential"], &told["caller"]["peer"]), (&json!("key"), &json!("127.0.0.1")));
    assert_eq!((told["request_id"].as_str(), told["credential"].as_bool()), (Some(request_id.as_str()), Some(false)));
}

/// The data plane keeps it, in the statement's own transaction.
#[tokio::test]
async fn the_key_of_a_statement_goes_with_it_and_what_is_said_of_it_comes_back() {
    let world = World::start().await;
    own_data_plane(&world, echo).await;
    for key in [Some("k-1"), None] {
        let request = axum::http::Request::post(world.env("query")).header("content-type", "application/json");
        let request = request.header("authorization", &world.owner);
        let request = key.into_iter().fold(request, |request, key| request.header("idempotency-key", key));
        let answer = world.app.send(request.body(Body::from(r#"{"sql": "select 1"}"#)).unwrap()).await;
        for told in ["idempotent-replayed", "x-rows-withheld"] {
            assert_eq!(answer.headers[told], "true", "{told}");
        }
        assert_eq!(answer.expect(200)["rows"][0][0]["key"], key.unwrap_or_default());
    }
    let kept: i64 =
        sqlx::query_scalar("select count(*) from idempotency_keys").fetch_one(world.app.app.pool()).await.unwrap();
    assert_eq!(kept, 0);
}

fn rows_and_trailers(_: &Request<Incoming>) -> Response<Body> {
    let trailers = HeaderMap::from_iter([("x-row-count".parse().unwrap(), "2".parse().unwrap())]);
    let frames = [Frame::data(Bytes::from("a\r\n")), Frame::data(Bytes::from("1\r\n")), Frame::trailers(trailers)];
    let body = StreamBody::new(stream::iter(frames.map(Ok::<_, Infallible>)));
    Response::builder()
        .header("content-type", "text/csv")
        .header("trailer", "x-row-count")
        .body(Body::new(body))
        .unwrap()
}

#[tokio::test]
async fn the_answer_streams_through_with_its_trailers() {
    let world = World::start().await;
    own_data_plane(&world, rows_and_trailers).await;
    let mut request = Request::post(world.env("query"))
        .header("authorization", &world.owner)
        .header("content-type", "application/json")
        .body(Body::from(json!({"sql": "select 1", "format": "csv"}).to_string()))
        .unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from((Ipv4Addr::LOCALHOST, 1))));
    let response = crate::server::router::router(&world.app.app).oneshot(request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/csv");
    let whole = response.into_body().collect().await.unwrap();
    assert_eq!(whole.trailers().unwrap()["x-row-count"], "2");
    assert_eq!(whole.to_bytes(), "a\r\n1\r\n");
}

/// The first of an answer has been read.
static READ: Notify = Notify::const_new();

/// As a data plane answers whose query, or whose process, fails once its first rows have left.
fn breaks_off(_: &Request<Incoming>) -> Response<Body> {
    let broken = stream::once(async {
        READ.notified().await;
        Err(std::io::Error::other("it failed"))
    });
    let frames = stream::iter([Ok(Frame::data(Bytes::from("first rows")))]).chain(broken);
    Response::builder().header("content-type", "text/csv").body(Body::new(StreamBody::new(frames))).unwrap()
}

#[tokio::test]
async fn an_answer_that_breaks_off_breaks_off_here_too() {
    let world = World::start().await;
    own_data_plane(&world, breaks_off).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (router, limits) =
        (crate::server::router::router(&world.app.app), connections::ConnectionTimeouts::DEFAULT.limits());
    let shutdown = CancellationToken::new();
    world.app.app.tasks().spawn(platform::http::serve::serve(listener, router, limits, shutdown.clone()));
    for (path, format) in [("query", "json"), ("query", "csv"), ("query", "arrow"), ("query/arrow", "")] {
        let mut body = json!({"sql": "select 1"});
        if !format.is_empty() {
            body["format"] = format.into();
        }
        let (path, body) = (world.env(path), body.to_string());
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: {}\r\ncontent-type: application/json\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            world.owner,
            body.len()
        );
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = Vec::new();
        while !reply.windows(10).any(|bytes| bytes == b"first rows") {
            assert_ne!(stream.read_buf(&mut reply).await.unwrap(), 0, "{}", String::from_utf8_lossy(&reply));
        }
        READ.notify_one();
        let _ = stream.read_to_end(&mut reply).await; // a reset is as good
        let reply = String::from_utf8(reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 200") && reply.contains("chunked"), "{format}: {reply}");
        assert!(!reply.ends_with("0\r\n\r\n"), "{format}: it looks whole: {reply}");
    }
    shutdown.cancel();
}

fn no_such_table(_: &Request<Incoming>) -> Response<Body> {
    let error = json!({"code": "SVC_ERR_404_TABLE_NOT_FOUND", "status": 404, "message": "table t does not exist",
        "request_id": "r", "timestamp": "2026-01-01T00:00:00Z", "details": {"table": "t"}});
    Response::builder().status(404).body(json!({"error": error}).to_string().into()).unwrap()
}

#[tokio::test]
async fn a_data_planes_error_is_answered_in_the_control_planes_body() {
    let world = World::start().await;
    own_data_plane(&world, no_such_table).await;
    let answer = ask(&world, json!({"sql": "select * from t"})).await;
    assert_eq!(answer.code(), (404, "NOT_FOUND"));
    let error = &answer.body["error"];
    assert_eq!((&error["message"], &error["details"]["table"]), (&json!("table t does not exist"), &json!("t")));
    assert_eq!(error["details"]["stable_code"], "SVC_ERR_404_TABLE_NOT_FOUND");
    let arrow = world.app.post(&world.env("query/arrow"), &world.owner, json!({"sql": "select * from t"})).await;
    assert_eq!(arrow.expect(404), json!({"error": "SVC_ERR_404_TABLE_NOT_FOUND", "message": "table t does not exist"}));
}

#[tokio::test]
async fn five_failures_open_the_circuit_for_thirty_seconds() {
    let world = World::start().await;
    place(&world, nobody_listens().await).await;
    world.app.expect_5xx(7);
    for _ in 0..5 {
        let answer = ask(&world, json!({"sql": "select 1"})).await;
        assert_eq!(answer.body["error"]["details"]["stable_code"], "SVC_ERR_502_PROXY_UNREACHABLE");
    }
    let open = ask(&world, json!({"sql": "select 1"})).await;
    assert_eq!((open.status.as_u16(), open.headers["retry-after"].to_str().unwrap()), (503, "30"));
    assert_eq!(open.body["error"]["details"]["stable_code"], "SVC_ERR_503_CIRCUIT_OPEN");
    world.app.advance(chrono::Duration::seconds(30));
    assert_eq!(ask(&world, json!({"sql": "select 1"})).await.status, 502);
}

#[tokio::test]
async fn only_the_environments_own_data_plane_is_talked_to() {
    let world = World::start().await;
    data_plane(&world, &environment_name(&"another".into()), echo).await;
    world.app.expect_5xx(1);
    assert_eq!(ask(&world, json!({"sql": "select 1"})).await.status, 502);
}

#[tokio::test]
async fn an_environment_without_a_data_plane_asks_to_wait() {
    let world = World::start().await;
    world.app.expect_5xx(1);
    let answer = ask(&world, json!({"sql": "select 1"})).await;
    assert_eq!(answer.code(), (503, "SERVICE_UNAVAILABLE"));
    assert!(answer.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn a_suspended_environment_says_so_and_its_data_plane_is_not_asked() {
    let world = World::start().await;
    place(&world, nobody_listens().await).await;
    world.sql("update environments set status = 'suspended'").await;
    world.app.expect_5xx(1);
    let answer = ask(&world, json!({"sql": "select 1"})).await;
    assert_eq!(answer.code(), (503, "SERVICE_UNAVAILABLE"));
    assert!(answer.body["error"]["message"].as_str().unwrap().contains("suspended"), "{}", answer.body);
}

#[tokio::test]
async fn what_no_data_plane_would_take_is_refused_here() {
    let world = World::start().await;
    let long = "x".repeat(contract::wire::SQL_BYTES_MAX + 1);
    for (body, code) in [
        (json!({}), "SVC_ERR_400_INVALID_PARAMS"),
        (json!({"sql": " "}), "SVC_ERR_400_INVALID_PARAMS"),
        (json!({"sql": "select 1", "timeout_ms": 300_001}), "SVC_ERR_400_INVALID_PARAMS"),
        (json!({"sql": "select 1", "format": "xml"}), "SVC_ERR_400_INVALID_PARAMS"),
        (json!({"sql": long}), "SVC_ERR_400_QUERY_TOO_LARGE"),
    ] {
        let answer = ask(&world, body).await;
        assert_eq!(answer.body["error"]["details"]["stable_code"], code);
    }
    world.set_tier("growth").await;
    let arrow = world.app.post(&world.env("query/arrow"), &world.owner, json!({"sql": "select 1"})).await;
    assert_eq!(arrow.expect(403)["error"], "FORBIDDEN");
}

fn explains(request: &Request<Incoming>) -> Response<Body> {
    let path = request.uri().path();
    let mut told = json!({"original": "select 1", "rewritten": path, "governed": null, "parameters": [],
        "tables": [], "warnings": []});
    if path.ends_with("/policies/test") {
        let verdict = json!({"verdict": "deny", "code": "POLICY_DENIED", "reason": "no", "matching_policies": [],
            "filters": [], "masks": [], "columns_masked": []});
        told.as_object_mut().unwrap().extend(verdict.as_object().unwrap().clone());
    }
    Response::new(told.to_string().into())
}

#[tokio::test]
async fn a_statement_is_explained_by_the_data_plane_for_the_one_who_asks() {
    let world = World::start().await;
    own_data_plane(&world, explains).await;
    let body = json!({"sql": "select 1"});
    let reader = world.key(&["query:read"]).await;
    let told = world.app.post(&world.env("transpile"), &reader, body.clone()).await.expect(200);
    assert_eq!(told["rewritten"], world.env("transpile"));
    let told = world.app.post(&world.env("policies/test"), &world.owner, body.clone()).await.expect(200);
    assert_eq!((&told["verdict"], &told["rewritten"]), (&json!("deny"), &json!(world.env("policies/test"))));
    assert_eq!(world.app.post(&world.env("policies/test"), &reader, body).await.code().0, 403);
    for (path, body, field) in [
        ("transpile", json!({"sql": " "}), "sql"),
        ("policies/test", json!({"sql": "select 1", "as": {"role": "king"}}), "as.role"),
        ("policies/test", json!({"sql": "select 1", "as": {"at": "noon"}}), "as.at"),
    ] {
        let answer = world.app.post(&world.env(path), &world.owner, body).await;
        assert_eq!(answer.body["error"]["details"]["field"], field, "{}", answer.body);
    }
}

#[tokio::test]
async fn a_statement_is_laid_out_and_means_the_same() {
    let world = World::start().await;
    let reader = world.key(&["query:read"]).await;
    let path = world.env("format");
    let long = "x".repeat(sql::LAYOUT_BYTES_MAX + 1);
    let told = world.app.post(&path, &reader, json!({"sql": "select a,b from t"})).await.expect(200);
    assert_eq!(told["sql"], "select a, b\nfrom t");
    for (sql, said) in [
        ("select $$a  ,b$$", "other white space could change"),
        ("select 'a", "Unterminated string"),
        (long.as_str(), "65536 bytes"),
    ] {
        let answer = world.app.post(&path, &reader, json!({ "sql": sql })).await;
        assert_eq!(answer.code(), (400, "VALIDATION_ERROR"), "{}", answer.body);
        assert_eq!(answer.body["error"]["details"]["field"], "sql");
        assert!(answer.body["error"]["message"].to_string().contains(said), "{}", answer.body);
    }
}
