//! A transaction in an attached database: one connection that only reads, and what it sees does not change.
//!
//! It is connected to by the address that was looked at (`ReachableHosts`), never by a name that is looked up again. No
//! text of a caller is sent there: names of tables and columns are those of the catalogue, in quotes.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use contract::StorageIntegration;
use contract::storage_integration::{SslMode, StorageCredentials, StorageKind};
use engine::RECORD_BYTES_MAX;
use futures::{FutureExt, StreamExt, TryStreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{CancelToken, Client, Config, Connection, CopyOutStream, NoTls, Row, config};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::bounded::{BoundedStream, TooLong};
use super::catalogue::{self, RemoteTable};
use super::columns::Carried;
use super::encrypted::Encryption;
use crate::error::AttachedFault;
use crate::storage::stage_files::ReachableHosts;

const CONNECTED_WITHIN: Duration = Duration::from_secs(5);
/// What stands for NULL: no value is written so without quotes.
pub const NULL: &str = "\\N";

/// Where a connection is made, and by what.
#[derive(Debug, Clone)]
struct Way {
    address: SocketAddr,
    encryption: Option<Encryption>,
}

/// A read-only transaction in an attached database. Where it is dropped before its end, the database stops its work.
pub struct RemoteTransaction {
    database: String,
    client: Client,
    way: Way,
    /// None once it has ended.
    cancels: Option<CancelToken>,
    tasks: TaskTracker,
    too_long: TooLong,
    _driven: AbortOnDropHandle<()>,
}

impl RemoteTransaction {
    /// Begins one. What it asks is given up by the database itself after `within`.
    pub async fn begin(
        integration: &StorageIntegration,
        hosts: &ReachableHosts,
        tasks: &TaskTracker,
        within: Duration,
    ) -> Result<Self, AttachedFault> {
        let database = integration.name.clone();
        let too_long = TooLong::default();
        let begun = connected(integration, hosts, tasks, &too_long).boxed(); // TLS within is too deep for the compiler's sight
        let (client, driven, way) = timeout(CONNECTED_WITHIN.min(within), begun)
            .await
            .map_err(|_| AttachedFault::Away { database: database.clone() })??;
        let cancels = Some(client.cancel_token());
        let begun = Self { database, client, way, cancels, tasks: tasks.clone(), too_long, _driven: driven };
        let milliseconds = within.as_millis().clamp(1, 1 << 30);
        let settings = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
             SET LOCAL statement_timeout = {milliseconds}; SET LOCAL lock_timeout = 5000; \
             SET LOCAL idle_in_transaction_session_timeout = {milliseconds}; \
             SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL TimeZone = 'UTC'; SET LOCAL extra_float_digits = 1; \
             SET LOCAL bytea_output = 'hex'; SET LOCAL standard_conforming_strings = on"
        );
        let set = timeout(CONNECTED_WITHIN.min(within), begun.client.batch_execute(&settings)).await;
        match set {
            Ok(Ok(())) => Ok(begun),
            Ok(Err(error)) => Err(fault(&begun.database, &error)),
            Err(_) => Err(AttachedFault::Away { database: begun.database.clone() }),
        }
    }

    /// The tables there with the columns that have a counterpart here, or the one table that is named.
    pub async fn tables(&self, only: Option<(&str, &str)>) -> Result<Vec<RemoteTable>, AttachedFault> {
        let (schema, name) = only.unzip();
        let set = self.client.batch_execute("SET LOCAL search_path = pg_catalog").await;
        set.map_err(|error| fault(&self.database, &error))?;
        let asked = self.client.query_raw(&catalogue::asked(), [schema, name]).await;
        let asked = asked.map_err(|error| fault(&self.database, &error))?;
        // whatever the database answers, no more of it is held
        let rows: Result<Vec<Row>, _> = asked.take(catalogue::COLUMNS_MAX + 1).try_collect().await;
        let rows = rows.map_err(|error| fault(&self.database, &error))?;
        if rows.len() > catalogue::COLUMNS_MAX {
            let (database, limit) = (self.database.clone(), catalogue::COLUMNS_MAX);
            return Err(AttachedFault::TooLarge { database, limit });
        }
        let away = |_| AttachedFault::Away { database: self.database.clone() };
        catalogue::read(&rows).map_err(away)
    }

    /// The rows of a table as CSV: each has the values of these columns, or, without any, one that says nothing.
    pub async fn rows(
        &self,
        (path, table): (&str, &RemoteTable),
        columns: &[(&str, Carried)],
    ) -> Result<CopyOutStream, AttachedFault> {
        let selected: Vec<String> = columns.iter().map(|(name, carried)| selected(name, *carried)).collect();
        let selected = if selected.is_empty() { "1".to_owned() } else { selected.join(", ") };
        let (schema, name) = (quoted(&table.schema), quoted(&table.name));
        let copied = format!(
            "COPY (SELECT {selected} FROM {schema}.{name}) TO STDOUT WITH (FORMAT csv, FORCE_QUOTE *, NULL '{NULL}')"
        );
        // a function in a view there may need the path that its owner has
        let reset = self.client.batch_execute("SET LOCAL search_path TO DEFAULT").await;
        reset.map_err(|error| self.refused(path, &error))?;
        self.client.copy_out(&copied).await.map_err(|error| self.refused(path, &error))
    }

    /// What an error says of the table that is read.
    pub fn refused(&self, path: &str, error: &tokio_postgres::Error) -> AttachedFault {
        let table = path.to_owned();
        if self.too_long.load(Ordering::Acquire) {
            return AttachedFault::Row { table, reason: format!("it is longer than {} MiB", RECORD_BYTES_MAX >> 20) };
        }
        match error.code() {
            Some(state) if [SqlState::UNDEFINED_COLUMN, SqlState::UNDEFINED_TABLE].contains(state) => {
                AttachedFault::Changed { table }
            }
            Some(state) if !is_of_connection(state) => AttachedFault::Refused { table, state: state.code().to_owned() },
            _ => fault(&self.database, error),
        }
    }

    /// It has read all that it was begun for.
    pub fn end(mut self) {
        self.cancels = None;
    }
}

impl Drop for RemoteTransaction {
    fn drop(&mut self) {
        let Some(token) = self.cancels.take() else { return };
        let Way { address, encryption } = self.way.clone();
        let cancelled = async move {
            let cancelled = timeout(CONNECTED_WITHIN, async {
                let stream = TcpStream::connect(address).await.ok()?;
                match encryption {
                    Some(encryption) => token.cancel_query_raw(stream, encryption).await.ok(),
                    None => token.cancel_query_raw(stream, NoTls).await.ok(),
                }
            });
            if !matches!(cancelled.await, Ok(Some(()))) {
                tracing::debug!("an attached database could not be told that a statement has ended");
            }
        };
        self.tasks.spawn(cancelled);
    }
}

/// A connection, and the task that drives it.
async fn connected(
    integration: &StorageIntegration,
    hosts: &ReachableHosts,
    tasks: &TaskTracker,
    too_long: &TooLong,
) -> Result<(Client, AbortOnDropHandle<()>, Way), AttachedFault> {
    let database = || integration.name.clone();
    let StorageKind::Postgres { host, port, database: name, ssl_mode } = &integration.kind else {
        return Err(AttachedFault::Unusable { database: database() });
    };
    let user = match &integration.credentials {
        StorageCredentials::Password(user) => user,
        // until the control plane has sent them again
        StorageCredentials::Sealed { .. } => return Err(AttachedFault::Away { database: database() }),
        _ => return Err(AttachedFault::Unauthorized { database: database() }),
    };
    if *ssl_mode == SslMode::Disable && !hosts.names(host, *port) {
        return Err(AttachedFault::Unreachable { database: database() });
    }
    let addresses = hosts.addresses(host, *port).await.map_err(|_| AttachedFault::Away { database: database() })?;
    let addresses = addresses.ok_or_else(|| AttachedFault::Unreachable { database: database() })?;
    let away = |_: std::io::Error| AttachedFault::Away { database: database() };
    let stream = TcpStream::connect(addresses.as_slice()).await.map_err(away)?;
    let address = stream.peer_addr().map_err(away)?;
    let mut settings = Config::new();
    settings.user(user.user.expose().as_str()).password(user.password.expose().as_str()).dbname(name.as_str());
    settings.application_name("sluice");
    let failed = |error: tokio_postgres::Error| fault(&integration.name, &error);
    match ssl_mode {
        SslMode::Disable => {
            settings.ssl_mode(config::SslMode::Disable);
            let stream = BoundedStream::new(stream, too_long);
            let (client, connection) = settings.connect_raw(stream, NoTls).await.map_err(failed)?;
            Ok((client, driven(tasks, connection), Way { address, encryption: None }))
        }
        SslMode::VerifyFull => {
            let encryption =
                Encryption::of(host, too_long).ok_or_else(|| AttachedFault::Unusable { database: database() })?;
            settings.ssl_mode(config::SslMode::Require);
            let (client, connection) = settings.connect_raw(stream, encryption.clone()).await.map_err(failed)?;
            Ok((client, driven(tasks, connection), Way { address, encryption: Some(encryption) }))
        }
    }
}

fn driven<S, T>(tasks: &TaskTracker, connection: Connection<S, T>) -> AbortOnDropHandle<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    AbortOnDropHandle::new(tasks.spawn(async move {
        if connection.await.is_err() {
            tracing::debug!("the connection to an attached database has ended");
        }
    }))
}

/// What an error of a connection says; of its words nothing is told, since they may be about hosts or values.
fn fault(database: &str, error: &tokio_postgres::Error) -> AttachedFault {
    let database = database.to_owned();
    let state = error.code();
    tracing::warn!(%database, state = state.map_or("none", SqlState::code), "an attached database");
    match state.map(SqlState::code) {
        Some(state) if state.starts_with("28") || state == "42501" => AttachedFault::Unauthorized { database },
        Some("3D000") => AttachedFault::Unusable { database },
        _ => AttachedFault::Away { database },
    }
}

/// Whether it tells of the connection or the server, and not of what was asked.
fn is_of_connection(state: &SqlState) -> bool {
    ["08", "28", "53", "57", "58", "XX", "25", "40"].iter().any(|class| state.code().starts_with(class))
}

fn selected(name: &str, carried: Carried) -> String {
    let name = quoted(name);
    match carried {
        Carried::Printed => name,
        Carried::Text => format!("{name}::pg_catalog.text"),
        Carried::Hex => format!("pg_catalog.encode({name}, 'hex')"),
    }
}

/// A name in PostgreSQL's quotes.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_within_its_quotes() {
        assert_eq!(selected("a\"; DROP TABLE x; --", Carried::Printed), "\"a\"\"; DROP TABLE x; --\"");
        assert_eq!(selected("b", Carried::Hex), "pg_catalog.encode(\"b\", 'hex')");
    }
}
