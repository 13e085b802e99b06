//! `POST /v1/query/arrow`: "body is the raw Arrow IPC stream; headers `content-type:
//! application/vnd.apache.arrow.stream`, `x-execution-time-ms`, `x-rows-affected`, `x-cache-hit`."
//!
//! A short answer has all of these headers, a longer one the totals in its trailers (`protocols/held.rs`). Errors are
//! body 3: "`{error: <code string>, message}`, as JSON, not Arrow".

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use bytes::Bytes;
use contract::policy::abac::Origin;
use contract::wire::{TIMEOUT_MS_MAX, header as names};
use contract::{Heal, StandardStrings};
use futures::StreamExt;
use serde::Deserialize;

use super::super::held::{self, Pieces, put};
use super::super::{http, keyed, request_id};
use super::{AgentsContext, tool_caller};
use crate::encode::arrow_ipc::{CONTENT_TYPE, Encoder};
use crate::request::ask::with_standard_strings;
use crate::{Answer, Ask, Bounds, Error};

const EXECUTION_TIME_MS: &str = "x-execution-time-ms";
const ROWS_AFFECTED: &str = "x-rows-affected";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    sql: String,
    timeout_ms: Option<u64>,
    heal: Option<Heal>,
    standard_conforming_strings: Option<StandardStrings>,
}

pub(super) async fn query(State(context): State<AgentsContext>, request: Request) -> Response {
    let serving = context.ending.serving(); // until the last byte
    let request_id = request_id::of(&context.pipeline, request.headers());
    let sent = match answered(&context, request, &request_id).await {
        Ok(sending) => {
            let headers = sending.headers();
            held::response(sending, headers, serving).await
        }
        Err(error) => Err(error),
    };
    let refused = |error: Error| super::answered(&error, &error.problem().arrow(), &request_id);
    request_id::known_by(sent.unwrap_or_else(refused), &request_id)
}

async fn answered(
    context: &AgentsContext,
    request: Request,
    request_id: &contract::RequestId,
) -> Result<ArrowBody, Error> {
    let (parts, body) = request.into_parts();
    let tool_caller = tool_caller::admit(context, &parts.headers, &parts.extensions, Origin::Arrow, request_id).await?;
    if !context.pipeline.rules()?.organization.tier.has_arrow() {
        return Err(Error::TierLimit);
    }
    let body = http::whole(body).await?;
    let once = keyed::once("v1/query/arrow", &parts.headers, &body)?;
    let input = input(&body)?;
    let strings = input.standard_conforming_strings;
    let ask = tool_caller.ask(&context.pipeline, with_standard_strings(input.sql, strings)?, input.timeout_ms);
    let bounds = Bounds { heal: input.heal, strings, ..ask.bounds };
    let ask = Ask { cancel: context.ending.closed.child_token(), bounds, ..ask };
    let give_up = ask.cancel.clone().drop_guard();
    let answer = context.pipeline.run_once(ask, once).await;
    give_up.disarm();
    ArrowBody::new(answer?)
}

fn input(body: &[u8]) -> Result<Input, Error> {
    let input: Input = http::json(body)?;
    if input.timeout_ms.is_some_and(|timeout_ms| !(1..=TIMEOUT_MS_MAX).contains(&timeout_ms)) {
        let message = format!("timeout_ms is from 1 to {TIMEOUT_MS_MAX}");
        return Err(Error::InvalidParams { field: "timeout_ms", message });
    }
    Ok(input)
}

/// An answer on its way out.
struct ArrowBody {
    answer: Answer,
    encoder: Encoder,
    ended: bool,
}

impl ArrowBody {
    fn new(answer: Answer) -> Result<Self, Error> {
        let encoder = Encoder::new(&answer.schema).map_err(|error| unencodable(&answer, &error))?;
        answer.rows.take_messages();
        Ok(Self { answer, encoder, ended: false })
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        put(&mut headers, header::CONTENT_TYPE.as_str(), CONTENT_TYPE);
        put(&mut headers, names::QUERY_ID, self.answer.query_id.as_str());
        put(&mut headers, names::CACHE_HIT, if self.answer.cache_hit { "true" } else { "false" });
        put(&mut headers, names::COLUMNS_MASKED, &self.answer.columns_masked.join(","));
        if let Some(healed) = &self.answer.healed {
            put(&mut headers, names::QUERY_HEALED, &healed.header());
        }
        keyed::replayed(&self.answer).for_each(|name| put(&mut headers, name, "true"));
        headers
    }
}

fn unencodable(answer: &Answer, error: &arrow::error::ArrowError) -> Error {
    answer.rows.unsent(Error::Unverified { why: format!("the answer cannot be encoded: {error}") })
}

impl Pieces for ArrowBody {
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if self.ended {
            return Ok(None);
        }
        let made = if let Some(batch) = self.answer.rows.next().await {
            let batch = batch?;
            if let Some(message) = self.answer.rows.message_of(&batch) {
                return Ok(Some(self.encoder.with(&message)));
            }
            self.encoder.add(&batch)
        } else {
            self.ended = true;
            self.encoder.end()
        };
        made.map_err(|error| unencodable(&self.answer, &error))?;
        Ok(Some(self.encoder.take().into()))
    }

    fn told(&self) -> &'static [&'static str] {
        &[EXECUTION_TIME_MS, ROWS_AFFECTED]
    }

    /// "`x-rows-affected`": rows changed, or returned.
    fn totals(&self) -> HeaderMap {
        let totals = self.answer.rows.totals();
        let mut headers = HeaderMap::new();
        put(&mut headers, EXECUTION_TIME_MS, &totals.execution_time_ms.to_string());
        put(&mut headers, ROWS_AFFECTED, &totals.row_count.to_string());
        headers
    }
}
