//! Rows of the catalogue, in the warehouse's shape.

use sqlparser::ast::{Expr, Query, SetExpr};

use crate::ast::names;
use crate::catalog::column_comment::length_named;
use crate::catalog::definition;
use crate::catalog::table::{Column, DefaultValue};
use crate::catalog::tables::{Catalog, SessionNames};
use crate::functions::types::Type;
use crate::syntax::listing::{Listing, cell};

/// A table or view.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListedRelation {
    pub schema: String,
    pub name: String,
    pub is_view: bool,
    /// Its rows are in files.
    pub is_external: bool,
    pub comment: Option<String>,
}

/// Everything that can be read, in order.
pub(super) fn relations(catalog: &Catalog) -> Vec<ListedRelation> {
    let tables = catalog.tables().map(|table| ListedRelation {
        schema: table.schema.clone(),
        name: table.name.clone(),
        is_view: false,
        is_external: table.is_external(),
        comment: table.comment.clone(),
    });
    let views = of_kind(catalog, definition::DefinitionKind::View).map(|view| ListedRelation {
        schema: view.schema.clone(),
        name: view.name.clone(),
        is_view: true,
        is_external: false,
        comment: view.comment.clone(),
    });
    let mut all: Vec<_> = tables.chain(views).collect();
    all.sort();
    all
}

pub(super) fn of_kind(
    catalog: &Catalog,
    kind: definition::DefinitionKind,
) -> impl Iterator<Item = std::sync::Arc<definition::Definition>> {
    catalog
        .definitions()
        .into_iter()
        .filter(move |definition| definition.kind == kind)
        .cloned()
        .collect::<Vec<_>>()
        .into_iter()
}

pub(super) fn tables(catalog: &Catalog) -> Listing {
    let mut listing =
        Listing::new("table_schema, table_name, table_owner, table_type, is_transient, is_insertable_into, comment");
    for ListedRelation { schema, name, is_view, is_external, comment } in relations(catalog) {
        let kind = match (is_view, is_external) {
            (true, _) => "VIEW",
            (false, true) => "EXTERNAL TABLE",
            (false, false) => "BASE TABLE",
        };
        let writable = if is_view || is_external { "NO" } else { "YES" };
        listing.add(vec![cell(schema), cell(name), None, cell(kind), cell("NO"), cell(writable), comment]);
    }
    listing
}

/// Tables alone: a view has no rows of its own. The schema has the engine's word and the one of `information_schema`.
pub(super) fn sizes(catalog: &Catalog, session: &SessionNames) -> Listing {
    let mut listing =
        Listing::new("schema_name, table_schema, table_name, comment, has_primary_key, estimated_size, column_count");
    let mut all: Vec<_> = catalog.tables().collect();
    all.sort_by(|one, other| (&one.schema, &one.name).cmp(&(&other.schema, &other.name)));
    for table in all {
        let columns = session.shown(&table.schema, &table.name, &table.columns).len();
        listing.add(vec![
            cell(&table.schema),
            cell(&table.schema),
            cell(&table.name),
            table.comment.clone(),
            cell(if table.primary_key.is_empty() { "NO" } else { "YES" }),
            session.rows_of(&table.schema, &table.name).map(|rows| rows.to_string()),
            cell(columns.to_string()),
        ]);
    }
    listing
}

pub(super) fn columns(catalog: &Catalog, session: &SessionNames) -> Listing {
    let mut listing = Listing::new(
        "table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, data_type, \
        character_maximum_length, character_octet_length, numeric_precision, numeric_precision_radix, numeric_scale, \
        comment",
    );
    for (schema, table, columns) in with_columns(catalog, session) {
        for (column, place) in columns.iter().zip(1_usize..) {
            let ListedType { word, length, precision, scale } = shape(&column.type_name);
            listing.add(vec![
                cell(&schema),
                cell(&table),
                cell(&column.name),
                cell(place.to_string()),
                default(column.default.as_ref()),
                cell(if column.nullable { "YES" } else { "NO" }),
                cell(word),
                length.clone(),
                length.map(|length| octets(word, &length)),
                precision.clone(),
                precision.map(|_| RADIX.to_owned()),
                scale,
                column.comment.clone(),
            ]);
        }
    }
    listing
}

/// A default as it is written; a column that counts has none.
fn default(value: Option<&DefaultValue>) -> Option<String> {
    match value? {
        DefaultValue::Expression(text) => Some(text.clone()),
        DefaultValue::Counted => None,
    }
}

/// Everything that has columns, in order.
pub(super) fn with_columns(catalog: &Catalog, session: &SessionNames) -> Vec<(String, String, Vec<Column>)> {
    let shown = |schema: &str, name: &str, columns: &[Column]| {
        (schema.to_owned(), name.to_owned(), session.shown(schema, name, columns))
    };
    let tables = catalog.tables().map(|table| shown(&table.schema, &table.name, &table.columns));
    let views =
        of_kind(catalog, definition::DefinitionKind::View).map(|view| shown(&view.schema, &view.name, &view.columns));
    let mut all: Vec<_> = tables.chain(views).collect();
    all.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
    all
}

pub(super) fn schemata(catalog: &Catalog) -> Listing {
    let mut listing = Listing::new("schema_name, schema_owner, comment");
    let mut schemas: Vec<String> = catalog.schemas().collect();
    schemas.push("information_schema".to_owned());
    schemas.sort();
    for schema in schemas {
        listing.add(vec![cell(schema), None, None]);
    }
    listing
}

pub(super) fn views(catalog: &Catalog, session: &SessionNames) -> Listing {
    let mut listing = Listing::new("table_schema, table_name, view_definition, is_updatable, is_secure");
    for view in of_kind(catalog, definition::DefinitionKind::View) {
        let is_secure = matches!(view.statement(), Ok(sqlparser::ast::Statement::CreateView(create)) if create.secure);
        // who may read a secure view may not read how it is made, and nobody reads of a table they may not see
        let text = if is_secure || names_unseen(&view, catalog, session) { None } else { cell(&view.text) };
        let secure = if is_secure { "YES" } else { "NO" };
        listing.add(vec![cell(&view.schema), cell(&view.name), text, cell("NO"), cell(secure)]);
    }
    listing
}

/// Does its statement name a table that is not in the catalog at hand, or one of which a column is denied?
fn names_unseen(one: &definition::Definition, catalog: &Catalog, session: &SessionNames) -> bool {
    let Ok(statement) = crate::syntax::parse::parse(&one.text) else { return true };
    let is_seen_in = |schema: &str, table: &crate::syntax::statement::TableUse| {
        let is_itself = table.name.eq_ignore_ascii_case(&one.name);
        let is_view = |view: &&std::sync::Arc<definition::Definition>| {
            view.schema.eq_ignore_ascii_case(schema) && view.name.eq_ignore_ascii_case(&table.name)
        };
        let is_there =
            is_itself || catalog.get(schema, &table.name).is_some() || catalog.definitions().iter().any(is_view);
        is_there && !session.denies_of(schema, &table.name)
    };
    // which schema of a path it was in is not told apart
    let is_seen = |table: &crate::syntax::statement::TableUse| match table.schema.as_deref() {
        Some(schema) => is_seen_in(schema, table),
        None => one.homes().all(|schema| is_seen_in(schema, table)),
    };
    !statement.tables().iter().all(is_seen)
}

pub(super) fn sequences(catalog: &Catalog) -> Listing {
    let mut listing = Listing::new("sequence_schema, sequence_name, data_type");
    for one in of_kind(catalog, definition::DefinitionKind::Sequence) {
        listing.add(vec![cell(&one.schema), cell(&one.name), cell("NUMBER")]);
    }
    listing
}

pub(super) fn functions(catalog: &Catalog, session: &SessionNames) -> Listing {
    let mut listing = Listing::new("function_schema, function_name, function_language, function_definition");
    for one in of_kind(catalog, definition::DefinitionKind::Function) {
        let text = if names_unseen(&one, catalog, session) { None } else { cell(&one.text) };
        listing.add(vec![cell(&one.schema), cell(&one.name), cell("SQL"), text]);
    }
    listing
}

/// A type in the warehouse's words.
pub(super) struct ListedType {
    pub word: &'static str,
    length: Option<String>,
    pub precision: Option<String>,
    pub scale: Option<String>,
}

/// What the digits of a number are counted in.
const RADIX: &str = "10";
const TEXT_CHARS: &str = "16777216";
const BYTES: &str = "8388608";

pub(super) fn shape(type_name: &str) -> ListedType {
    let plain = |word, length: Option<&str>| ListedType {
        word,
        length: length.map(str::to_owned),
        precision: None,
        scale: None,
    };
    match Type::of_name(type_name) {
        Type::Integer => number("38", "0"),
        Type::Decimal => {
            let sizes = type_name.split_once('(').map_or("", |(_, sizes)| sizes.trim_end_matches(')'));
            let (precision, scale) = sizes.split_once(',').unwrap_or(("38", "0"));
            number(precision.trim(), scale.trim())
        }
        Type::Double => plain("FLOAT", None),
        Type::Boolean => plain("BOOLEAN", None),
        Type::Date => plain("DATE", None),
        Type::Time => plain("TIME", None),
        Type::Timestamp => plain("TIMESTAMP_NTZ", None),
        Type::TimestampTz => plain("TIMESTAMP_TZ", None),
        Type::Blob => plain("BINARY", Some(BYTES)),
        Type::Json => plain("VARIANT", None),
        Type::List => plain("ARRAY", None),
        Type::Struct | Type::Map => plain("OBJECT", None),
        Type::Text | Type::Uuid | Type::Interval | Type::Unknown => {
            let length = length_named(type_name).map(|length| length.to_string());
            plain("TEXT", Some(length.as_deref().unwrap_or(TEXT_CHARS)))
        }
    }
}

fn number(precision: &str, scale: &str) -> ListedType {
    ListedType { word: "NUMBER", length: None, precision: cell(precision), scale: cell(scale) }
}

/// The bytes of a text of this length, four for a character; of bytes as many.
fn octets(word: &str, length: &str) -> String {
    match length.parse::<u64>() {
        Ok(chars) if word == "TEXT" && length != TEXT_CHARS => chars.saturating_mul(4).to_string(),
        _ => length.to_owned(),
    }
}

/// The type as DESCRIBE writes it: `NUMBER(38,0)`, `VARCHAR(16777216)`.
pub(super) fn written(type_name: &str) -> String {
    match shape(type_name) {
        ListedType { word: "NUMBER", precision: Some(precision), scale: Some(scale), .. } => {
            format!("NUMBER({precision},{scale})")
        }
        ListedType { word: "TEXT", length: Some(length), .. } => format!("VARCHAR({length})"),
        ListedType { word: "BINARY", .. } => format!("BINARY({BYTES})"),
        ListedType { word: word @ ("TIMESTAMP_NTZ" | "TIMESTAMP_TZ" | "TIME"), .. } => format!("{word}(9)"),
        ListedType { word, .. } => word.to_owned(),
    }
}

/// A condition on a listing's rows.
pub(super) fn keep(query: &mut Query, condition: Expr) {
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.selection = Some(match select.selection.take() {
            None => condition,
            Some(before) => Expr::BinaryOp {
                left: Box::new(before),
                op: sqlparser::ast::BinaryOperator::And,
                right: Box::new(condition),
            },
        });
    }
}

/// A column of a listing.
pub(super) fn column(name: &str) -> Expr {
    Expr::Identifier(names::quoted(name))
}
