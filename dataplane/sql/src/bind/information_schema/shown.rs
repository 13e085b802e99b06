//! SHOW and DESCRIBE.

use sqlparser::ast::{
    Expr, Ident, LimitClause, Query, ShowObjects, ShowStatementFilter, ShowStatementFilterPosition, ShowStatementIn,
    ShowStatementInParentType, ShowStatementOptions, Statement, Value,
};

use super::keys;
use super::listing::{self, ListedRelation};
use crate::ast::construct::construct;
use crate::ast::error::Error;
use crate::ast::names::TableName;
use crate::catalog::definition;
use crate::catalog::table::Column;
use crate::catalog::tables::{Catalog, SessionNames};
use crate::syntax::listing::{Listing, cell};

pub(super) fn show(tree: &Statement, catalog: &Catalog, session: &SessionNames) -> Result<Query, Error> {
    let (listing, options) = match tree {
        Statement::ShowTables { show_options, .. } => (relations(catalog, Some(false)), show_options),
        Statement::ShowViews { show_options, .. } => (relations(catalog, Some(true)), show_options),
        Statement::ShowObjects(ShowObjects { show_options, .. }) => (relations(catalog, None), show_options),
        Statement::ShowSchemas { show_options, .. } => (schemas(catalog, session), show_options),
        Statement::ShowDatabases { show_options, .. } => (databases(session), show_options),
        Statement::ShowColumns { show_options, .. } => (columns(catalog, session), show_options),
        Statement::ShowFunctions { filter } => {
            let mut query = functions(catalog).query()?;
            if let Some(filter) = filter {
                like(&mut query, filter, "name")?;
            }
            return Ok(query);
        }
        other => return Err(Error::unsupported(construct(other))),
    };
    let is_columns = matches!(tree, Statement::ShowColumns { .. });
    narrowed(listing, options, is_columns)
}

/// `SHOW <words>` of what the parser has no statement for.
pub(super) fn listed(words: &[Ident], catalog: &Catalog, session: &SessionNames) -> Result<Query, Error> {
    if let Some(within) = after(words, &["primary", "keys"]) {
        return keys::primary(within, catalog, session)?.query();
    }
    if let Some(within) = after(words, &["imported", "keys"]) {
        return keys::imported(within, catalog, session)?.query();
    }
    let words: Vec<&str> = words.iter().map(|word| word.value.as_str()).collect();
    let words = words.join(" ");
    let listing = match words.to_ascii_lowercase().as_str() {
        "sequences" => {
            let mut listing = Listing::new("name, schema_name");
            for one in listing::of_kind(catalog, definition::DefinitionKind::Sequence) {
                listing.add(vec![cell(&one.name), cell(&one.schema)]);
            }
            listing
        }
        "user functions" => functions(catalog),
        // there can be none, and drivers ask
        "procedures" | "user procedures" => Listing::new("created_on, name, schema_name, arguments"),
        "" => return Err(Error::unsupported("this form of SHOW")),
        _ => return Err(Error::unsupported(format!("SHOW {}", words.to_ascii_uppercase()))),
    };
    listing.query()
}

/// What stands behind these words.
fn after<'a>(written: &'a [Ident], words: &[&str]) -> Option<&'a [Ident]> {
    let (first, rest) = written.split_at_checked(words.len())?;
    let is = |(ident, word): (&Ident, &&str)| ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(word);
    first.iter().zip(words).all(is).then_some(rest)
}

fn relations(catalog: &Catalog, views: Option<bool>) -> Listing {
    let mut listing = Listing::new("created_on, name, schema_name, kind, comment");
    for ListedRelation { schema, name, is_view, is_external: _, comment } in listing::relations(catalog) {
        if views.is_none_or(|wanted| wanted == is_view) {
            let kind = if is_view { "VIEW" } else { "TABLE" };
            listing.add(vec![None, cell(name), cell(schema), cell(kind), cell(comment.unwrap_or_default())]);
        }
    }
    listing
}

fn schemas(catalog: &Catalog, session: &SessionNames) -> Listing {
    let mut listing = Listing::new("created_on, name, is_default, is_current");
    let mut schemas: Vec<String> = catalog.schemas().collect();
    schemas.push("information_schema".to_owned());
    schemas.sort();
    for schema in schemas {
        let is_current = session.search_path.first().is_some_and(|first| first.eq_ignore_ascii_case(&schema));
        let current = if is_current { "Y" } else { "N" };
        listing.add(vec![None, cell(schema), cell("N"), cell(current)]);
    }
    listing
}

/// The one there is: the environment.
fn databases(session: &SessionNames) -> Listing {
    let mut listing = Listing::new("created_on, name, is_default, is_current");
    listing.add(vec![None, cell(&session.database), cell("Y"), cell("Y")]);
    listing
}

fn columns(catalog: &Catalog, session: &SessionNames) -> Listing {
    let mut listing = Listing::new("table_name, schema_name, column_name, data_type, null?, kind, comment");
    for (schema, table, columns) in listing::with_columns(catalog, session) {
        for column in columns {
            let nullable = if column.nullable { "true" } else { "NOT_NULL" };
            listing.add(vec![
                cell(&table),
                cell(&schema),
                cell(&column.name),
                cell(listing::written(&column.type_name)),
                cell(nullable),
                cell("COLUMN"),
                cell(column.comment.unwrap_or_default()),
            ]);
        }
    }
    listing
}

fn functions(catalog: &Catalog) -> Listing {
    let mut listing = Listing::new("created_on, name, schema_name, language");
    for one in listing::of_kind(catalog, definition::DefinitionKind::Function) {
        listing.add(vec![None, cell(&one.name), cell(&one.schema), cell("SQL")]);
    }
    listing
}

/// LIKE, STARTS WITH, IN and LIMIT.
pub(super) fn narrowed(mut listing: Listing, options: &ShowStatementOptions, is_columns: bool) -> Result<Query, Error> {
    let ShowStatementOptions { show_in, starts_with, limit, limit_from, filter_position } = options;
    if limit_from.is_some() {
        return Err(Error::unsupported("FROM of SHOW"));
    }
    let name = if is_columns { "column_name" } else { "name" };
    if let Some(within) = show_in {
        self::within(&mut listing, within, is_columns)?;
    }
    if let Some(Value::SingleQuotedString(start)) = starts_with.as_ref().map(|start| &start.value) {
        listing.retain(name, |text| text.starts_with(start.as_str()));
    }
    let mut query = listing.query()?;
    match filter_position {
        None => {}
        Some(ShowStatementFilterPosition::Infix(filter) | ShowStatementFilterPosition::Suffix(filter)) => {
            like(&mut query, filter, name)?;
        }
    }
    if let Some(limit) = limit {
        let limit = Some(limit.clone());
        query.limit_clause = Some(LimitClause::LimitOffset { limit, offset: None, limit_by: Vec::new() });
    }
    Ok(query)
}

/// The case of names does not matter, as the warehouse has it.
fn like(query: &mut Query, filter: &ShowStatementFilter, name: &str) -> Result<(), Error> {
    let (ShowStatementFilter::Like(pattern)
    | ShowStatementFilter::ILike(pattern)
    | ShowStatementFilter::NoKeyword(pattern)) = filter
    else {
        return Err(Error::unsupported("WHERE of SHOW"));
    };
    let condition = Expr::ILike {
        negated: false,
        any: false,
        expr: Box::new(listing::column(name)),
        pattern: Box::new(Expr::value(Value::SingleQuotedString(pattern.clone()))),
        escape_char: None,
    };
    listing::keep(query, condition);
    Ok(())
}

/// `IN SCHEMA s`, `IN TABLE t`; a database is the one there is.
fn within(listing: &mut Listing, within: &ShowStatementIn, is_columns: bool) -> Result<(), Error> {
    use ShowStatementInParentType as Parent;
    let Some(name) = &within.parent_name else { return Ok(()) };
    let name = TableName::of(name).ok_or_else(|| Error::unsupported("this form of name"))?;
    let is = |wanted: &str| {
        let wanted = wanted.to_owned();
        move |text: &str| text.eq_ignore_ascii_case(&wanted)
    };
    match within.parent_type {
        Some(Parent::Account | Parent::Database) => {}
        Some(Parent::Table | Parent::View) => in_table(listing, &name, is),
        None if is_columns => in_table(listing, &name, is),
        Some(Parent::Schema) | None => listing.retain("schema_name", is(&name.name)),
    }
    Ok(())
}

fn in_table<F: Fn(&str) -> bool>(listing: &mut Listing, name: &TableName, is: impl Fn(&str) -> F) {
    if let Some(schema) = &name.schema {
        listing.retain("schema_name", is(schema));
    }
    listing.retain("table_name", is(&name.name));
}

pub(super) fn describe(tree: &Statement, catalog: &Catalog, session: &SessionNames) -> Result<Query, Error> {
    let Statement::ExplainTable { table_name, .. } = tree else {
        return Err(Error::unsupported(construct(tree)));
    };
    let name = TableName::of(table_name).ok_or_else(|| Error::unsupported("this form of table name"))?;
    let mut table = None;
    let found: Vec<Column> = if let Some(view) = catalog.defined(definition::DefinitionKind::View, &name, session) {
        session.shown(&view.schema, &view.name, &view.columns)
    } else {
        let found = table.insert(catalog.find(&name, session)?);
        session.shown(&found.schema, &found.name, &found.columns)
    };
    let is_key = |column: &Column| table.is_some_and(|table| table.is_key(&column.name));
    let mut listing = Listing::new(
        "name, type, kind, null?, default, primary key, unique key, check, expression, comment, policy name, \
        privacy domain",
    );
    for column in found {
        let nullable = if column.nullable && !is_key(&column) { "Y" } else { "N" };
        listing.add(vec![
            cell(&column.name),
            cell(listing::written(&column.type_name)),
            cell("COLUMN"),
            cell(nullable),
            None,
            cell(if is_key(&column) { "Y" } else { "N" }),
            cell("N"),
            None,
            None,
            column.comment,
            None,
            None,
        ]);
    }
    listing.query()
}
