//! The bodies of an answer: JSON, CSV, Parquet, the raw Arrow stream, and Arrow in base64.
//!
//! Rows leave as the engine makes them. What is known only at the end stands at the end: members after `rows`, or
//! headers and trailers. One that fails on its way has no end in any form (`protocols/held.rs`).

use std::fmt::{Display, Write};

use axum::http::{HeaderMap, header};
use axum::response::Response;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use contract::wire::{Numbers, header as names};
use futures::StreamExt;
use serde_json::json;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::super::keyed;
use crate::encode::parquet_file::{self, ParquetEncoder};
use crate::encode::{arrow_ipc, csv, json};
use crate::protocols::held::{self, Pieces, put};
use crate::{Answer, Error};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFormat {
    Json(Numbers),
    Csv,
    Parquet,
    Arrow,
    ArrowBase64,
}

impl BodyFormat {
    pub fn is_arrow(self) -> bool {
        matches!(self, Self::Arrow | Self::ArrowBase64)
    }
}

/// An answer on its way out: what stands before the rows, the rows, what stands after them.
struct RestBody {
    answer: Answer,
    form: BodyEncoder,
    step: BodyStep,
}

enum BodyEncoder {
    Json {
        numbers: Numbers,
        first: bool,
    },
    Csv,
    /// None once the file has its end.
    Parquet(Option<Box<ParquetEncoder>>),
    Arrow(arrow_ipc::Encoder),
    Base64 {
        encoder: arrow_ipc::Encoder,
        carried: Vec<u8>,
    },
}

enum BodyStep {
    Head,
    Rows,
    Done,
}

/// `serving` is given back with the last byte.
pub(super) async fn response(answer: Answer, shape: BodyFormat, serving: TaskTrackerToken) -> Result<Response, Error> {
    let encoder = || arrow_ipc::Encoder::new(&answer.schema).map_err(|error| unencodable(&answer, &error));
    let form = match shape {
        BodyFormat::Json(numbers) => BodyEncoder::Json { numbers, first: true },
        BodyFormat::Csv => BodyEncoder::Csv,
        BodyFormat::Parquet => BodyEncoder::Parquet(Some(Box::new(parquet(&answer)?))),
        BodyFormat::Arrow => {
            answer.rows.take_messages();
            BodyEncoder::Arrow(encoder()?)
        }
        BodyFormat::ArrowBase64 => BodyEncoder::Base64 { encoder: encoder()?, carried: Vec::new() },
    };
    let headers = headers(&answer, shape);
    let sending = RestBody { answer, form, step: BodyStep::Head };
    held::response(sending, headers, serving).await
}

fn headers(answer: &Answer, shape: BodyFormat) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let content_type = match shape {
        BodyFormat::Json(_) | BodyFormat::ArrowBase64 => "application/json",
        BodyFormat::Csv => csv::CONTENT_TYPE,
        BodyFormat::Parquet => parquet_file::CONTENT_TYPE,
        BodyFormat::Arrow => arrow_ipc::CONTENT_TYPE,
    };
    put(&mut headers, header::CONTENT_TYPE.as_str(), content_type);
    put(&mut headers, names::QUERY_ID, answer.query_id.as_str());
    if let Some(healed) = &answer.healed {
        put(&mut headers, names::QUERY_HEALED, &healed.header());
    }
    keyed::replayed(answer).for_each(|name| put(&mut headers, name, "true"));
    if matches!(shape, BodyFormat::Csv | BodyFormat::Parquet | BodyFormat::Arrow) {
        put(&mut headers, names::COLUMNS_MASKED, &answer.columns_masked.join(","));
        put(&mut headers, names::CACHE_HIT, if answer.cache_hit { "true" } else { "false" });
    }
    headers
}

/// Refuses what a Parquet file has no type for before anything is sent.
fn parquet(answer: &Answer) -> Result<ParquetEncoder, Error> {
    if let Some(message) = parquet_file::refusal(&answer.columns, &answer.schema) {
        return Err(answer.rows.unsent(Error::InvalidParams { field: "format", message }));
    }
    let schema = parquet_file::named(&answer.schema, |_, field| field.name().clone());
    ParquetEncoder::new(schema, true).map_err(|error| unencodable(answer, &error))
}

fn unencodable(answer: &Answer, error: &dyn Display) -> Error {
    answer.rows.unsent(Error::Unverified { why: format!("the answer cannot be encoded: {error}") })
}

impl Pieces for RestBody {
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match self.step {
            BodyStep::Head => {
                self.step = BodyStep::Rows;
                Ok(Some(self.head()))
            }
            BodyStep::Rows => {
                while let Some(batch) = self.answer.rows.next().await {
                    let piece = self.rows(&batch?)?;
                    if !piece.is_empty() {
                        return Ok(Some(piece)); // Parquet keeps rows back until a row group is whole
                    }
                }
                self.step = BodyStep::Done;
                self.end().map(Some)
            }
            BodyStep::Done => Ok(None),
        }
    }

    fn told(&self) -> &'static [&'static str] {
        match self.form {
            BodyEncoder::Json { .. } | BodyEncoder::Base64 { .. } => &[], // members of the body
            BodyEncoder::Csv | BodyEncoder::Parquet(_) | BodyEncoder::Arrow(_) => {
                &[names::ROW_COUNT, names::CREDITS_CONSUMED]
            }
        }
    }

    fn totals(&self) -> HeaderMap {
        let totals = self.answer.rows.totals();
        let mut headers = HeaderMap::new();
        if !self.told().is_empty() {
            put(&mut headers, names::ROW_COUNT, &totals.row_count.to_string());
            put(&mut headers, names::CREDITS_CONSUMED, &totals.credits_consumed().to_string());
        }
        headers
    }
}

impl RestBody {
    fn head(&mut self) -> Bytes {
        let mut out = String::new();
        match &mut self.form {
            BodyEncoder::Json { .. } => {
                let columns: Vec<_> = self
                    .answer
                    .columns
                    .iter()
                    .map(|column| json!({"name": column.name, "type": column.type_name}))
                    .collect();
                let columns = serde_json::Value::Array(columns);
                out = format!(r#"{{"query_id":"{}","columns":{columns},"rows":["#, self.answer.query_id);
            }
            BodyEncoder::Csv => csv::header(&mut out, &self.answer.columns),
            BodyEncoder::Parquet(_) => {}
            BodyEncoder::Arrow(encoder) => return encoder.take().into(),
            BodyEncoder::Base64 { .. } => out.push_str(r#"{"format":"arrow_ipc_base64","data":""#),
        }
        out.into()
    }

    fn rows(&mut self, batch: &arrow::array::RecordBatch) -> Result<Bytes, Error> {
        let mut out = String::with_capacity(batch.num_rows() * 32);
        let added = match &mut self.form {
            BodyEncoder::Json { numbers, first } => {
                json::rows(&mut out, &self.answer.columns, batch, *numbers, first);
                Ok(())
            }
            BodyEncoder::Csv => {
                csv::rows(&mut out, batch);
                Ok(())
            }
            BodyEncoder::Parquet(None) => Ok(()),
            BodyEncoder::Parquet(Some(encoder)) => {
                encoder.add(batch).map_err(|error| unencodable(&self.answer, &error))?;
                return Ok(encoder.take().into());
            }
            BodyEncoder::Arrow(encoder) => match self.answer.rows.message_of(batch) {
                Some(message) => return Ok(encoder.with(&message)),
                None => match encoder.add(batch) {
                    Ok(()) => return Ok(encoder.take().into()),
                    Err(error) => Err(error),
                },
            },
            BodyEncoder::Base64 { encoder, carried } => {
                encoder.add(batch).map(|()| whole_triples(&mut out, encoder, carried))
            }
        };
        added.map(|()| out.into()).map_err(|error| unencodable(&self.answer, &error))
    }

    /// What stands after the rows.
    fn end(&mut self) -> Result<Bytes, Error> {
        let totals = self.answer.rows.totals();
        let mut out = String::new();
        match &mut self.form {
            BodyEncoder::Json { .. } => out = self.members(),
            BodyEncoder::Csv => {}
            BodyEncoder::Parquet(encoder) => {
                let ended = encoder.take().map_or_else(|| Ok(Vec::new()), |encoder| encoder.end());
                return ended.map(Bytes::from).map_err(|error| unencodable(&self.answer, &error));
            }
            BodyEncoder::Arrow(encoder) => {
                encoder.end().map_err(|error| unencodable(&self.answer, &error))?;
                return Ok(encoder.take().into());
            }
            BodyEncoder::Base64 { encoder, carried } => {
                encoder.end().map_err(|error| unencodable(&self.answer, &error))?;
                whole_triples(&mut out, encoder, carried);
                out.push_str(&BASE64_STANDARD.encode(&carried));
                let (rows, took) = (totals.row_count, totals.execution_time_ms);
                let _ = write!(out, r#"","rows":{rows},"execution_time_ms":{took:?}}}"#);
            }
        }
        Ok(out.into())
    }

    /// The members after `rows`.
    fn members(&self) -> String {
        let totals = self.answer.rows.totals();
        let members = json!({
            "row_count": totals.row_count,
            "execution_time_ms": totals.execution_time_ms,
            "transpilation_time_ms": self.answer.transpilation_ms,
            "cache_hit": self.answer.cache_hit,
            "credits_consumed": totals.credits_consumed(),
            "columns_masked": self.answer.columns_masked,
            "warnings": self.answer.warnings,
        });
        let members = members.to_string();
        format!("],{}", members.strip_prefix('{').unwrap_or(&members))
    }
}

/// Base64 of what has been made, in whole groups of three bytes; the rest is carried over.
fn whole_triples(out: &mut String, encoder: &mut arrow_ipc::Encoder, carried: &mut Vec<u8>) {
    carried.append(&mut encoder.take());
    let rest = carried.split_off(carried.len() - carried.len() % 3);
    out.push_str(&BASE64_STANDARD.encode(std::mem::replace(carried, rest)));
}
