//! Functions in FROM: one that answers one value is a table of one row.

use sqlparser::ast::{
    Function, FunctionArgumentList, FunctionArguments, SelectItem, SetExpr, TableAlias, TableAliasColumnDef,
    TableFactor, TableFunctionArgs,
};

use super::lower;
use crate::ast::call;
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
        let expr = sqlparser::ast::Expr::Function(function);
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
