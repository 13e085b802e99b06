//! Who may make an external table, and which of its files are read for whom.
//!
//! The table is judged by its own name, and whoever reads it needs no right to the stage. So who makes it has to be one
//! from whom the stage hides nothing, and the stage one that hides nothing from others. A filter or mask that the stage
//! gets later closes the table to whom it binds, until a policy names the table (`provenance`).

use super::policy_request::PolicyRequest;
use crate::pipeline::Result;
use crate::pipeline::stages::tables::StatementInfo;

/// Refuses an external table that would show what a rule on its stage hides, or whose columns cannot be made. A refresh
/// takes in files as well, by the rules that the stage has now.
pub(in crate::pipeline) fn permitted(
    asked: &PolicyRequest<'_>,
    there: &sql::Catalog,
    resolved: &sql::Resolved,
) -> Result<()> {
    let rows = match resolved.external() {
        Some(
            sql::ExternalChange::Made { rows, .. }
            | sql::ExternalChange::Refreshed { rows }
            | sql::ExternalChange::Listed { rows, .. },
        ) => rows,
        Some(sql::ExternalChange::Dropped { .. } | sql::ExternalChange::Nothing) | None => return Ok(()),
    };
    let stage = rows.path();
    asked.opens_whole(&stage)?;
    asked.provenance(there).made_external(&stage)?;
    if let Some(external) = &rows.external {
        sql::external_query(rows, external)?;
    }
    Ok(())
}

/// Has what is known of a statement tell of the files that it reads or changes. All files are read of a table of which
/// something is hidden: which of them fail must not follow from what is asked.
pub(in crate::pipeline) fn read_by(asked: &PolicyRequest<'_>, resolved: &sql::Resolved, about: &mut StatementInfo) {
    about.external = resolved.external().cloned();
    let read = resolved.staged().iter().cloned().map(|mut rows| {
        if asked.opens_whole(&rows.known_as()).is_err() {
            rows.external = rows.external.map(sql::ExternalRows::whole);
        }
        rows
    });
    about.staged = read.collect();
}
