//! A file as it comes: each part in its time, all of it within its room.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::request::Parts;
use bytes::Bytes;
use contract::load::LoadFormat;
use engine::SpoolFile;
use futures::StreamExt;

use super::lines::RecordCount;
use crate::Error;
use crate::protocols::rest::operations::RunningLoad;

const NEXT_WITHIN: Duration = Duration::from_secs(30);

/// What a file has told of itself on its way.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Of CSV.
    pub header: Option<Vec<String>>,
    /// Its rows at least and at most; none for what says so itself.
    rows: Option<(u64, u64)>,
}

impl FileFacts {
    /// Whether as many rows were written as have come.
    pub fn holds(&self, written: u64) -> Result<(), Error> {
        match self.rows {
            Some((least, most)) if written < least || written > most => {
                let quotes = if self.header.is_some() { ": quote each value that holds a quote" } else { "" };
                let reason = format!("{written} rows were read of {least} that it has{quotes}");
                Err(Error::file(None, reason))
            }
            _ => Ok(()),
        }
    }
}

fn refused(message: impl Into<String>) -> Error {
    Error::InvalidParams { field: "body", message: message.into() }
}

/// How long the file is, as far as that is said before; refused where it is not sent as it is.
pub fn length(parts: &Parts) -> Result<Option<u64>, Error> {
    if parts.headers.get_all(CONTENT_ENCODING).iter().any(|encoding| encoding.as_bytes() != b"identity") {
        return Err(refused("the body has a content encoding: send the file as it is"));
    }
    Ok(parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok()))
}

/// The next of a file that comes; nothing at its end.
pub async fn next(body: &mut BodyDataStream) -> Result<Option<Bytes>, Error> {
    let next = tokio::time::timeout(NEXT_WITHIN, body.next()).await;
    let next = next.map_err(|_| refused("the rest of the file did not come within 30 seconds"))?;
    next.transpose().map_err(|_| refused("the body broke off before its end"))
}

/// Writes the body to the file, whole.
pub async fn taken_in(
    file: &mut SpoolFile,
    parts: &Parts,
    body: Body,
    (format, running): (LoadFormat, &RunningLoad),
) -> Result<FileFacts, Error> {
    let limit = file.bytes_max();
    if length(parts)?.is_some_and(|length| length > limit) {
        return Err(Error::FileTooLarge { limit });
    }
    let mut count = match format {
        LoadFormat::Csv => Some(RecordCount::of_csv()),
        LoadFormat::Jsonl => Some(RecordCount::of_json_lines()),
        LoadFormat::Parquet => None,
    };
    let mut body = body.into_data_stream();
    while let Some(bytes) = next(&mut body).await? {
        if let Some(count) = &mut count {
            count.take(&bytes)?;
            running.has(count.records());
        }
        let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if file.bytes().saturating_add(more) > limit {
            return Err(Error::FileTooLarge { limit });
        }
        file.write(&bytes).await?;
    }
    file.finish().await?;
    if file.bytes() == 0 {
        return Err(refused("the body is empty: send the file"));
    }
    match count.map(RecordCount::end).transpose()? {
        Some((header, rows)) => Ok(FileFacts { header, rows: Some(rows) }),
        None => Ok(FileFacts::default()),
    }
}
