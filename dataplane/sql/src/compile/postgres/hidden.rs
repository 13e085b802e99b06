//! System columns of PostgreSQL's tables: `tableoid`, a column of every table that `*` leaves out, and
//! columns that hold the id of a function and are read as its name.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use sqlparser::ast::{
    DataType, Expr, Function, Ident, ObjectName, Select, SelectItem, TableFactor, TableWithJoins, Value,
};

use super::relations::{self, Sort, relations};
use super::{CATALOG, lower};
use crate::ast::call::arguments;
use crate::ast::names::column;

const TABLE_ID: &str = "tableoid";
/// Columns of every table that tell which transactions made a row and ended it, with their values for one that stays.
const TRANSACTIONS: [(&str, &str); 4] = [("xmin", "2"), ("xmax", "0"), ("cmin", "0"), ("cmax", "0")];

/// What columns hold, by their names: no two tables differ in that.
static COLUMNS: LazyLock<HashMap<&str, Sort>> = LazyLock::new(|| {
    let own = relations().filter(|relation| relation.schema == CATALOG);
    own.flat_map(|relation| relation.columns()).collect()
});

pub(super) fn sort(expr: &Expr) -> Option<Sort> {
    column(expr).and_then(|name| COLUMNS.get(name.value.to_ascii_lowercase().as_str()).copied())
}

/// Is it a column that holds the id of a function?
pub(super) fn is_proc(expr: &Expr) -> bool {
    sort(expr) == Some(Sort::Proc)
}

/// Is it a column of PostgreSQL's type `int2vector` or `oidvector`, which count from 0?
pub(super) fn is_vector(expr: &Expr) -> bool {
    const VECTORS: [&str; 7] =
        ["indkey", "indclass", "indcollation", "indoption", "proargtypes", "partattrs", "tgattr"];
    match expr {
        // an array that is made of a vector counts on as it did
        Expr::Nested(inner) | Expr::Cast { expr: inner, data_type: DataType::Array(_), .. } => is_vector(inner),
        _ => column(expr).is_some_and(|name| VECTORS.iter().any(|vector| name.value.eq_ignore_ascii_case(vector))),
    }
}

/// Is it a function that answers places of such a vector?
pub(super) fn counts_in_vector(function: &Function) -> bool {
    const PLACES: [&str; 3] = ["array_lower", "array_upper", "generate_subscripts"];
    let is_one =
        lower(&function.name).and_then(|mut parts| parts.pop()).is_some_and(|name| PLACES.contains(&name.as_str()));
    is_one && arguments(function).next().is_some_and(is_vector)
}

/// The engine's type of a column's values.
pub(super) fn item(expr: &Expr) -> Option<&'static str> {
    Some(match sort(expr)? {
        Sort::Oid | Sort::Proc | Sort::Int => "bigint",
        Sort::Text | Sort::Name => "varchar",
        Sort::Float | Sort::Bool | Sort::Time | Sort::Ints | Sort::Texts => return None,
    })
}

/// The relations of one SELECT: by the name there, the id of the table if PostgreSQL has one.
#[derive(Debug, Default)]
pub(super) struct SelectScope(Vec<(String, Option<u32>)>);

impl SelectScope {
    pub fn of(select: &Select, made: &BTreeSet<String>) -> Self {
        let factors = select.from.iter().flat_map(|TableWithJoins { relation, joins }| {
            std::iter::once(relation).chain(joins.iter().map(|join| &join.relation))
        });
        Self(factors.filter_map(|factor| named(factor, made)).collect())
    }
}

fn named(factor: &TableFactor, made: &BTreeSet<String>) -> Option<(String, Option<u32>)> {
    let (name, alias) = match factor {
        TableFactor::Table { name, alias, args: None, .. } => (Some(name), alias),
        TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => (None, alias),
        _ => return None,
    };
    let called = match alias {
        Some(alias) => alias.name.value.to_ascii_lowercase(),
        None => lower(name?)?.pop()?,
    };
    Some((called, name.and_then(|name| id(name, made))))
}

fn id(name: &ObjectName, made: &BTreeSet<String>) -> Option<u32> {
    let parts = lower(name)?;
    let (last, schema) = (parts.last()?, parts.iter().rev().nth(1));
    if schema.is_none() && made.contains(last) {
        return None;
    }
    relations::id(schema.map_or(CATALOG, String::as_str), last)
}

/// `c.tableoid` is the id of the table that `c` stands for, in the nearest scope that has it; `c.xmin` says that the row
/// was there before every transaction.
pub(super) fn table_id(expr: &Expr, scopes: &[SelectScope]) -> Option<Expr> {
    let (name, id) = match expr {
        Expr::Identifier(name) if is_hidden(name) => match scopes.last()?.0.as_slice() {
            [(_, id)] => (name, *id),
            _ => return None,
        },
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [table, name] if is_hidden(name) => {
                let table = table.value.to_ascii_lowercase();
                let mut found = scopes.iter().rev().flat_map(|scope| &scope.0);
                (name, found.find(|(called, _)| *called == table).and_then(|(_, id)| *id))
            }
            _ => return None,
        },
        _ => return None,
    };
    let id = id?.to_string();
    let known = TRANSACTIONS.iter().find(|(known, _)| name.value.eq_ignore_ascii_case(known));
    Some(Expr::value(Value::Number(known.map_or(id, |(_, value)| (*value).to_owned()), false)))
}

fn is_hidden(name: &Ident) -> bool {
    let mut known = TRANSACTIONS.iter().map(|(known, _)| *known).chain([TABLE_ID]);
    known.any(|known| name.value.eq_ignore_ascii_case(known))
}

/// Columns keep their names when something else is put in for them.
pub(super) fn keep_names(select: &mut Select) {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && let Some(name) = column(expr).filter(|name| is_hidden(name) || is_proc(expr) || is_vector(expr))
        {
            let alias = Ident::with_quote('"', name.value.to_ascii_lowercase());
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}
