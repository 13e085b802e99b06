//! Databases that are attached: their tables as they are known here, and the connections to read them by.
//!
//! The catalogue of a database is read when a statement may name it, and again after a minute. A statement whose rows
//! are brought is held against the catalogue of that moment, so none is read as a column that it is not. Nothing of a
//! host, a user or a password is in an error, a log or the engine's process.

mod bounded;
mod catalogue;
mod columns;
mod encrypted;
mod remote;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contract::storage_integration::may_be_a_schema;
use contract::{Governance, StorageIntegration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use super::stage_files::ReachableHosts;
use crate::error::AttachedFault;

pub use catalogue::RemoteTable;
pub use columns::Carried;
pub use remote::{NULL, RemoteTransaction};

/// How long a catalogue is good for statements to come.
const FRESH_FOR: Duration = Duration::from_mins(1);
/// How long a database that did not answer is left alone.
const AWAY_FOR: Duration = Duration::from_secs(2);
/// What reading a catalogue may take.
const READ_WITHIN: Duration = Duration::from_secs(10);
/// Connections to one database; the next statements wait.
const CONNECTIONS_MAX: usize = 4;

/// The tables of all attached databases, as statements are judged by them.
#[derive(Debug, Default)]
pub struct AttachedTables {
    databases: Vec<Arc<AttachedDatabase>>,
    /// A table's number is its place.
    tables: Vec<(Arc<AttachedDatabase>, RemoteTable)>,
    /// What it is made of.
    parts: Vec<Arc<Vec<RemoteTable>>>,
}

impl AttachedTables {
    /// Whether a database is attached under this name.
    pub fn has(&self, schema: &str) -> bool {
        self.databases.iter().any(|database| database.integration.name.eq_ignore_ascii_case(schema))
    }

    /// The names under which databases are attached.
    pub fn schemas(&self) -> impl Iterator<Item = &str> {
        self.databases.iter().map(|database| database.integration.name.as_str())
    }

    /// The tables as any statement may come to know of them.
    pub fn known(&self) -> impl Iterator<Item = sql::Table> {
        self.tables.iter().enumerate().map(|(number, (database, table))| {
            let columns = table.columns.iter().map(|column| sql::Column::new(&column.name, &column.type_name));
            sql::Table::new(&database.integration.name, &table.name, columns.collect()).attached(number)
        })
    }

    /// The table of this path, and the database that it is in.
    pub fn find(&self, schema: &str, name: &str) -> Option<(&Arc<AttachedDatabase>, &RemoteTable)> {
        let is_it = |(database, table): &&(Arc<AttachedDatabase>, RemoteTable)| {
            database.integration.name.eq_ignore_ascii_case(schema) && table.name.eq_ignore_ascii_case(name)
        };
        self.tables.iter().find(is_it).map(|(database, table)| (database, table))
    }

    fn is_of(&self, databases: &[Arc<AttachedDatabase>], parts: &[Arc<Vec<RemoteTable>>]) -> bool {
        let same = self.databases.iter().zip(databases).all(|(one, other)| Arc::ptr_eq(one, other))
            && self.parts.iter().zip(parts).all(|(one, other)| Arc::ptr_eq(one, other));
        same && self.databases.len() == databases.len() && self.parts.len() == parts.len()
    }
}

/// An attached database: what reaches it, and its catalogue as it was read last.
#[derive(Debug)]
pub struct AttachedDatabase {
    integration: StorageIntegration,
    /// Who has it reads the catalogue.
    reading: tokio::sync::Mutex<()>,
    connections: Arc<Semaphore>,
    seen: Mutex<SeenCatalogue>,
}

#[derive(Debug, Default)]
struct SeenCatalogue {
    at: Option<Instant>,
    tables: Arc<Vec<RemoteTable>>,
    fault: Option<AttachedFault>,
}

impl AttachedDatabase {
    fn new(integration: StorageIntegration) -> Self {
        let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Self { integration, reading: tokio::sync::Mutex::default(), connections, seen: Mutex::default() }
    }

    pub fn integration(&self) -> &StorageIntegration {
        &self.integration
    }

    /// A place among those that are connected to it.
    pub async fn place(&self) -> Result<OwnedSemaphorePermit, AttachedFault> {
        let away = |_| AttachedFault::Away { database: self.integration.name.clone() };
        Arc::clone(&self.connections).acquire_owned().await.map_err(away)
    }

    /// The next statement reads its catalogue anew.
    pub fn forget(&self) {
        self.seen().at = None;
    }

    /// Why the last look has found nothing.
    fn fault(&self) -> Option<AttachedFault> {
        self.seen().fault.clone()
    }

    /// What the last look has told, while that holds.
    fn told(&self) -> Option<Result<(), AttachedFault>> {
        let seen = self.seen();
        let holds_for = if seen.fault.is_some() { AWAY_FOR } else { FRESH_FOR };
        seen.at.filter(|at| at.elapsed() < holds_for)?;
        Some(seen.fault.clone().map_or(Ok(()), Err))
    }

    /// Reads the catalogue, unless what is known of it is good still.
    async fn look(&self, hosts: &ReachableHosts, tasks: &TaskTracker) -> Result<(), AttachedFault> {
        if let Some(told) = self.told() {
            return told;
        }
        let _turn = self.reading.lock().await;
        if let Some(told) = self.told() {
            return told;
        }
        let away = || AttachedFault::Away { database: self.integration.name.clone() };
        let read = Box::pin(self.read(hosts, tasks));
        let read = tokio::time::timeout(READ_WITHIN, read).await.unwrap_or_else(|_| Err(away()));
        let mut seen = self.seen();
        seen.at = Some(Instant::now());
        seen.fault = None;
        match read {
            // as it was: what was judged by it holds
            Ok(tables) if tables == *seen.tables => {}
            Ok(tables) => seen.tables = Arc::new(tables),
            Err(fault) => seen.fault = Some(fault),
        }
        seen.fault.clone().map_or(Ok(()), Err)
    }

    async fn read(&self, hosts: &ReachableHosts, tasks: &TaskTracker) -> Result<Vec<RemoteTable>, AttachedFault> {
        let remote = RemoteTransaction::begin(&self.integration, hosts, tasks, READ_WITHIN).await?;
        let mut tables = remote.tables(None).await?;
        remote.end();
        tables.retain(|table| self.integration.permits(&table.url()).is_ok());
        Ok(catalogue::told_apart(tables))
    }

    fn seen(&self) -> MutexGuard<'_, SeenCatalogue> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All databases that are attached, by the rules of the moment.
#[derive(Debug, Default)]
pub struct AttachedDatabases {
    by_name: Mutex<HashMap<String, Arc<AttachedDatabase>>>,
    last: Mutex<Arc<AttachedTables>>,
}

impl AttachedDatabases {
    /// What is known of them now; the same as before where nothing has changed.
    pub fn tables(&self, rules: &Governance) -> Arc<AttachedTables> {
        let databases = self.enabled(rules);
        let parts: Vec<_> = databases.iter().map(|database| Arc::clone(&database.seen().tables)).collect();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if !last.is_of(&databases, &parts) {
            let of_one = |(database, tables): (&Arc<AttachedDatabase>, &Arc<Vec<RemoteTable>>)| {
                tables.iter().map(|table| (Arc::clone(database), table.clone())).collect::<Vec<_>>()
            };
            let tables = databases.iter().zip(&parts).flat_map(of_one).collect();
            *last = Arc::new(AttachedTables { databases, tables, parts });
        }
        Arc::clone(&last)
    }

    /// Reads the catalogue of this one, unless what is known of it is good still.
    pub async fn look(
        &self,
        integration: &StorageIntegration,
        hosts: &ReachableHosts,
        tasks: &TaskTracker,
    ) -> Result<(), AttachedFault> {
        Box::pin(self.one(integration).look(hosts, tasks)).await
    }

    /// The same for a list of all that there is. One that did not answer before is listed as it was, without a wait, and
    /// looked at meanwhile.
    pub async fn look_for_list(
        &self,
        integration: &StorageIntegration,
        hosts: &ReachableHosts,
        tasks: &TaskTracker,
    ) -> Result<(), AttachedFault> {
        let database = self.one(integration);
        let Some(fault) = database.fault() else { return Box::pin(database.look(hosts, tasks)).await };
        if database.told().is_none() && database.reading.try_lock().is_ok() {
            let (hosts, tracked) = (hosts.clone(), tasks.clone());
            // what it finds is known to whoever asks next
            tasks.spawn(async move { Box::pin(database.look(&hosts, &tracked)).await.is_ok() });
        }
        Err(fault)
    }

    fn enabled(&self, rules: &Governance) -> Vec<Arc<AttachedDatabase>> {
        let enabled = rules.attached.iter().filter(|one| one.enabled && may_be_a_schema(&one.name));
        let databases: Vec<_> = enabled.map(|integration| self.one(integration)).collect();
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        if by_name.len() > databases.len() {
            by_name.retain(|_, known| databases.iter().any(|database| Arc::ptr_eq(database, known)));
        }
        databases
    }

    /// The database of an integration: another one as soon as anything of the integration is another.
    fn one(&self, integration: &StorageIntegration) -> Arc<AttachedDatabase> {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let name = integration.name.to_ascii_lowercase();
        if let Some(known) = by_name.get(&name).filter(|known| known.integration == *integration) {
            return Arc::clone(known);
        }
        let database = Arc::new(AttachedDatabase::new(integration.clone()));
        by_name.insert(name, Arc::clone(&database));
        database
    }
}

#[cfg(test)]
mod tests {
    use contract::storage_integration::{SslMode, StorageCredentials, StorageKind};
    use futures::FutureExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn one_that_did_not_answer_is_listed_as_it_was_and_looked_at_meanwhile() {
        // it takes connections and answers nothing
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        let (host, database) = ("127.0.0.1".to_owned(), "shop".to_owned());
        let integration = StorageIntegration {
            name: "shop".to_owned(),
            kind: StorageKind::Postgres { host, port, database, ssl_mode: SslMode::Disable },
            allowed_prefixes: vec!["*".to_owned()],
            blocked_prefixes: Vec::new(),
            enabled: true,
            credentials: StorageCredentials::Anonymous,
        };
        let databases = AttachedDatabases::default();
        let (hosts, tasks) = (ReachableHosts::new([format!("127.0.0.1:{port}")]), TaskTracker::new());
        databases.one(&integration).seen().fault = Some(AttachedFault::Away { database: "shop".to_owned() });
        let listed = databases.look_for_list(&integration, &hosts, &tasks).now_or_never();
        assert!(listed.is_some_and(|told| told.is_err()), "it waits for nothing");
        assert_eq!(tasks.len(), 1, "it is looked at");
        databases.one(&integration).seen().at = Some(Instant::now());
        assert!(databases.look_for_list(&integration, &hosts, &tasks).now_or_never().is_some());
        assert_eq!(tasks.len(), 1, "but not at once again");
    }
}
