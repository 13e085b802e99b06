//! A file as it comes: each part in its time, all of it within its room.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::request::Parts;
use bytes::Bytes;
use contract::load::LoadFormat;
use engine::SpoolFile;
use futures::StreamExt;

use super::arrow_rows::ArrowRows;
use super::lines::RecordCount;
use crate::Error;
use crate::protocols::rest::operations::RunningLoad;

/// Bytes of Arrow that are read at once.
const ARROW_BYTES: usize = 256 << 10;
const NEXT_WITHIN: Duration = Duration::from_secs(30);

/// Facts of a file that has arrived.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Of CSV.
    pub header: Option<Vec<String>>,
    /// Its rows at least and at most; none for what says so itself.
    rows: Option<(u64, u64)>,
    /// Its bytes, as they came.
    pub bytes: u64,
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

pub fn refused(message: impl Into<String>) -> Error {
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
    let mut body = body.into_data_stream();
    let mut count = match format {
        LoadFormat::Csv => Some(RecordCount::of_csv()),
        LoadFormat::Jsonl => Some(RecordCount::of_json_lines()),
        LoadFormat::Parquet => None,
        LoadFormat::Arrow => return Box::pin(rewritten(file, body, running)).await,
    };
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
    let bytes = file.bytes();
    match count.map(RecordCount::end).transpose()? {
        Some((header, rows)) => Ok(FileFacts { header, rows: Some(rows), bytes }),
        None => Ok(FileFacts { bytes, ..FileFacts::default() }),
    }
}

/// Writes the rows of a body of Arrow to the file, as Parquet. Neither may be larger than a file.
async fn rewritten(file: &mut SpoolFile, mut body: BodyDataStream, running: &RunningLoad) -> Result<FileFacts, Error> {
    let limit = file.bytes_max();
    let (mut rows, mut gathered, mut bytes) = (ArrowRows::default(), Vec::<u8>::new(), 0_u64);
    loop {
        let next = next(&mut body).await?;
        let is_end = next.is_none();
        if let Some(next) = next {
            bytes = bytes.saturating_add(u64::try_from(next.len()).unwrap_or(u64::MAX));
            if bytes > limit {
                return Err(Error::FileTooLarge { limit });
            }
            gathered.extend_from_slice(&next);
        }
        if !is_end && gathered.len() < ARROW_BYTES {
            continue;
        }
        rows.take(std::mem::take(&mut gathered));
        loop {
            let (back, may_go_on, written) = apart(rows, ArrowRows::turn).await?;
            rows = back;
            add(file, &written).await?;
            running.has(rows.rows());
            if !may_go_on {
                break;
            }
        }
        if is_end {
            break;
        }
    }
    if bytes == 0 {
        return Err(refused("the body is empty: send the file"));
    }
    let (rows, last, _) = apart(rows, ArrowRows::end).await?;
    add(file, &last).await?;
    file.finish().await?;
    Ok(FileFacts { header: None, rows: Some((rows.rows(), rows.rows())), bytes })
}

async fn add(file: &mut SpoolFile, bytes: &[u8]) -> Result<(), Error> {
    let (limit, more) = (file.bytes_max(), u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    if file.bytes().saturating_add(more) > limit {
        return Err(Error::FileTooLarge { limit });
    }
    if !bytes.is_empty() {
        file.write(bytes).await?;
    }
    Ok(())
}

/// Works on the rows where nobody waits; with them, what the work told and the bytes that are ready. A message that
/// Arrow's reader gives up at is refused as any other that cannot be read.
async fn apart<T: Send + 'static>(
    mut rows: ArrowRows,
    work: fn(&mut ArrowRows) -> Result<T, Error>,
) -> Result<(ArrowRows, T, Vec<u8>), Error> {
    let worked = tokio::task::spawn_blocking(move || {
        let told = work(&mut rows)?;
        let written = rows.written();
        Ok::<_, Error>((rows, told, written))
    });
    worked.await.unwrap_or_else(|_| Err(refused("the Arrow stream cannot be read")))
}
