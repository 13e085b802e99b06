//! SHOW EXTERNAL TABLES.

use std::sync::Arc;

use sqlparser::ast::{Query, ShowObjects, Statement};

use super::shown;
use crate::ast::error::Error;
use crate::catalog::definition::DefinitionKind;
use crate::catalog::table::Table;
use crate::catalog::tables::{Catalog, SessionNames};
use crate::syntax::listing::{Listing, cell};
use crate::syntax::parse;
use crate::syntax::statement::{ExternalCommand, StatementKind};

pub(super) fn listed(tree: &Statement, catalog: &Catalog, session: &SessionNames) -> Result<Query, Error> {
    let Statement::ShowObjects(ShowObjects { show_options, .. }) = tree else {
        return Err(Error::unsupported("this form of SHOW"));
    };
    let mut listing = Listing::new(
        "created_on, name, schema_name, invalid, invalid_reason, owner, comment, stage, location, file_format_name, \
        file_format_type, cloud, region, notification_channel, last_refreshed_on, table_format",
    );
    for table in external_tables(catalog) {
        let (stage, location) = source(table, catalog, session).unzip();
        let head = [None, cell(&table.name), cell(&table.schema), None, None, None];
        let comment = cell(table.comment.as_deref().unwrap_or_default());
        let rest = [None, None, None, None, None, None, cell("UNMANAGED")];
        listing.add(head.into_iter().chain([comment, stage, location]).chain(rest).collect());
    }
    shown::narrowed(listing, show_options, false)
}

/// Those that there are, in order.
pub(super) fn external_tables(catalog: &Catalog) -> Vec<&Arc<Table>> {
    let mut all: Vec<_> = catalog.tables().filter(|table| table.is_external()).collect();
    all.sort_by(|one, other| (&one.schema, &one.name).cmp(&(&other.schema, &other.name)));
    all
}

/// The stage and the place of the files; none where the stage is not there, or not to be seen.
pub(super) fn source(table: &Table, catalog: &Catalog, session: &SessionNames) -> Option<(String, String)> {
    let kept = table.external.as_ref()?;
    let statement = parse::parse(&kept.text).ok()?;
    let StatementKind::ExternalTable(ExternalCommand::Create(definition)) = statement.kind() else { return None };
    let home = SessionNames { search_path: kept.homes.clone(), ..session.clone() };
    let found = catalog.staged(DefinitionKind::Stage, &definition.stage, &home).ok()?;
    found.stage().ok().filter(|stage| stage.id == kept.stage_id)?;
    let stage = format!("{}.{}", found.schema, found.called());
    let location = format!("@{stage}/{}", definition.prefix);
    Some((stage, location))
}
