//! Stage 13. "Column masking: post-execution redaction by role"; "a masked column becomes a UTF-8
//! string column in the Arrow schema."
//!
//! The masks are already in the statement (stage 6), where no alias or expression can slip past
//! them. Here it is asserted that what comes out is text where it must be, and the caller is told
//! which columns they see masked. An answer that breaks the promise is not sent.

use arrow::datatypes::DataType;
use contract::Governance;

use super::execute::UnmaskedRows;
use super::semaphore::Slot;
use crate::pipeline::Result;
use crate::request::trail::Trail;
use crate::{Column, Error};

/// Governed rows, ready to be delivered. Holds its slot until the last one has left.
#[derive(Debug)]
pub(in crate::pipeline) struct Masked {
    pub rows: UnmaskedRows,
    pub slot: Slot,
    pub columns: Vec<Column>,
    /// Bare names of the base columns, first appearance first.
    pub base_columns: Vec<String>,
    pub rows_max: Option<RowsMax>,
}

/// How many rows may leave.
#[derive(Debug, Clone, Copy)]
pub(in crate::pipeline) enum RowsMax {
    /// Of the organization's tier.
    Tier(u64),
    /// Of the grant that the agent's statement runs under.
    Grant(u64),
}

impl RowsMax {
    /// The lower of the two.
    fn of(tier: Option<u64>, grant: Option<u64>) -> Option<Self> {
        match (tier, grant) {
            (Some(tier), Some(grant)) if tier < grant => Some(Self::Tier(tier)),
            (_, Some(grant)) => Some(Self::Grant(grant)),
            (tier, None) => tier.map(Self::Tier),
        }
    }

    pub fn admits(self, rows: u64) -> Result<()> {
        match self {
            Self::Tier(limit) if rows > limit => Err(Error::RowLimit { limit }),
            Self::Grant(limit) if rows > limit => Err(Error::GrantedRows { limit }),
            Self::Tier(_) | Self::Grant(_) => Ok(()),
        }
    }
}

pub(in crate::pipeline) fn columns(
    rules: &Governance,
    mut rows: UnmaskedRows,
    slot: Slot,
    t: &Trail,
) -> Result<Masked> {
    for place in &rows.masked_outputs {
        let field = rows.schema.fields().get(*place);
        if field.is_none_or(|field| *field.data_type() != DataType::Utf8) {
            return Err(Error::Unverified { why: format!("masked column {place} is not text") });
        }
    }
    let columns = rows.columns.iter().enumerate().map(|(place, column)| {
        let (masked, is_jsonb) = (rows.masked_outputs.contains(&place), rows.jsonb_outputs.contains(&place));
        Column::shown(column.name.clone(), column.type_name.clone(), masked, is_jsonb)
    });
    let columns = columns.collect();
    let columns_masked = bare(&rows.masked_columns);
    if !columns_masked.is_empty() {
        rows.warnings.push(format!("SVC_ERR_403_COLUMN_MASKED: {}", columns_masked.join(", ")));
    }
    rows.warnings.extend(rows.about.lacks.iter().map(ToString::to_string));
    rows.warnings.extend(rows.about.outdated.iter().cloned());
    let mut facts = t.facts();
    facts.columns_masked = bare(&facts.columns_masked); // those of conditions too
    drop(facts);
    let rows_max = RowsMax::of(rules.organization.limits.max_rows_per_query, rows.about.rows_max);
    if let (None, Some(granted @ RowsMax::Grant(_))) = (rows.changed, rows_max) {
        // What is at hand already is refused with a code, not in the middle of an answer.
        granted.admits(rows.first.iter().map(|batch| u64::try_from(batch.num_rows()).unwrap_or(u64::MAX)).sum())?;
    }
    Ok(Masked { rows, slot, columns, base_columns: columns_masked, rows_max })
}

/// The last part of each name, each once.
fn bare(paths: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for path in paths {
        let name = path.rsplit('.').next().unwrap_or(path);
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_columns_are_told_once_by_their_bare_names() {
        let paths = ["customer.ssn", "main.customer.name", "old.ssn"].map(str::to_owned);
        assert_eq!(bare(&paths), ["ssn", "name"]);
    }
}
