//! Questions about PostgreSQL's own catalogue, in PostgreSQL's words: what psql, drivers and BI tools ask.
//!
//! A statement is such a question when all it reads is `pg_catalog` and `information_schema`. It is never run where
//! data is: the text made here is for a database in memory that holds only the names its caller may see, and there
//! `pg_catalog.pg_class` is a plain table `pg_class`. What PostgreSQL's grammar has and the engine's has not
//! (`OPERATOR(pg_catalog.~)`, `'t'::regclass`, `COLLATE pg_catalog.default`) is written in the engine's words.

mod hidden;
mod label;
mod named;
mod relations;
mod rewrite;
mod table_function;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query, Statement,
    TableFactor, Value, Visitor,
};

pub use relations::{CatalogRelation, RelationKind, Sort, relations};

use crate::ast::error::Error;
use crate::ast::{Visit, VisitMut, any_expression, names};
use crate::bind::resolve::callable;
use crate::catalog::information_schema::InformationTable;
use crate::dialect;
use crate::functions::{catalogue, widths};
use crate::syntax::{lex, parse};

pub(crate) const CATALOG: &str = "pg_catalog";
pub(crate) const INFORMATION: &str = "information_schema";

/// Columns that the warehouse's `information_schema` does not have.
const POSTGRES_COLUMNS: [&str; 20] = [
    "table_catalog",
    "catalog_name",
    "udt_catalog",
    "udt_schema",
    "udt_name",
    "character_octet_length",
    "numeric_precision_radix",
    "datetime_precision",
    "interval_type",
    "is_identity",
    "identity_generation",
    "is_generated",
    "generation_expression",
    "dtd_identifier",
    "sequence_catalog",
    "start_value",
    "minimum_value",
    "maximum_value",
    "increment",
    "cycle_option",
];

/// Functions that tell of the catalogue and do not begin with `pg_`.
const FUNCTIONS: [&str; 15] = [
    "format_type",
    "obj_description",
    "col_description",
    "shobj_description",
    "quote_ident",
    "quote_literal",
    "quote_nullable",
    "to_regclass",
    "to_regtype",
    "has_table_privilege",
    "has_schema_privilege",
    "has_database_privilege",
    "current_setting",
    "set_config",
    "current_schemas",
];

/// A question, ready for the database that answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresQuery {
    pub sql: String,
    /// Columns of the answer, by place, that are of PostgreSQL's `name` or arrays of it, with the type's name.
    pub named: Vec<(usize, &'static str)>,
}

/// The question that a statement asks about PostgreSQL's catalogue; nothing when it asks something else, or cannot
/// be read: then it is the pipeline's, with its errors.
pub fn question(text: &str, database: &str) -> Option<PostgresQuery> {
    if !may_be_one(text) {
        return None;
    }
    let mut tree = read(text).ok()?;
    let mut found = CatalogUse { database, ..CatalogUse::default() };
    if Visit::visit(&tree, &mut found).is_break() || !found.is_question() || is_misprinted(&tree) || makes_much(&tree) {
        return None;
    }
    let named = named::columns(&tree);
    let mut rewriter = rewrite::Rewriter::new(&found.made);
    let _ = VisitMut::visit(&mut tree, &mut rewriter);
    label::label(&mut tree);
    Some(PostgresQuery { sql: tree.to_string(), named })
}

/// The parser's printer takes a quote behind a backslash, and two beside one another, for ones that are doubled already.
fn is_misprinted(tree: &Statement) -> bool {
    let again = lex::tokens(&tree.to_string()).and_then(parse::postgres);
    !again.is_ok_and(|again| again == *tree)
}

/// Whether a call may make more than the pipeline would let it: its sizes must be small literals. A series may be as
/// long as something in the catalogue.
fn makes_much(tree: &Statement) -> bool {
    let is_literal = |arg: &FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(_))));
    any_expression(tree, |expr| {
        let Expr::Function(function) = expr else { return false };
        let name = names::last(&function.name).map_or("", |name| name.value.as_str());
        let FunctionArguments::List(list) = &function.args else { return false };
        let is_series = catalogue::is_table_function(name);
        let mut sizes = catalogue::sizes(name).iter().filter_map(|place| list.args.get(*place));
        let is_much = sizes.any(|size| !callable::is_bounded(size) && (!is_series || is_literal(size)));
        is_much || catalogue::has_widths(name) && !has_small_widths(name, list.args.first())
    })
}

fn has_small_widths(name: &str, text: Option<&FunctionArg>) -> bool {
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(text)))) = text else { return false };
    let Value::SingleQuotedString(text) = &text.value else { return false };
    widths::asked(name, text).is_some_and(|asked| asked <= catalogue::GENERATED_MAX)
}

/// Most statements are told from a few letters.
fn may_be_one(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["pg_", INFORMATION, "regclass", "regtype", "regproc", "regrole", "regnamespace"]
        .iter()
        .any(|sign| text.contains(sign))
        || FUNCTIONS.iter().any(|name| text.contains(name))
}

fn read(text: &str) -> Result<Statement, Error> {
    let tokens = lex::tokens(text)?;
    match parse::postgres(tokens)? {
        tree @ Statement::Query(_) => Ok(tree),
        _ => Err(Error::unsupported("this statement about the catalogue")),
    }
}

/// Relations that a statement reads, and functions that it calls.
#[derive(Default)]
struct CatalogUse<'a> {
    database: &'a str,
    /// Names that `WITH` makes, anywhere.
    made: BTreeSet<String>,
    /// Tables read, by their last name, and whether only PostgreSQL has them.
    read: Vec<(String, bool)>,
    /// A function or type that only PostgreSQL's catalogue knows.
    is_postgres: bool,
    /// A column that only PostgreSQL's `information_schema` has.
    names_column: bool,
}

impl CatalogUse<'_> {
    fn is_question(&self) -> bool {
        let is_made = |name: &String| self.made.contains(name);
        let mut read = self.read.iter().filter(|(name, _)| !is_made(name)).peekable();
        match read.peek() {
            None => self.is_postgres,
            Some(_) => self.is_postgres || self.names_column || read.any(|(_, only)| *only),
        }
    }

    /// The table's last name, and whether only PostgreSQL has it; nothing for what is no catalogue.
    fn table(&self, name: &ObjectName) -> Option<(String, bool)> {
        let mut parts = lower(name)?;
        if parts.len() == 3 && parts.first().is_some_and(|first| first.eq_ignore_ascii_case(self.database)) {
            parts.remove(0);
        }
        match parts.as_slice() {
            [name] if self.made.contains(name) || relations::is_known(CATALOG, name) => {
                Some((name.clone(), !self.made.contains(name)))
            }
            [schema, name] if schema == CATALOG => Some((name.clone(), true)),
            [schema, name] if schema == INFORMATION => Some((name.clone(), InformationTable::of(name).is_none())),
            _ => None,
        }
    }
}

impl Visitor for CatalogUse<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let made = query.with.iter().flat_map(|with| &with.cte_tables);
        self.made.extend(made.map(|cte| cte.alias.name.value.to_ascii_lowercase()));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, args: None, .. } => match self.table(name) {
                Some(read) => self.read.push(read),
                None => return ControlFlow::Break(()),
            },
            TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } => {
                self.is_postgres |= is_postgres_function(name);
            }
            TableFactor::Derived { .. } | TableFactor::NestedJoin { .. } | TableFactor::UNNEST { .. } => {}
            _ => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => self.is_postgres |= is_postgres_function(&function.name),
            Expr::Cast { data_type, .. } => self.is_postgres |= rewrite::registered(data_type).is_some(),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<()> {
        self.names_column |= POSTGRES_COLUMNS.iter().any(|column| ident.value.eq_ignore_ascii_case(column));
        ControlFlow::Continue(())
    }
}

/// One that the pipeline would not run.
fn is_postgres_function(name: &ObjectName) -> bool {
    let Some(parts) = lower(name) else { return false };
    match parts.as_slice() {
        [schema, _] => schema == CATALOG || schema == INFORMATION,
        [name] => {
            let told = name.starts_with("pg_") || FUNCTIONS.contains(&name.as_str());
            told && dialect::class(name).is_none_or(|class| class == catalogue::Class::Denied)
        }
        _ => false,
    }
}

/// A name's parts in lower case.
fn lower(name: &ObjectName) -> Option<Vec<String>> {
    let part = |part: &ObjectNamePart| part.as_ident().map(|ident| ident.value.to_ascii_lowercase());
    name.0.iter().map(part).collect()
}

#[cfg(test)]
mod tests;
