//! SHOW EXTERNAL TABLES.

use std::sync::Arc;

use sqlparser::ast::{Query, ShowObjects, Statement};

use super::shown;
use crate::ast::error::Error;
use crate::catalog::definition::DefinitionKind;
use crate::catalog::stage::StageFormat;
use crate::catalog::table::Table;
use crate::catalog::tables::{Catalog, SessionNames};
use crate::syntax::listing::{Cell, Listing, cell};
use crate::syntax::parse;
use crate::syntax::parse::staged::format_name;
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
        let ExternalSource { stage, location, format_name, format_type } =
            source(table, catalog, session).unwrap_or_default();
        let head = [None, cell(&table.name), cell(&table.schema), None, None, None];
        let comment = cell(table.comment.as_deref().unwrap_or_default());
        let source = [comment, stage, location, format_name, format_type];
        let rest = [None, None, None, None, cell("UNMANAGED")];
        listing.add(head.into_iter().chain(source).chain(rest).collect());
    }
    shown::narrowed(listing, show_options, false)
}

/// Those that there are, in order.
pub(super) fn external_tables(catalog: &Catalog) -> Vec<&Arc<Table>> {
    let mut all: Vec<_> = catalog.tables().filter(|table| table.is_external()).collect();
    all.sort_by(|one, other| (&one.schema, &one.name).cmp(&(&other.schema, &other.name)));
    all
}

/// The place of an external table's files, and how they are read.
#[derive(Default)]
pub(super) struct ExternalSource {
    pub stage: Cell,
    pub location: Cell,
    /// Of a file format that is named.
    pub format_name: Cell,
    pub format_type: Cell,
}

/// None where the stage is not there, or not to be seen.
pub(super) fn source(table: &Table, catalog: &Catalog, session: &SessionNames) -> Option<ExternalSource> {
    let kept = table.external.as_ref()?;
    let statement = parse::parse(&kept.text).ok()?;
    let StatementKind::ExternalTable(ExternalCommand::Create(definition)) = statement.kind() else { return None };
    let home = SessionNames { search_path: kept.homes.clone(), ..session.clone() };
    let found = catalog.staged(DefinitionKind::Stage, &definition.stage, &home).ok()?;
    let of_stage = found.stage().ok().filter(|stage| stage.id == kept.stage_id)?.format;
    let stage = format!("{}.{}", found.schema, found.called());
    let location = cell(format!("@{stage}/{}", definition.prefix));
    let (format_name, format) = match definition.format.clone().unwrap_or(of_stage) {
        StageFormat::Own(format) => (None, Some(format)),
        StageFormat::Named(written) => {
            let named = format_name(&written).and_then(|name| catalog.staged(DefinitionKind::FileFormat, &name, &home));
            let named = named.ok();
            let name = named.as_ref().map(|named| format!("{}.{}", named.schema, named.called()));
            (name, named.and_then(|named| named.file_format().ok()))
        }
    };
    let format_type = format.map(|format| format.file_type.as_str().to_owned());
    Some(ExternalSource { stage: cell(stage), location, format_name, format_type })
}
