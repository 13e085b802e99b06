//! The rows that COPY INTO would load, where it is asked to show them: the temporary table has none left then.

use std::collections::VecDeque;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use engine::{Outcome, Statement};
use sql::LoadOptions;

use super::source::FileSource;
use super::{LoadReport, LoadedFile};
use crate::Error;
use crate::encode::batch_bytes::batch_bytes;
use crate::pipeline::Result;

/// Bytes of rows that are held until they are told.
const SHOWN_BYTES_MAX: usize = 64 << 20;

/// Rows of files as their table would have them.
#[derive(Debug)]
pub(super) struct ShownRows {
    pub schema: SchemaRef,
    pub columns: Vec<engine::Column>,
    pub batches: VecDeque<RecordBatch>,
}

impl FileSource<'_> {
    /// What is told of these files; where their rows are shown, none is left to be loaded.
    pub async fn report(&mut self, mut files: Vec<LoadedFile>, load: LoadOptions) -> Result<LoadReport> {
        if load.shows().is_none() {
            return Ok(LoadReport { files, shown: None });
        }
        for file in &mut files {
            file.rows = 0;
        }
        let shown = Box::pin(self.shown()).await?;
        Ok(LoadReport { files, shown: Some(shown) })
    }

    async fn shown(&mut self) -> Result<ShownRows> {
        let (deadline, cancel) = (self.query.deadline, &self.query.ask.cancel);
        let sql = format!("{} order by rowid", self.rows.shown());
        let ran = self.session.run(Statement { sql, params: Vec::new(), writes: false }, deadline, cancel).await;
        let Outcome::Rows(mut rows) = ran.map_err(|error| self.query.fault(error))? else {
            return Err(Error::Unverified { why: "the rows of files have no answer".to_owned() });
        };
        let columns = std::mem::take(&mut rows.columns);
        let mut shown = ShownRows { schema: SchemaRef::clone(&rows.schema), columns, batches: VecDeque::new() };
        let mut bytes = 0;
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(|error| self.query.fault(error))?;
            bytes += batch_bytes(&batch);
            if bytes > SHOWN_BYTES_MAX {
                return Err(Error::AnswerTooLarge { limit: SHOWN_BYTES_MAX });
            }
            shown.batches.push_back(batch);
        }
        rows.finish().await;
        let sql = format!("delete from {}", self.rows.place());
        let ran = self.session.run(Statement { sql, params: Vec::new(), writes: true }, deadline, cancel).await;
        ran.map_err(|error| self.query.fault(error))?;
        Ok(shown)
    }
}
