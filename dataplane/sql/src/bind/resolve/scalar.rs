//! `FROM upper('x')`: a function that answers one value, as a table of one row, as in PostgreSQL.

use sqlparser::ast::{
    Function, FunctionArgumentList, FunctionArguments, SelectItem, SetExpr, Statement, TableFactor, TableFunctionArgs,
};

use crate::ast::error::Error;
use crate::ast::{call, names, try_change_factors};
use crate::dialect;
use crate::functions::catalogue::{self, Class};
use crate::syntax::parse;

/// Puts a query of one row in for each.
pub(super) fn rewrite(tree: &mut Statement) -> Result<(), Error> {
    try_change_factors(tree, of_one_row)
}

fn of_one_row(factor: &mut TableFactor) -> Result<(), Error> {
    let TableFactor::Table {
        name,
        alias,
        args: Some(TableFunctionArgs { args, settings: None }),
        version: None,
        with_ordinality: false,
        sample: None,
        ..
    } = factor
    else {
        return Ok(());
    };
    let Some(called) = names::single(name).filter(|called| is_scalar(&called.value.to_ascii_lowercase())) else {
        return Ok(());
    };
    let column = alias.as_ref().map_or_else(|| called.clone(), |alias| alias.name.clone());
    let list = FunctionArgumentList { duplicate_treatment: None, args: std::mem::take(args), clauses: Vec::new() };
    let function = Function { args: FunctionArguments::List(list), ..call::function(&[called.value.as_str()], []) };
    let mut subquery = parse::query("SELECT 1")?;
    if let SetExpr::Select(select) = subquery.body.as_mut() {
        let expr = sqlparser::ast::Expr::Function(function);
        select.projection = vec![SelectItem::ExprWithAlias { expr, alias: column.clone() }];
    }
    let mut alias = alias.take();
    if alias.is_none() {
        alias = Some(sqlparser::ast::TableAlias { explicit: true, name: column, columns: Vec::new(), at: None });
    }
    *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: None };
    Ok(())
}

/// Functions of the session, which the catalog answers.
const OF_SESSION: [&str; 4] = ["current_schema", "current_database", "current_user", "session_user"];

fn is_scalar(name: &str) -> bool {
    let is_known = dialect::class(name).is_some_and(|class| class != Class::Denied && class != Class::Write);
    OF_SESSION.contains(&name) || is_known && !catalogue::is_table_function(name) && !catalogue::is_aggregate(name)
}
