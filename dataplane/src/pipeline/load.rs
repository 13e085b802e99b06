//! Files on their way into a table: taken in, looked at, and made readable for the statement that writes them.
//!
//! A file is its sender's own: looking at it reads nothing of the environment. What writes it is a statement like any
//! other, in the same transaction, and walks all stages; it names the file's rows as a temporary table.

use engine::{FileColumn, FileFormat, Outcome, SpoolFile, Statement};

use contract::policy::abac::Operation;
use contract::wire::Numbers;

use super::stages::{policy, semaphore};
use super::{Pipeline, Query, Result, startup_gate};
use crate::encode::json;
use crate::{Ask, Column, Error};

/// The rows of the open file, as statements of its transaction name them.
pub const OPEN_FILE: &str = "pg_temp.loaded_file";
const OPEN_FILE_NAME: &str = "loaded_file";

impl Pipeline {
    /// An empty file, for who may write in this environment, which has room.
    pub async fn file(&self, ask: &Ask) -> Result<SpoolFile> {
        let query = self.admitted(ask).await?;
        query.ledger.storage.has_room(&*self.rules()?, Operation::Insert)?;
        self.engine()?.file().await.map_err(|error| query.fault(error))
    }

    /// The columns of a file, of types that hold all of its values; `header` names those of CSV.
    pub async fn file_columns(
        &self,
        ask: &Ask,
        file: &SpoolFile,
        format: FileFormat,
        header: &[String],
    ) -> Result<Vec<FileColumn>> {
        let query = self.admitted(ask).await?;
        let _slot = semaphore::enter(self, &query).await?;
        let mut session = self.engine()?.session().await?;
        let told = session.file_columns((file, format), header, query.deadline, &query.ask.cancel).await;
        told.map_err(|error| query.fault(error).of_file())
    }

    /// The first rows of a file, as JSON.
    pub async fn first_rows(&self, ask: &Ask, rows: &str, count: usize) -> Result<Vec<Vec<serde_json::Value>>> {
        let query = self.admitted(ask).await?;
        let _slot = semaphore::enter(self, &query).await?;
        let fault = |error| query.fault(error).of_file();
        let mut session = self.engine()?.session().await?;
        let statement = Statement { sql: format!("{rows} limit {count}"), params: Vec::new(), writes: false };
        let ran = session.run(statement, query.deadline, &query.ask.cancel).await.map_err(fault)?;
        let Outcome::Rows(mut rows) = ran else { return Ok(Vec::new()) };
        let column = |column: &engine::Column| Column {
            name: column.name.clone(),
            type_name: column.type_name.clone(),
            masked: false,
        };
        let columns: Vec<_> = rows.columns.iter().map(column).collect();
        let (mut out, mut is_first) = (String::from("["), true);
        while let Some(batch) = rows.next().await {
            json::rows(&mut out, &columns, &batch.map_err(fault)?, Numbers::Json, &mut is_first);
        }
        out.push(']');
        serde_json::from_str(&out).map_err(|error| Error::Unverified { why: error.to_string() })
    }

    /// Makes these rows of a file the table [`OPEN_FILE`] of the client's transaction.
    pub async fn open_file(&self, ask: &Ask, rows: &str) -> Result<()> {
        let query = self.admitted(ask).await?;
        let _slot = semaphore::enter(self, &query).await?;
        let seen = self.remembered.tables.now(&self.engine()?, &*self.rules()?).await?;
        let mut transaction = query.transaction().await?.ok_or(Error::FailedTransaction)?;
        let (session, _) = transaction.open(&query.ask.who, &seen).await?;
        let opened = session.open_file(OPEN_FILE_NAME, rows, query.deadline, &query.ask.cancel).await;
        opened.map_err(|error| query.fault(error).of_file())?;
        transaction.defined();
        Ok(())
    }

    /// Whoever may write here at all; on which table, the statement that writes it is judged.
    async fn admitted(&self, ask: &Ask) -> Result<Query> {
        let query = startup_gate::enter(self, ask.clone()).await?;
        let rules = self.rules()?;
        let who = policy::caller(self, &query, &rules)?;
        who.caller.may_query(true).map_err(Error::Lacks)?;
        query.ask.bounds.permit(&who.caller, true)?;
        Ok(query)
    }
}
