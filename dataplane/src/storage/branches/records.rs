//! The records in the table of branches, read.

use engine::Value;

use super::Branch;
use crate::Error;
use crate::storage::system_tables::{ReadTarget, records, text};

const COLUMNS: &str = "to_json({branch_id: branch_id, name: name, description: description, agent_id: agent_id, made_by: made_by, \
    tables: tables, base_snapshot: base_snapshot, status: status, salt: salt, \
    created_at: epoch_us(created_at), expires_at: epoch_us(expires_at)})::varchar";

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
    records(place, (sql, params)).await
}
