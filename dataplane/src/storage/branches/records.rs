//! The records in the table of branches, read.

use engine::Value;
use serde::Deserialize;

use super::{Branch, Status};
use crate::Error;
use crate::storage::system_tables::{ReadTarget, broken, moment, records, text};

const COLUMNS: &str = "to_json({branch_id: branch_id, name: name, description: description, agent_id: agent_id, made_by: made_by, \
    tables: tables, base_snapshot: base_snapshot, status: status, salt: salt, \
    created_at: epoch_us(created_at), expires_at: epoch_us(expires_at)})::varchar";

#[derive(Deserialize)]
struct BranchRow {
    branch_id: String,
    name: String,
    description: Option<String>,
    agent_id: String,
    made_by: Option<String>,
    tables: String,
    base_snapshot: String,
    status: Status,
    salt: String,
    created_at: i64,
    expires_at: i64,
}

impl BranchRow {
    fn branch(self) -> Result<Branch, Error> {
        Ok(Branch {
            branch_id: self.branch_id,
            name: self.name,
            description: self.description,
            agent_id: self.agent_id,
            made_by: self.made_by,
            tables: serde_json::from_str(&self.tables).map_err(broken)?,
            base_snapshot: self.base_snapshot,
            status: self.status,
            salt: self.salt,
            created_at: moment(self.created_at)?,
            expires_at: moment(self.expires_at)?,
        })
    }
}

/// The branches that the table has as open.
pub(crate) async fn active(place: ReadTarget<'_>) -> Result<Vec<Branch>, Error> {
    found(place, "where status = 'active'", Vec::new()).await
}

/// The record of a branch, open or ended.
pub(crate) async fn record(place: ReadTarget<'_>, branch_id: &str) -> Result<Option<Branch>, Error> {
    Ok(found(place, "where branch_id = $1", vec![text(branch_id)]).await?.pop())
}

/// The branches that a condition finds, in its order.
pub(crate) async fn found(place: ReadTarget<'_>, condition: &str, params: Vec<Value>) -> Result<Vec<Branch>, Error> {
    let sql = format!("select {COLUMNS} from raw._svc_branches.branches {condition}");
    records::<BranchRow>(place, (sql, params)).await?.into_iter().map(BranchRow::branch).collect()
}
