//! Columns of an answer that are of PostgreSQL's type `name`, which drivers read otherwise than `text`.

use sqlparser::ast::{
    ArrayElemTypeDef, DataType, Expr, Function, FunctionArguments, Query, SelectItem, SetExpr, Statement,
};

use super::relations::Sort;
use super::{hidden, lower};
use crate::ast::call::arguments;
use crate::ast::expression::selected;

const NAME: &str = "NAME";
const NAMES: &str = "NAME[]";

/// Their places and types, as far as no `*` stands before them.
pub(super) fn columns(tree: &Statement) -> Vec<(usize, &'static str)> {
    let Statement::Query(query) = tree else { return Vec::new() };
    let items = projection(query).iter().map_while(selected).enumerate();
    items.filter_map(|(place, expr)| Some((place, kind(expr)?))).collect()
}

fn projection(query: &Query) -> &[SelectItem] {
    match query.body.as_ref() {
        SetExpr::Select(select) => &select.projection,
        SetExpr::Query(inner) => projection(inner),
        _ => &[],
    }
}

fn kind(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::Nested(inner) => kind(inner),
        Expr::Subquery(query) => kind(projection(query).first().and_then(selected)?),
        Expr::Cast { data_type: DataType::Array(ArrayElemTypeDef::SquareBracket(of, None)), .. } => {
            is_name(of).then_some(NAMES)
        }
        Expr::Cast { data_type, .. } => is_name(data_type).then_some(NAME),
        Expr::Function(function) => array(function),
        _ => (hidden::sort(expr) == Some(Sort::Name)).then_some(NAME),
    }
}

/// `array_agg(relname)` and `ARRAY(SELECT relname …)`.
fn array(function: &Function) -> Option<&'static str> {
    let called = lower(&function.name)?.pop()?;
    let of = match &function.args {
        FunctionArguments::Subquery(query) if called == "array" => projection(query).first().and_then(selected)?,
        _ if called == "array_agg" => arguments(function).next()?,
        _ => return None,
    };
    (kind(of)? == NAME).then_some(NAMES)
}

fn is_name(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Custom(name, _) if lower(name).is_some_and(|parts| parts.last().is_some_and(|last| last == "name")))
}
