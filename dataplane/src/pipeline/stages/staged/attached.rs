//! Rows of attached tables, brought into temporary tables of the statement's transaction.
//!
//! All tables of one database are read in one transaction there, so they are of one moment. Only the columns that the
//! statement or a policy may ask for are read; the others are NULL, and nothing asks for them. No condition is sent
//! along: it would show the database, or whoever counts its rows, values of the caller or of a policy.

use std::fmt::Write;
use std::pin::Pin;
use std::sync::Arc;

use engine::{CsvSigns, FileColumn, Kind, Outcome, Session, SpoolFile, Statement};
use futures::StreamExt;
use sql::ast::quote;
use sql::{AttachedRead, CsvRecords, RecordWidth};
use tokio_postgres::CopyOutStream;

use super::super::snapshot::Lease;
use super::super::transpile::Native;
use super::records::RecordScan;
use crate::Error;
use crate::error::AttachedFault;
use crate::pipeline::{Pipeline, Query, Result};
use crate::request::trail::Trail;
use crate::storage::attached::{AttachedDatabase, Carried, NULL, RemoteTable, RemoteTransaction};

/// As much as is written to the spool at once.
const PART_BYTES: usize = 256 << 10;

/// Brings the rows of all attached tables that a statement reads.
pub(super) async fn brought(
    pipeline: &Pipeline,
    query: &Query,
    native: &Native,
    lease: &mut Lease,
    t: &Trail,
) -> Result<()> {
    let mut reads = native.about.attached.clone();
    reads.sort_by(|one, other| one.schema.cmp(&other.schema));
    for of_one in reads.chunk_by(|one, other| one.schema == other.schema) {
        Box::pin(of_database(pipeline, query, native, of_one, lease, t)).await?;
    }
    Ok(())
}

/// The same of those of one database.
async fn of_database(
    pipeline: &Pipeline,
    query: &Query,
    native: &Native,
    reads: &[AttachedRead],
    lease: &mut Lease,
    t: &Trail,
) -> Result<()> {
    let attached = native.about.judged_by()?.attached();
    let found = |read: &AttachedRead| {
        let unknown = || Error::Unverified { why: format!("{} is no attached table", read.path()) };
        attached.find(&read.schema, &read.name).ok_or_else(unknown)
    };
    let Some(first) = reads.first() else { return Ok(()) };
    let database = Arc::clone(found(first)?.0);
    let rules = pipeline.rules()?;
    // by the rules of the moment: it may have been disabled, or lead elsewhere
    if rules.attached_database(&first.schema).filter(|now| now.enabled) != Some(database.integration()) {
        return Err(AttachedFault::Reattached { database: first.schema.clone() }.into());
    }
    let _place = query.in_time(async { Ok(database.place().await?) }).await?;
    let (hosts, tasks) = (&pipeline.storage_hosts, &pipeline.tasks);
    let begun = RemoteTransaction::begin(database.integration(), hosts, tasks, query.left());
    let begun = query.in_time(async { Ok(Box::pin(begun).await?) }).await;
    // a list must not go on for a minute as if it answered
    let remote = begun.inspect_err(|_| database.forget())?;
    for read in reads {
        let table = found(read)?.1;
        let source = AttachedSource { query, database: &database, remote: &remote, table, read };
        query.in_time(source.as_known()).await?;
        let spool = pipeline.engine()?.file().await.map_err(|error| query.fault(error))?;
        let bytes = Box::pin(source.bring(lease.session()?, spool)).await?;
        if let Some(text) = &mut t.facts().transpiled {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n-- read {}, {bytes} bytes", read.path());
        }
    }
    remote.end();
    Ok(())
}

/// A table of an attached database, and the transaction that it is read in.
struct AttachedSource<'a> {
    query: &'a Query,
    database: &'a AttachedDatabase,
    remote: &'a RemoteTransaction,
    table: &'a RemoteTable,
    read: &'a AttachedRead,
}

impl AttachedSource<'_> {
    /// Whether it has the columns that the statement was judged by.
    async fn as_known(&self) -> Result<()> {
        let RemoteTable { schema, name, .. } = self.table;
        let now = self.remote.tables(Some((schema.as_str(), name.as_str()))).await?;
        if now.as_slice() != std::slice::from_ref(self.table) {
            self.database.forget();
            return Err(AttachedFault::Changed { table: self.read.path() }.into());
        }
        let permitted = self.database.integration().permits(&self.table.url());
        permitted.map(drop).map_err(|denied| AttachedFault::Denied(denied).into())
    }

    /// Brings its rows into the temporary table; how many bytes they were.
    async fn bring(&self, session: &mut Session, mut spool: SpoolFile) -> Result<u64> {
        let (query, path) = (self.query, self.read.path());
        let fault = |error| query.fault(error);
        let made = Statement { sql: self.read.made(), params: Vec::new(), writes: true };
        session.keep(made, query.deadline, &query.ask.cancel).await.map_err(fault)?;
        let columns = BroughtColumns::of(self.table, self.read)?;
        let copied = self.remote.rows((path.as_str(), self.table), &columns.selected);
        let mut copied = Box::pin(query.in_time(async { Ok(copied.await?) }).await?);
        let signs = signs();
        let mut scan = RecordScan::new(&signs);
        let unread = |fault: engine::FileFault| AttachedFault::Row { table: path.clone(), reason: fault.reason };
        loop {
            let broken = |error| Error::from(self.remote.refused(&path, &error));
            let next = async { part(&mut copied).await.map_err(broken) };
            let (bytes, is_end) = query.in_time(next).await?;
            scan.take(&bytes).map_err(unread)?;
            spool.write(&bytes).await.map_err(fault)?;
            if is_end {
                break;
            }
        }
        let records = scan.end().map_err(unread)?.records;
        spool.finish().await.map_err(fault)?;
        if records > 0 {
            let csv = CsvSigns {
                delimiter: signs.delimiter,
                quote: signs.quote,
                escape: signs.escape,
                skipped: signs.skipped,
                nulls: signs.nulls.clone(),
                is_padded: false,
                has_header: false,
            };
            let rows = spool.csv_rows(&csv, &columns.read).map_err(fault)?;
            self.written(session, &columns.values, &rows, records).await?;
        }
        Ok(spool.bytes())
    }

    async fn written(&self, session: &mut Session, values: &[String], rows: &str, records: u64) -> Result<()> {
        let query = self.query;
        let sql = format!("insert into {} select {} from ({rows}) as file", self.read.place(), values.join(", "));
        let statement = Statement { sql, params: Vec::new(), writes: true };
        let table = self.read.path();
        match session.run(statement, query.deadline, &query.ask.cancel).await.map_err(|error| query.fault(error)) {
            Ok(Outcome::Changed { rows, .. }) if rows == records => Ok(()),
            // how many it has, is not told: some may be hidden from who asks
            Ok(_) => Err(AttachedFault::Row { table, reason: "other rows were read than it has".to_owned() }.into()),
            // which value it is, is not told: its row may be hidden from who asks
            Err(Error::Engine(error))
                if matches!(error.kind, Kind::Conversion | Kind::OutOfRange | Kind::InvalidInput) =>
            {
                Err(AttachedFault::Value { table }.into())
            }
            Err(error) => Err(error),
        }
    }
}

/// The columns of a table that are read, in their order, and what becomes of each.
#[derive(Debug)]
struct BroughtColumns<'a> {
    selected: Vec<(&'a str, Carried)>,
    /// As the engine reads them.
    read: Vec<FileColumn>,
    /// The values of all columns of the temporary table.
    values: Vec<String>,
}

impl<'a> BroughtColumns<'a> {
    fn of(table: &'a RemoteTable, read: &AttachedRead) -> Result<Self> {
        let mut columns = Self { selected: Vec::new(), read: Vec::new(), values: Vec::new() };
        let names = |(column, _): &(sql::Column, bool)| column.name.clone();
        if !table.columns.iter().map(|column| column.name.clone()).eq(read.columns.iter().map(names)) {
            return Err(Error::Unverified { why: format!("{} has other columns than it is known by", read.path()) });
        }
        for (column, (_, is_asked)) in table.columns.iter().zip(&read.columns) {
            if !is_asked {
                columns.values.push(format!("cast(null as {})", column.type_name));
                continue;
            }
            columns.selected.push((column.name.as_str(), column.carried));
            let name = format!("c{}", columns.selected.len());
            let (type_name, value) = match column.carried {
                Carried::Printed | Carried::Text => (column.type_name.clone(), quote::name(&name)),
                Carried::Hex => ("VARCHAR".to_owned(), format!("unhex({})", quote::name(&name))),
            };
            columns.read.push(FileColumn { name, type_name });
            columns.values.push(value);
        }
        if columns.selected.is_empty() {
            // each row has a value that says nothing
            columns.read.push(FileColumn { name: "c1".to_owned(), type_name: "VARCHAR".to_owned() });
        }
        Ok(columns)
    }
}

/// How the rows come.
fn signs() -> CsvRecords {
    CsvRecords {
        delimiter: b',',
        quote: Some(b'"'),
        escape: Some(b'"'),
        skipped: 0,
        nulls: vec![NULL.to_owned()],
        escapes_unquoted: false,
        allows_blank: false,
        has_header: false,
        width: RecordWidth::Exact,
    }
}

/// The next rows, and whether they are the last.
async fn part(copied: &mut Pin<Box<CopyOutStream>>) -> std::result::Result<(Vec<u8>, bool), tokio_postgres::Error> {
    let mut part = Vec::with_capacity(PART_BYTES);
    while part.len() < PART_BYTES {
        match copied.next().await {
            Some(bytes) => part.extend_from_slice(&bytes?),
            None => return Ok((part, true)),
        }
    }
    Ok((part, false))
}
