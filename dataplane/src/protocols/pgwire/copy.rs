//! `COPY … TO STDOUT` and `COPY … FROM STDIN`, as text, CSV and binary.
//!
//! Out, it is a SELECT; in, it is INSERTs of many rows each, in one transaction. Both walk the whole pipeline, so a
//! copy sees masked columns masked, leaves hidden rows out, and writes nothing that an INSERT might not.

mod form;
mod options;
mod records;
mod upload;

use bytes::{BufMut, Bytes, BytesMut};
use contract::Code;

pub use form::CopyEncoder;
pub use options::{CopyFormat, Options};

use super::conversation::Conversation;
use super::failure::ErrorResponse;
use super::message::Formats;
use super::reply;
use super::request::BoundValues;
use super::watch::Stop;
use super::wire::{ConnectionEnd, FRAME_BYTES_MAX};
use crate::Bounds;
use crate::encode::pg_rows::PgType;
use records::Records;
use upload::{CopyColumn, Upload};

/// A copy command; its parts are token numbers of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    pub what: CopySubject,
    pub direction: Direction,
    pub options: Options,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopySubject {
    /// Between the brackets.
    Query { from: usize, to: usize },
    /// The table's name, and the list of columns behind it, without its brackets.
    Table { name: (usize, usize), columns: Option<(usize, usize)> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Out,
    In,
}

/// The client's own words for its parts.
struct Words<'a> {
    text: &'a str,
    starts: &'a [usize],
}

impl<'a> Words<'a> {
    fn between(&self, (from, to): (usize, usize)) -> &'a str {
        let start = self.starts.get(from).copied().unwrap_or(self.text.len());
        let end = self.starts.get(to).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or_default().trim()
    }
}

impl Conversation {
    /// Does the whole copy; its command tag.
    pub(super) async fn copy(&mut self, copy: &Copy, text: &str, starts: &[usize]) -> Result<String, Stop> {
        let words = Words { text, starts };
        match (copy.what, copy.direction) {
            (CopySubject::Query { from, to }, Direction::Out) => {
                let query = words.between((from, to)).to_owned();
                self.copy_out(&query, &copy.options).await
            }
            (CopySubject::Table { name, columns }, Direction::Out) => {
                let columns = columns.map_or("*", |columns| words.between(columns));
                let query = format!("select {columns} from {}", words.between(name));
                self.copy_out(&query, &copy.options).await
            }
            (CopySubject::Table { name, columns }, Direction::In) => {
                let columns = columns.map(|columns| words.between(columns));
                self.copy_in(words.between(name), columns, &copy.options).await
            }
            (CopySubject::Query { .. }, Direction::In) => {
                Err(ErrorResponse::unsupported("COPY of a query FROM STDIN").into())
            }
        }
    }

    async fn copy_out(&mut self, query: &str, options: &Options) -> Result<String, Stop> {
        let no_rows = || ErrorResponse::new(Code::InvalidParams, "COPY TO needs a query that answers with rows");
        // before it has changed anything; what cannot be parsed is the pipeline's to refuse
        if sql::parse_with(query, &self.settings.variables()).is_ok_and(|statement| !statement.answers()) {
            return Err(no_rows().into());
        }
        let formats = if options.format == CopyFormat::Binary { Formats::all_binary() } else { Formats::default() };
        let mut delivery = self.start(query, BoundValues::default(), &formats, Bounds::default()).await?;
        if !delivery.has_rows() {
            return Err(no_rows().into());
        }
        let is_binary = options.format == CopyFormat::Binary;
        reply::copy_response(&mut self.wire.out, b'H', is_binary, delivery.fields.len());
        let names: Vec<_> = delivery.fields.iter().map(|field| field.name.as_str()).collect();
        let form = CopyEncoder::new(options.clone());
        form.begin(&names, &mut self.wire.out);
        delivery.copied_as(form);
        let (rows, _) = delivery.send(None, self.settings.zone(), &mut self.wire, &mut self.watch).await?;
        delivery.copied(&mut self.wire.out);
        reply::message(&mut self.wire.out, b'c', |_| {});
        Ok(format!("COPY {rows}"))
    }

    async fn copy_in(&mut self, table: &str, columns: Option<&str>, options: &Options) -> Result<String, Stop> {
        let into = self.copied_columns(table, columns).await?;
        let mut upload = Upload::new(table, columns, into).binary(options.format == CopyFormat::Binary);
        // All of it stands or falls together.
        self.transaction.begin_implicit(&self.pipeline, &self.watch.who);
        reply::copy_response(&mut self.wire.out, b'G', options.format == CopyFormat::Binary, upload.width());
        self.wire.flush().await?;
        let mut records = Records::new(options.clone());
        let clock = self.clock();
        while let Some(data) = self.copy_data().await? {
            records.add(&data)?;
            while let Some(record) = records.next()? {
                upload.add(record, records.count(), &clock)?;
                if upload.is_full() {
                    self.insert(&mut upload).await?;
                }
            }
        }
        while let Some(record) = records.last()? {
            upload.add(record, records.count(), &clock)?;
        }
        self.insert(&mut upload).await?;
        Ok(format!("COPY {}", upload.written))
    }

    /// The columns that are copied into, as the pipeline shows them to the caller.
    async fn copied_columns(&mut self, table: &str, columns: Option<&str>) -> Result<Vec<CopyColumn>, Stop> {
        self.go_on_with_temporary();
        let cancel = self.cancellable.next();
        let ask = self.ask(
            &format!("select {} from {table}", columns.unwrap_or("*")),
            BoundValues::default(),
            cancel.clone(),
        );
        let described = self.watch.attend(&mut self.wire, &cancel, Box::pin(self.pipeline.describe(&ask))).await??;
        let column =
            |column: crate::Column| CopyColumn { kind: PgType::from_engine(&column.type_name), name: column.name };
        Ok(described.columns.into_iter().map(column).collect())
    }

    /// The next bytes of the copy; none when the client has sent all.
    async fn copy_data(&mut self) -> Result<Option<Bytes>, Stop> {
        loop {
            let (kind, body) = tokio::select! {
                frame = self.wire.frame(FRAME_BYTES_MAX) => frame?,
                failure = self.watch.over() => return Err(Stop::End(ConnectionEnd::Fatal(failure))),
            };
            match kind {
                b'd' => return Ok(Some(body)),
                b'c' => return Ok(None),
                // Part of a pipeline that was sent before the copy began.
                b'H' | b'S' => {}
                b'f' => {
                    return Err(ErrorResponse::new(Code::QueryCancelled, "the client gave the copy up")
                        .with_state("57014")
                        .into());
                }
                b'X' => return Err(Stop::End(ConnectionEnd::Closed)),
                other => {
                    let message = format!("a message of type {:?} inside COPY FROM STDIN", char::from(other));
                    return Err(ErrorResponse::protocol(message).into());
                }
            }
        }
    }

    /// Writes what has been gathered, by one INSERT.
    async fn insert(&mut self, upload: &mut Upload) -> Result<(), Stop> {
        let Some((sql, params)) = upload.take() else { return Ok(()) };
        let mut delivery = self
            .start(&sql, BoundValues { values: params, types: Vec::new() }, &Formats::default(), Bounds::default())
            .await?;
        delivery.pass(None, &mut self.wire, &mut self.watch).await?;
        upload.written += delivery.changed();
        Ok(())
    }
}

/// Wraps bytes in a `CopyData` message.
fn data(out: &mut BytesMut, bytes: &[u8]) {
    reply::message(out, b'd', |out| out.put_slice(bytes));
}
