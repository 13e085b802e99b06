//! Functions in FROM: one that answers one value is a table of one row, and lists stand beside one another.

use sqlparser::ast::{
    Expr, Function, FunctionArgumentList, FunctionArguments, Ident, SelectItem, SetExpr, TableAlias,
    TableAliasColumnDef, TableFactor, TableFunctionArgs,
};

use super::lower;
use crate::ast::call;
use crate::ast::expression::number;
use crate::functions::catalogue::{self, FunctionKind};
use crate::syntax::parse;

/// Functions of the catalogue that answer a table.
const TABLES: [&str; 6] = [
    "aclexplode",
    "generate_subscripts",
    "pg_available_extensions",
    "pg_get_keywords",
    "pg_options_to_table",
    "pg_partition_tree",
];

/// `FROM string_to_array('a,b', ',') s` reads the row of `SELECT string_to_array('a,b', ',')`.
pub(super) fn of_one_value(factor: &mut TableFactor) {
    let TableFactor::Table { name, alias, args: Some(TableFunctionArgs { args, .. }), with_ordinality, .. } = factor
    else {
        return;
    };
    let Some(called) = lower(name).and_then(|mut parts| parts.pop()) else { return };
    let over_vector = called == "generate_subscripts";
    let makes_rows = catalogue::find(&called).is_some_and(|known| known.is(FunctionKind::Table));
    let is_table =
        makes_rows || catalogue::is_table_function(&called) || TABLES.contains(&called.as_str()) && !over_vector;
    let Ok(mut subquery) = parse::query("SELECT 1") else { return };
    if is_table || *with_ordinality {
        return;
    }
    let list = FunctionArgumentList { duplicate_treatment: None, args: std::mem::take(args), clauses: Vec::new() };
    let function = Function { args: FunctionArguments::List(list), ..call::function(&[called.as_str()], []) };
    let name = alias.as_ref().map_or_else(|| crate::ast::names::quoted(&called), |alias| alias.name.clone());
    if let SetExpr::Select(select) = subquery.body.as_mut() {
        let expr = Expr::Function(function);
        select.projection = vec![SelectItem::ExprWithAlias { expr, alias: name.clone() }];
    }
    let mut alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: name.clone(),
        columns: Vec::new(),
        at: None,
    });
    if alias.columns.is_empty() {
        alias.columns.push(TableAliasColumnDef { name, data_type: None });
    }
    *factor = TableFactor::Derived { lateral: true, subquery, alias: Some(alias), sample: None };
}

/// `FROM unnest(a, b) WITH ORDINALITY t(x, y, n)` reads the rows of `SELECT unnest(a) AS x, unnest(b) AS y, …`: in FROM the
/// engine takes one list.
pub(super) fn of_lists(factor: &mut TableFactor) {
    let TableFactor::UNNEST { alias, array_exprs, with_ordinality, with_offset: false, .. } = factor else { return };
    let Ok(mut subquery) = parse::query("SELECT 1") else { return };
    if array_exprs.len() < 2 {
        return;
    }
    let mut lists = std::mem::take(array_exprs);
    if *with_ordinality {
        let lengths: Vec<_> = lists.iter().map(|list| call::call("len", [list.clone()])).collect();
        lists.push(call::call("generate_series", [number(1), call::call("greatest", lengths)]));
    }
    let named = alias.as_ref().map(|alias| alias.columns.as_slice()).unwrap_or_default();
    let column = |(place, list): (usize, Expr)| SelectItem::ExprWithAlias {
        expr: call::call("unnest", [list]),
        alias: named.get(place).map_or_else(|| Ident::new("unnest"), |column| column.name.clone()),
    };
    let columns = lists.into_iter().enumerate().map(column).collect();
    if let SetExpr::Select(select) = subquery.body.as_mut() {
        select.projection = columns;
    }
    *factor = TableFactor::Derived { lateral: true, subquery, alias: alias.take(), sample: None };
}
