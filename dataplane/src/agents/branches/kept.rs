//! Tables of a branch: the rows of its own tables, and of its base.

use contract::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Branches;
use super::merging::sees_all;
use super::store::path;
use crate::Error;
use crate::pipeline::CallerContext;
use crate::storage::branches::{base_schema, own_schema};
use crate::storage::system_tables::{SystemTransaction, broken};

/// Rows that a branch keeps of one table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct KeptRows {
    /// As the branch has them now.
    pub rows: u64,
    /// As they were when it was made.
    pub base_rows: u64,
}

impl Branches {
    /// How many rows the branch keeps, by table; of who may not see all of a table it is not counted.
    pub async fn kept(
        &self,
        standing: &CallerContext,
        branch_id: &str,
        now: Timestamp,
    ) -> Result<Vec<(String, KeptRows)>, Error> {
        let open = self.reached(standing, branch_id, now).await?;
        let mut transaction = SystemTransaction::begin(standing.into()).await?;
        let mut found = Vec::new();
        for table in &open.branch.tables {
            sees_all(standing, table)?;
            let own = path(&own_schema(branch_id), &table.name);
            let base = path(&base_schema(branch_id), &table.name);
            let sql = format!(
                "select to_json({{rows: (select count(*) from {own}), base_rows: (select count(*) from {base})}})::varchar"
            );
            let kept = transaction.records((sql, Vec::new())).await?.pop();
            found.push((table.path(), kept.ok_or_else(|| broken("counts of rows"))?));
        }
        Ok(found)
    }
}
