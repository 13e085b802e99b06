//! SHOW and DESCRIBE of stages and file formats.

use std::sync::Arc;

use sqlparser::ast::{ObjectName, Query, ShowObjects, Statement};

use super::{listing, shown};
use crate::ast::error::Error;
use crate::catalog::definition::{Definition, DefinitionKind};
use crate::catalog::file_format::FormatOptions;
use crate::catalog::stage::{FileEntry, Stage, StageFormat};
use crate::catalog::stage_location::StageLocation;
use crate::catalog::tables::{Catalog, SessionNames};
use crate::syntax::listing::{Listing, cell};
use crate::syntax::statement::Operation;

/// Options of COPY INTO as they are where a statement does not say them: name, type and value.
const COPY_OPTIONS: [(&str, &str, &str); 7] = [
    ("ON_ERROR", "String", "ABORT_STATEMENT"),
    ("SIZE_LIMIT", "Long", ""),
    ("PURGE", "Boolean", "false"),
    ("RETURN_FAILED_ONLY", "Boolean", "false"),
    ("ENFORCE_LENGTH", "Boolean", "true"),
    ("TRUNCATECOLUMNS", "Boolean", "false"),
    ("FORCE", "Boolean", "false"),
];

pub(super) fn listed(
    tree: &Statement,
    on: DefinitionKind,
    catalog: &Catalog,
    session: &SessionNames,
) -> Result<Query, Error> {
    match tree {
        Statement::ShowObjects(ShowObjects { show_options, .. }) => {
            let all = listing::of_kind(catalog, on);
            let listing = if on == DefinitionKind::Stage { stages(all)? } else { file_formats(all)? };
            shown::narrowed(listing, show_options, false)
        }
        Statement::ExplainTable { table_name, .. } => described(table_name, on, catalog, session)?.query(),
        _ => Err(Error::unsupported("this form of SHOW")),
    }
}

/// The files of a stage that are listed, or said to be removed.
pub(super) fn files(done: Operation, files: &[FileEntry]) -> Result<Query, Error> {
    let removes = done == Operation::Delete;
    let mut listing = Listing::new(if removes { "name, result" } else { "name, size, md5, last_modified" });
    for FileEntry { name, bytes, md5, last_modified } in files {
        let name = cell(name.as_str());
        listing.add(if removes {
            vec![name, cell("removed")]
        } else {
            vec![name, cell(bytes.to_string()), cell(md5.as_str()), cell(last_modified.as_str())]
        });
    }
    listing.query()
}

fn stages(all: impl Iterator<Item = Arc<Definition>>) -> Result<Listing, Error> {
    let mut listing = Listing::new(
        "created_on, name, schema_name, url, has_credentials, has_encryption_key, owner, comment, region, type, \
        cloud, notification_channel, storage_integration, endpoint, directory_enabled",
    );
    for one in all {
        let location = one.stage()?.location;
        let of_it = |told: fn(&StageLocation) -> &String| location.as_ref().map(|it| told(it).clone());
        listing.add(vec![
            None,
            cell(one.called()),
            cell(&one.schema),
            cell(of_it(|it| &it.url).unwrap_or_default()),
            cell("N"),
            cell("N"),
            None,
            cell(one.comment.as_deref().unwrap_or_default()),
            None,
            cell(if location.is_some() { "EXTERNAL" } else { "INTERNAL" }),
            location.as_ref().and_then(StageLocation::cloud).map(str::to_owned),
            None,
            of_it(|it| &it.integration),
            None,
            cell("N"),
        ]);
    }
    Ok(listing)
}

fn file_formats(all: impl Iterator<Item = Arc<Definition>>) -> Result<Listing, Error> {
    let mut listing = Listing::new("created_on, name, schema_name, type, owner, comment, format_options");
    for one in all {
        let format = one.file_format()?;
        listing.add(vec![
            None,
            cell(one.called()),
            cell(&one.schema),
            cell(format.file_type.as_str()),
            None,
            cell(one.comment.as_deref().unwrap_or_default()),
            cell(format.written()),
        ]);
    }
    Ok(listing)
}

fn described(
    name: &ObjectName,
    on: DefinitionKind,
    catalog: &Catalog,
    session: &SessionNames,
) -> Result<Listing, Error> {
    let found = catalog.staged(on, name, session)?;
    if on == DefinitionKind::FileFormat {
        let mut listing = Listing::new("property, property_type, property_value, property_default");
        properties(&found.file_format()?).for_each(|row| listing.add(row));
        return Ok(listing);
    }
    let mut listing = Listing::new("parent_property, property, property_type, property_value, property_default");
    let mut add = |parent: &str, row: Vec<_>| listing.add(std::iter::once(cell(parent)).chain(row).collect());
    let Stage { format, location, id: _ } = found.stage()?;
    match format {
        StageFormat::Own(format) => properties(&format).for_each(|row| add("STAGE_FILE_FORMAT", row)),
        StageFormat::Named(name) => {
            add("STAGE_FILE_FORMAT", vec![cell("FORMAT_NAME"), cell("String"), cell(name), cell("")]);
        }
    }
    for (name, kind, value) in COPY_OPTIONS {
        add("STAGE_COPY_OPTIONS", vec![cell(name), cell(kind), cell(value), cell(value)]);
    }
    let url = location.as_ref().map_or("", |location| location.url.as_str());
    add("STAGE_LOCATION", vec![cell("URL"), cell("String"), cell(url), cell("")]);
    if let Some(location) = &location {
        let integration = cell(location.integration.as_str());
        add("STAGE_INTEGRATION", vec![cell("STORAGE_INTEGRATION"), cell("String"), integration, cell("")]);
    }
    add("DIRECTORY", vec![cell("ENABLE"), cell("Boolean"), cell("false"), cell("false")]);
    Ok(listing)
}

fn properties(format: &FormatOptions) -> impl Iterator<Item = Vec<Option<String>>> {
    let all = format.properties().into_iter();
    all.map(|one| vec![cell(one.name), cell(one.kind), cell(one.value), cell(one.default)])
}
