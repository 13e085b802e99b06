//! `POST /v1/query/arrow`: "body is the raw Arrow IPC stream; headers `content-type:
//! application/vnd.apache.arrow.stream`, `x-execution-time-ms`, `x-rows-affected`, `x-cache-hit`."
//!
//! The first mebibyte is held back: an answer that fits in it has all its headers, and an error in it
//! is an answer of its own. What is longer streams, and tells the same in its trailers. Errors are
//! body 3: "`{error: <code string>, message}`, as JSON, not Arrow".

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use contract::Heal;
use contract::policy::abac::Origin;
use contract::wire::{TIMEOUT_MS_MAX, header as names};
use futures::StreamExt;
use http_body::Frame;
use http_body_util::StreamBody;
use serde::Deserialize;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::super::http::whole;
use super::super::keyed;
use super::{Door, guest};
use crate::encode::arrow_ipc::{CONTENT_TYPE, Encoder};
use crate::{Answer, Ask, Bounds, Error};

const HELD_BYTES: usize = 1024 * 1024;
const EXECUTION_TIME_MS: &str = "x-execution-time-ms";
const ROWS_AFFECTED: &str = "x-rows-affected";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    sql: String,
    timeout_ms: Option<u64>,
    heal: Option<Heal>,
}

pub(super) async fn query(State(door): State<Door>, request: Request) -> Response {
    let serving = door.ending.serving(); // until the last byte
    let request_id = super::request_id(&door, request.headers());
    let response = match answered(&door, request, &request_id).await {
        Ok(mut sending) => match sending.hold().await {
            Ok(()) => sending.response(serving),
            Err(error) => super::answered(&error, &error.problem().arrow(), &request_id),
        },
        Err(error) => super::answered(&error, &error.problem().arrow(), &request_id),
    };
    super::known_by(response, &request_id)
}

async fn answered(door: &Door, request: Request, request_id: &contract::RequestId) -> Result<Sending, Error> {
    let (parts, body) = request.into_parts();
    let guest = guest::admit(door, &parts.headers, &parts.extensions, Origin::Arrow, request_id).await?;
    if !door.pipeline.rules()?.organization.tier.has_arrow() {
        return Err(Error::TierLimit);
    }
    let body = whole(body).await?;
    let once = keyed::once("v1/query/arrow", &parts.headers, &body)?;
    let input = input(&body)?;
    let ask = guest.ask(&door.pipeline, input.sql, input.timeout_ms);
    let bounds = Bounds { heal: input.heal, ..ask.bounds };
    let ask = Ask { cancel: door.ending.closed.child_token(), bounds, ..ask };
    let give_up = ask.cancel.clone().drop_guard();
    let answer = door.pipeline.run_once(ask, once).await;
    give_up.disarm();
    Sending::new(answer?)
}

fn input(body: &[u8]) -> Result<Input, Error> {
    let input: Input = serde_json::from_slice(body).map_err(|error| Error::InvalidParams {
        field: "body",
        message: format!("the body cannot be read: {error}"),
    })?;
    if input.timeout_ms.is_some_and(|timeout_ms| !(1..=TIMEOUT_MS_MAX).contains(&timeout_ms)) {
        let message = format!("timeout_ms is from 1 to {TIMEOUT_MS_MAX}");
        return Err(Error::InvalidParams { field: "timeout_ms", message });
    }
    Ok(input)
}

/// An answer on its way out.
struct Sending {
    answer: Answer,
    encoder: Encoder,
    held: Vec<u8>,
    ended: bool,
}

fn unencodable(error: &arrow::error::ArrowError) -> Error {
    Error::Unverified { why: format!("the answer cannot be encoded: {error}") }
}

impl Sending {
    fn new(answer: Answer) -> Result<Self, Error> {
        let encoder = Encoder::new(&answer.schema).map_err(|error| unencodable(&error))?;
        Ok(Self { answer, encoder, held: Vec::new(), ended: false })
    }

    /// The next piece of the stream; nothing more after its end.
    async fn piece(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.ended {
            return Ok(None);
        }
        let made = if let Some(batch) = self.answer.rows.next().await {
            self.encoder.add(&batch?)
        } else {
            self.ended = true;
            self.encoder.end()
        };
        made.map_err(|error| unencodable(&error))?;
        Ok(Some(self.encoder.take()))
    }

    /// Reads ahead until it is known that all of it, or too much of it, is here.
    async fn hold(&mut self) -> Result<(), Error> {
        while self.held.len() < HELD_BYTES
            && let Some(piece) = self.piece().await?
        {
            self.held.extend(piece);
        }
        Ok(())
    }

    fn response(self, serving: TaskTrackerToken) -> Response {
        let mut headers = HeaderMap::new();
        put(&mut headers, header::CONTENT_TYPE.as_str(), CONTENT_TYPE);
        put(&mut headers, names::QUERY_ID, self.answer.query_id.as_str());
        put(&mut headers, names::CACHE_HIT, if self.answer.cache_hit { "true" } else { "false" });
        put(&mut headers, names::COLUMNS_MASKED, &self.answer.columns_masked.join(","));
        if let Some(healed) = &self.answer.healed {
            put(&mut headers, names::QUERY_HEALED, &healed.header());
        }
        keyed::replayed(&self.answer).for_each(|name| put(&mut headers, name, "true"));
        let body = if self.ended {
            headers.extend(self.totals());
            Body::from(self.held)
        } else {
            put(&mut headers, "trailer", &[EXECUTION_TIME_MS, ROWS_AFFECTED, names::ERROR].join(", "));
            self.stream(serving)
        };
        let mut response = Response::new(body);
        *response.headers_mut() = headers;
        response
    }

    fn stream(mut self, serving: TaskTrackerToken) -> Body {
        let held = Frame::data(Bytes::from(std::mem::take(&mut self.held)));
        let rest = futures::stream::unfold(Some((self, serving)), |state| async move {
            let (mut sending, serving) = state?;
            match sending.piece().await {
                Ok(Some(piece)) => Some((Frame::data(Bytes::from(piece)), Some((sending, serving)))),
                Ok(None) => Some((Frame::trailers(sending.totals()), None)),
                Err(error) => {
                    let mut trailers = sending.totals();
                    put(&mut trailers, names::ERROR, &format!("{} {error}", error.code().stable()));
                    Some((Frame::trailers(trailers), None))
                }
            }
        });
        let frames = futures::stream::iter([held]).chain(rest).map(Ok::<_, Infallible>);
        Body::new(StreamBody::new(frames))
    }

    /// What is known at the end. "`x-rows-affected`": rows changed, or returned.
    fn totals(&self) -> HeaderMap {
        let totals = self.answer.rows.totals();
        let mut headers = HeaderMap::new();
        put(&mut headers, EXECUTION_TIME_MS, &totals.execution_time_ms.to_string());
        put(&mut headers, ROWS_AFFECTED, &totals.row_count.to_string());
        headers
    }
}

fn put(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        headers.insert(name, value);
    }
}
