//! No answer that fails on its way looks like a whole one: every form of every protocol, whatever the cause.

use std::process::Command;

use axum::body::Body;
use axum::http::{Request, Response};
use contract::report::{Body as Logged, Entry};
use contract::wire::{Forwarded, Who, header};
use contract::{Code, Governance};
use dataplane::Ending;
use dataplane::agents::reasoning::Thoughts;
use dataplane::protocols::{agents, rest};
use dataplane::testing::{demo_key, owner_id};
use futures::future::join_all;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_postgres::{CancelToken, NoTls};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::agents_router::{as_json, served};
use crate::flight::client;
use crate::pgwire::{Wired, wired};
use crate::world::World;

/// More than anybody waits for; its first rows are more than is held back before a status is sent.
const ENDLESS: &str = "select repeat('x', 1000) as c from range(10000000)";
const SHORT: &str = "select repeat('x', 1000) as c from range(5000)";
const HTTP: [Form; 5] = [Form::Json, Form::Csv, Form::Arrow, Form::Base64, Form::Raw];
const WIRE: [Form; 6] =
    [Form::Simple, Form::Extended, Form::Fetch, Form::Copy("text"), Form::Copy("csv"), Form::Copy("binary")];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Csv,
    Arrow,
    Base64,
    Raw,
    Flight,
    Simple,
    Extended,
    Fetch,
    Copy(&'static str),
}

fn forms() -> impl Iterator<Item = Form> {
    HTTP.into_iter().chain([Form::Flight]).chain(WIRE)
}

/// An answer that has begun.
struct Begun {
    rest: BoxStream<'static, Result<(), String>>,
    cancel: Cancel,
}

/// How whoever asked, or the process, gives it up.
enum Cancel {
    Http(CancellationToken),
    Wire(CancelToken),
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// An HTTP answer whose status was 200 once its first bytes have come; else the status and the body.
async fn asked_over_http(
    world: &World,
    form: Form,
    sql: &str,
    ending: &Ending,
) -> Result<Response<Body>, (u16, Value)> {
    let (path, body) = match form {
        Form::Json => ("/v1/environments/env-1/query", json!({"sql": sql})),
        Form::Csv => ("/v1/environments/env-1/query", json!({"sql": sql, "format": "csv"})),
        Form::Arrow => ("/v1/environments/env-1/query", json!({"sql": sql, "format": "arrow"})),
        Form::Base64 => ("/v1/environments/env-1/query/arrow", json!({"sql": sql})),
        _ => ("/v1/query/arrow", json!({"sql": sql})),
    };
    let caller = Forwarded::of(Who::Key { key_id: owner_id() }, None);
    let request = Request::post(path)
        .header(header::CALLER, serde_json::to_string(&caller).unwrap())
        .header(header::API_KEY, demo_key())
        .body(Body::from(body.to_string()))
        .unwrap();
    let routes = if form == Form::Raw {
        agents::routes(served(world, ending.clone()))
    } else {
        rest::routes(rest::RestContext {
            env_id: "env-1".into(),
            pipeline: world.pipeline.clone(),
            memories: world.memories.clone(),
            thoughts: Thoughts::default(),
            triggers: world.triggers.clone(),
            ending: ending.clone(),
            limits: connections::ConnectionTimeouts::DEFAULT.limits(),
        })
    };
    let response = routes.oneshot(request).await.unwrap();
    if response.status() == 200 { Ok(response) } else { Err((response.status().as_u16(), as_json(response).await)) }
}

/// Asks, and reads the first of the answer; an error is a refusal.
async fn begun(wired: &Wired, form: Form, sql: &str) -> Result<Begun, String> {
    let ending = Ending::default();
    let http = Cancel::Http(ending.closed.clone());
    if HTTP.contains(&form) {
        let response = asked_over_http(&wired.world, form, sql, &ending).await.map_err(|(_, body)| body.to_string())?;
        let rest = response.into_body().into_data_stream().map_ok(drop).map_err(text).boxed();
        return first(rest, http).await;
    }
    if form == Form::Flight {
        let mut client = client(&agents::routes(served(&wired.world, ending)), demo_key());
        let info = client.execute(sql.to_owned(), None).await.map_err(text)?;
        let stream = client.do_get(info.endpoint[0].ticket.clone().unwrap()).await.map_err(text)?;
        return first(stream.map_ok(drop).map_err(text).boxed(), http).await;
    }
    let client = wired.owner().await;
    let cancel = Cancel::Wire(client.cancel_token());
    let rest = match form {
        Form::Extended => {
            let none: [&(dyn tokio_postgres::types::ToSql + Sync); 0] = [];
            client.query_raw(sql, none).await.map_err(text)?.map_ok(drop).map_err(text).boxed()
        }
        Form::Copy(format) => {
            let copy = format!("copy ({sql}) to stdout (format {format})");
            client.copy_out(&copy).await.map_err(text)?.map_ok(drop).map_err(text).boxed()
        }
        Form::Fetch => {
            client.simple_query(&format!("begin; declare c cursor for {sql}")).await.map_err(text)?;
            client.simple_query_raw("fetch all from c").await.map_err(text)?.map_ok(drop).map_err(text).boxed()
        }
        _ => client.simple_query_raw(sql).await.map_err(text)?.map_ok(drop).map_err(text).boxed(),
    };
    // the client stays as long as the answer
    let rest = rest.chain(futures::stream::once(async move { drop(client) }).filter_map(async |()| None)).boxed();
    first(rest, cancel).await
}

async fn first(mut rest: BoxStream<'static, Result<(), String>>, cancel: Cancel) -> Result<Begun, String> {
    rest.next().await.transpose()?;
    Ok(Begun { rest, cancel })
}

/// Reads on; an error says that it is not whole.
async fn whole(rest: BoxStream<'static, Result<(), String>>) -> Result<(), String> {
    rest.try_collect().await
}

/// A cause that ends an answer before its end.
struct Cause {
    name: &'static str,
    sql: &'static str,
    /// Made before it is asked.
    rules: fn(&mut Governance),
    /// Done when its first bytes have come.
    interruption: Interruption,
    code: Code,
}

enum Interruption {
    Nothing,
    RevokesTheKey,
    EndsTheEngine,
    Cancels,
}

fn as_it_is(_: &mut Governance) {}

const CAUSES: [Cause; 5] = [
    Cause {
        name: "more rows than the tier allows",
        sql: ENDLESS,
        rules: |rules| rules.organization.limits.max_rows_per_query = Some(5_000),
        interruption: Interruption::Nothing,
        code: Code::QuotaExceeded,
    },
    Cause {
        name: "no more time",
        sql: ENDLESS,
        rules: |rules| rules.environment.settings.query_timeout_ms = 1_500,
        interruption: Interruption::Nothing,
        code: Code::QueryTimeout,
    },
    Cause {
        name: "a key that is revoked",
        sql: ENDLESS,
        rules: as_it_is,
        interruption: Interruption::RevokesTheKey,
        code: Code::InvalidKey,
    },
    Cause {
        name: "an engine that ends",
        sql: ENDLESS,
        rules: as_it_is,
        interruption: Interruption::EndsTheEngine,
        code: Code::EngineCrash,
    },
    Cause {
        name: "a cancel",
        sql: ENDLESS,
        rules: as_it_is,
        interruption: Interruption::Cancels,
        code: Code::QueryCancelled,
    },
];

async fn interrupt(world: &World, interruption: &Interruption, cancels: &[Cancel]) {
    match interruption {
        Interruption::Nothing => {}
        Interruption::RevokesTheKey => world.change(|rules| rules.keys.retain(|key| key.key_id != owner_id())),
        Interruption::EndsTheEngine => {
            let process = world.engine_id().to_string();
            assert!(Command::new("kill").args(["-KILL", &process]).status().unwrap().success());
        }
        Interruption::Cancels => {
            for cancel in cancels {
                match cancel {
                    Cancel::Http(closed) => closed.cancel(),
                    Cancel::Wire(token) => token.cancel_query(NoTls).await.unwrap(),
                }
            }
        }
    }
}

/// So many answers begin before the cause comes: it interrupts them all, and a deadline is waited for once.
const AT_ONCE: usize = 3;

/// Asks in each of these forms, and holds that none of the answers looks whole; those over HTTP have the code.
async fn breaks_off(wired: &Wired, cause: &Cause, forms: &[Form]) {
    let world = &wired.world;
    let before = world.rules.borrow().as_deref().cloned().unwrap();
    let written = world.ledger.log.written();
    world.change(cause.rules);
    let asked = join_all(forms.iter().map(|form| begun(wired, *form, cause.sql))).await;
    let (mut rests, mut cancels) = (Vec::new(), Vec::new());
    for (form, begun) in forms.iter().zip(asked) {
        let Begun { rest, cancel } = begun.unwrap_or_else(|error| panic!("{form:?}, {}: {error}", cause.name));
        rests.push(rest);
        cancels.push(cancel);
    }
    interrupt(world, &cause.interruption, &cancels).await;
    for (form, ended) in forms.iter().zip(join_all(rests.into_iter().map(whole)).await) {
        assert!(ended.is_err(), "{form:?}, {}: it looks whole", cause.name);
    }
    world.change(|rules| *rules = Governance { version: rules.version, ..before });
    if forms.iter().any(|form| WIRE.contains(form)) {
        return; // the message says it
    }
    let entries = world.entries_after(written);
    let code = |entry: &Entry| match &entry.body {
        Logged::Finished(finished) => finished.error_code.clone(),
        _ => None,
    };
    let codes: Vec<String> = entries.iter().filter_map(code).collect();
    assert_eq!(codes, vec![cause.code.stable(); forms.len()], "{forms:?}, {}: {entries:?}", cause.name);
}

#[tokio::test]
async fn an_answer_that_breaks_off_ends_in_no_form_as_a_whole_one_does() {
    let wired = wired().await;
    let all: Vec<Form> = forms().collect();
    for cause in &CAUSES {
        for some in all.chunks(AT_ONCE) {
            breaks_off(&wired, cause, some).await;
        }
    }
    for form in all {
        let begun = begun(&wired, form, SHORT).await.unwrap_or_else(|error| panic!("{form:?}: {error}"));
        whole(begun.rest).await.unwrap_or_else(|error| panic!("{form:?}: {error}"));
    }
    wired.stop().await;
}

/// What is short enough to be held back is never half an answer: its error has the status that it has before any row.
#[tokio::test]
async fn a_short_answer_that_fails_is_refused_with_its_status() {
    let wired = wired().await;
    let world = &wired.world;
    let late = "select case when range < 30000 then 1 else cast('n' || range as integer) end as c from range(100000)";
    for form in HTTP {
        let refused = asked_over_http(world, form, late, &Ending::default()).await.err();
        assert_eq!(refused.map(|(status, _)| status), Some(400), "{form:?}");
    }
    world.change(|rules| rules.organization.limits.max_rows_per_query = Some(3_000));
    for form in HTTP {
        let refused = asked_over_http(world, form, "select * from range(1000000)", &Ending::default()).await;
        let (status, body) = refused.err().unwrap_or_else(|| panic!("{form:?}"));
        assert_eq!(status, 429, "{form:?}");
        assert!(body.to_string().contains("SVC_ERR_429_QUOTA_EXCEEDED"), "{form:?}: {body}");
        assert_eq!(world.last().1.error_code.as_deref(), Some("SVC_ERR_429_QUOTA_EXCEEDED"));
    }
    wired.stop().await;
}

/// Whether its first rows have left by then is the engine's affair.
#[tokio::test]
async fn an_answer_that_the_engine_fails_is_never_whole() {
    let wired = wired().await;
    for failing in [
        "select string_agg(repeat('x', 1000) || range, '') from range(10000000)", // more memory than there is
        "select case when range < 40000 then repeat('x', 1000) else cast('n' || range as integer)::varchar end from range(50000)",
    ] {
        for form in forms() {
            let ended = match begun(&wired, form, &format!("{SHORT} union all {failing}")).await {
                Ok(begun) => whole(begun.rest).await,
                Err(error) => Err(error),
            };
            assert!(ended.is_err(), "{form:?}: it looks whole: {failing}");
        }
    }
    wired.stop().await;
}

/// As it is on the connection: without the last chunk no client of HTTP/1.1 takes the body for whole.
#[tokio::test]
async fn a_broken_transfer_of_http_has_no_last_chunk() {
    const LAST: &[u8] = b"0\r\n\r\n";
    let wired = wired().await;
    for (limit, sql, is_whole) in [(Some(5_000), ENDLESS, false), (None, SHORT, true)] {
        wired.world.change(|rules| rules.organization.limits.max_rows_per_query = limit);
        for format in ["json", "csv", "arrow"] {
            let body = json!({"sql": sql, "format": format}).to_string();
            let request = format!(
                "POST /v1/environments/env-1/query HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-api-key: {}\r\n\
                 content-length: {}\r\n\r\n{body}",
                demo_key(),
                body.len()
            );
            let mut stream = wired.knock().await;
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut reply = Vec::new();
            let _ = stream.read_to_end(&mut reply).await; // a reset is as good
            assert!(reply.starts_with(b"HTTP/1.1 200"), "{format}");
            assert!(String::from_utf8_lossy(&reply[..1_000]).contains("chunked"), "{format}");
            assert_eq!(reply.ends_with(LAST), is_whole, "{format}");
        }
    }
    wired.stop().await;
}
