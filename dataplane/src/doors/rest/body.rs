//! The bodies of an answer: JSON, CSV, the raw Arrow stream, and Arrow in base64.
//!
//! Rows leave as the engine makes them. What is known only at the end stands at the end: members
//! after `rows`, or trailers. After the first row the status stays 200: JSON closes `rows` and adds
//! a member `error`; CSV and Arrow break off, and say why in the trailer `X-Error`.

use std::convert::Infallible;
use std::fmt::Write;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use contract::wire::header as names;
use contract::{RequestId, Timestamp};
use futures::StreamExt;
use http_body::Frame;
use http_body_util::StreamBody;
use serde_json::json;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::super::keyed;
use crate::encode::{arrow_ipc, csv, json};
use crate::{Answer, Error};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Json,
    Csv,
    Arrow,
    ArrowBase64,
}

impl Shape {
    pub fn is_arrow(self) -> bool {
        matches!(self, Self::Arrow | Self::ArrowBase64)
    }
}

/// An answer on its way out: what stands before the rows, the rows, what stands after them.
struct Sending {
    answer: Answer,
    request_id: RequestId,
    now: Timestamp,
    form: Form,
    step: Step,
    _serving: TaskTrackerToken,
}

enum Form {
    Json { first: bool },
    Csv,
    Arrow(arrow_ipc::Encoder),
    Base64 { encoder: arrow_ipc::Encoder, carried: Vec<u8> },
}

enum Step {
    Head,
    Rows,
    Trailers(Option<Error>),
    Done,
}

/// `serving` is given back with the last byte.
pub(super) fn response(
    answer: Answer,
    shape: Shape,
    request_id: RequestId,
    now: Timestamp,
    serving: TaskTrackerToken,
) -> Response {
    let encoder = || arrow_ipc::Encoder::new(&answer.schema);
    let form = match shape {
        Shape::Json => Ok(Form::Json { first: true }),
        Shape::Csv => Ok(Form::Csv),
        Shape::Arrow => encoder().map(Form::Arrow),
        Shape::ArrowBase64 => encoder().map(|encoder| Form::Base64 { encoder, carried: Vec::new() }),
    };
    let form = match form {
        Ok(form) => form,
        Err(error) => return super::refusal(&unencodable(&error), &request_id, now),
    };
    let headers = headers(&answer, shape);
    let sending = Sending { answer, request_id, now, form, step: Step::Head, _serving: serving };
    let frames = futures::stream::unfold(sending, |mut sending| async move {
        sending.next().await.map(|frame| (Ok::<_, Infallible>(frame), sending))
    });
    let mut response = Response::new(Body::new(StreamBody::new(frames)));
    *response.headers_mut() = headers;
    response
}

fn headers(answer: &Answer, shape: Shape) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let content_type = match shape {
        Shape::Json | Shape::ArrowBase64 => "application/json",
        Shape::Csv => csv::CONTENT_TYPE,
        Shape::Arrow => arrow_ipc::CONTENT_TYPE,
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    let mut put = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    put(names::QUERY_ID, answer.query_id.as_str());
    if let Some(healed) = &answer.healed {
        put(names::QUERY_HEALED, &healed.header());
    }
    keyed::replayed(answer).for_each(|name| put(name, "true"));
    if matches!(shape, Shape::Csv | Shape::Arrow) {
        put(names::COLUMNS_MASKED, &answer.columns_masked.join(","));
        put(names::CACHE_HIT, if answer.cache_hit { "true" } else { "false" });
        put("trailer", &[names::ROW_COUNT, names::CREDITS_CONSUMED, names::ERROR].join(", "));
    }
    headers
}

fn unencodable(error: &arrow::error::ArrowError) -> Error {
    Error::Unverified { why: format!("the answer cannot be encoded: {error}") }
}

impl Sending {
    async fn next(&mut self) -> Option<Frame<Bytes>> {
        loop {
            match &self.step {
                Step::Head => {
                    self.step = Step::Rows;
                    let head = self.head();
                    if !head.is_empty() {
                        return Some(Frame::data(head));
                    }
                }
                Step::Rows => {
                    let piece = match self.answer.rows.next().await {
                        Some(Ok(batch)) => self.rows(&batch),
                        Some(Err(error)) => self.end(Some(error)),
                        None => self.end(None),
                    };
                    if !piece.is_empty() {
                        return Some(Frame::data(piece));
                    }
                }
                Step::Trailers(error) => {
                    let trailers = self.trailers(error.as_ref());
                    self.step = Step::Done;
                    return Some(Frame::trailers(trailers));
                }
                Step::Done => return None,
            }
        }
    }

    fn head(&mut self) -> Bytes {
        let mut out = String::new();
        match &mut self.form {
            Form::Json { .. } => {
                let columns: Vec<_> = self
                    .answer
                    .columns
                    .iter()
                    .map(|column| json!({"name": column.name, "type": column.type_name}))
                    .collect();
                let columns = serde_json::Value::Array(columns);
                out = format!(r#"{{"query_id":"{}","columns":{columns},"rows":["#, self.answer.query_id);
            }
            Form::Csv => csv::header(&mut out, &self.answer.columns),
            Form::Arrow(encoder) => return encoder.take().into(),
            Form::Base64 { .. } => out.push_str(r#"{"format":"arrow_ipc_base64","data":""#),
        }
        out.into()
    }

    fn rows(&mut self, batch: &arrow::array::RecordBatch) -> Bytes {
        let mut out = String::with_capacity(batch.num_rows() * 32);
        let added = match &mut self.form {
            Form::Json { first } => {
                json::rows(&mut out, &self.answer.columns, batch, first);
                Ok(())
            }
            Form::Csv => {
                csv::rows(&mut out, batch);
                Ok(())
            }
            Form::Arrow(encoder) => match encoder.add(batch) {
                Ok(()) => return encoder.take().into(),
                Err(error) => Err(error),
            },
            Form::Base64 { encoder, carried } => encoder.add(batch).map(|()| whole_triples(&mut out, encoder, carried)),
        };
        match added {
            Ok(()) => out.into(),
            Err(error) => self.end(Some(unencodable(&error))),
        }
    }

    /// What stands after the rows; then the trailers, where there are any.
    fn end(&mut self, error: Option<Error>) -> Bytes {
        let totals = self.answer.rows.totals();
        let mut out = String::new();
        match &mut self.form {
            Form::Json { .. } => {
                out = self.totals(error.as_ref());
                self.step = Step::Done;
            }
            Form::Csv => self.step = Step::Trailers(error),
            Form::Arrow(encoder) => {
                let ended = if error.is_none() { encoder.end().err() } else { None };
                self.step = Step::Trailers(error.or_else(|| ended.as_ref().map(unencodable)));
                return encoder.take().into();
            }
            Form::Base64 { encoder, carried } => {
                let ended = if error.is_none() { encoder.end().err() } else { None };
                let error = error.or_else(|| ended.as_ref().map(unencodable));
                whole_triples(&mut out, encoder, carried);
                out.push_str(&BASE64_STANDARD.encode(&carried));
                let (rows, took) = (totals.row_count, totals.execution_time_ms);
                let _ = write!(out, r#"","rows":{rows},"execution_time_ms":{took:?}"#);
                if let Some(error) = error {
                    let body = error.problem().arrow();
                    let member = |name| body.get(name).cloned().unwrap_or_default();
                    let (code, message) = (member("error"), member("message"));
                    let _ = write!(out, r#","error":{code},"message":{message}"#);
                }
                out.push('}');
                self.step = Step::Done;
            }
        }
        out.into()
    }

    /// The members after `rows`.
    fn totals(&self, error: Option<&Error>) -> String {
        let totals = self.answer.rows.totals();
        let mut members = json!({
            "row_count": totals.row_count,
            "execution_time_ms": totals.execution_time_ms,
            "transpilation_time_ms": self.answer.transpilation_ms,
            "cache_hit": self.answer.cache_hit,
            "credits_consumed": totals.credits_consumed(),
            "columns_masked": self.answer.columns_masked,
            "warnings": self.answer.warnings,
        });
        if let (Some(error), Some(members)) = (error, members.as_object_mut()) {
            let mut body = error.problem().machine(&self.request_id, self.now);
            let error = body.get_mut("error").map(serde_json::Value::take);
            members.insert("error".to_owned(), error.unwrap_or_default());
        }
        let members = members.to_string();
        format!("],{}", members.strip_prefix('{').unwrap_or(&members))
    }

    fn trailers(&self, error: Option<&Error>) -> HeaderMap {
        let totals = self.answer.rows.totals();
        let mut trailers = HeaderMap::new();
        let mut put = |name: &'static str, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                trailers.insert(HeaderName::from_static(name), value);
            }
        };
        put(names::ROW_COUNT, totals.row_count.to_string());
        put(names::CREDITS_CONSUMED, totals.credits_consumed().to_string());
        if let Some(error) = error {
            put(names::ERROR, format!("{} {}", error.code().stable(), error));
        }
        trailers
    }
}

/// Base64 of what has been made, in whole groups of three bytes; the rest is carried over.
fn whole_triples(out: &mut String, encoder: &mut arrow_ipc::Encoder, carried: &mut Vec<u8>) {
    carried.append(&mut encoder.take());
    let rest = carried.split_off(carried.len() - carried.len() % 3);
    out.push_str(&BASE64_STANDARD.encode(std::mem::replace(carried, rest)));
}
