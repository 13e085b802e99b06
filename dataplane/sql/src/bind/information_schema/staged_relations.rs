//! `information_schema.stages`, `file_formats` and `external_tables`, with the warehouse's documented columns.

use super::external::{ExternalSource, external_tables, source};
use super::listing;
use crate::ast::error::Error;
use crate::catalog::definition::DefinitionKind;
use crate::catalog::tables::{Catalog, SessionNames};
use crate::syntax::listing::{Listing, cell};

pub(super) fn stages(catalog: &Catalog) -> Result<Listing, Error> {
    let mut listing = Listing::new(
        "stage_schema, stage_name, stage_url, stage_region, stage_type, stage_owner, comment, created, last_altered, \
        endpoint, storage_integration",
    );
    for one in listing::of_kind(catalog, DefinitionKind::Stage) {
        let location = one.stage()?.location;
        let kind = if location.is_some() { "External Named" } else { "Internal Named" };
        let (url, integration) = location.map(|location| (location.url, location.integration)).unzip();
        let head = [cell(&one.schema), cell(one.called()), url, None, cell(kind), None];
        let comment = one.comment.clone();
        listing.add(head.into_iter().chain([comment, None, None, None, integration]).collect());
    }
    Ok(listing)
}

pub(super) fn file_formats(catalog: &Catalog) -> Result<Listing, Error> {
    /// The options that have a column.
    const OPTIONS: [&str; 14] = [
        "RECORD_DELIMITER",
        "FIELD_DELIMITER",
        "SKIP_HEADER",
        "DATE_FORMAT",
        "TIME_FORMAT",
        "TIMESTAMP_FORMAT",
        "BINARY_FORMAT",
        "ESCAPE",
        "ESCAPE_UNENCLOSED_FIELD",
        "TRIM_SPACE",
        "FIELD_OPTIONALLY_ENCLOSED_BY",
        "NULL_IF",
        "COMPRESSION",
        "ERROR_ON_COLUMN_COUNT_MISMATCH",
    ];
    let mut listing = Listing::new(
        "file_format_schema, file_format_name, file_format_owner, file_format_type, record_delimiter, field_delimiter, \
        skip_header, date_format, time_format, timestamp_format, binary_format, escape, escape_unenclosed_field, \
        trim_space, field_optionally_enclosed_by, null_if, compression, error_on_column_count_mismatch, created, \
        last_altered, comment",
    );
    for one in listing::of_kind(catalog, DefinitionKind::FileFormat) {
        let format = one.file_format()?;
        let known = format.properties();
        let options =
            OPTIONS.map(|name| known.iter().find(|option| option.name == name).map(|option| option.value.clone()));
        let head = [cell(&one.schema), cell(one.called()), None, cell(format.file_type.as_str())];
        listing.add(head.into_iter().chain(options).chain([None, None, one.comment.clone()]).collect());
    }
    Ok(listing)
}

pub(super) fn of_external(catalog: &Catalog, session: &SessionNames) -> Listing {
    let mut listing = Listing::new(
        "table_schema, table_name, table_owner, created, last_altered, comment, location, file_format_name, \
        file_format_type",
    );
    for table in external_tables(catalog) {
        let ExternalSource { stage: _, location, format_name, format_type } =
            source(table, catalog, session).unwrap_or_default();
        let head = [cell(&table.schema), cell(&table.name), None, None, None];
        listing.add(head.into_iter().chain([table.comment.clone(), location, format_name, format_type]).collect());
    }
    listing
}
