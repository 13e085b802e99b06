//! `OBJECT_CONSTRUCT(*)` is of the row of the one table there is, by its name, as `OBJECT_CONSTRUCT(t.*)` is, and `HASH(*)`
//! is of that object. `COUNT(t.*)` counts the rows of which no column is NULL.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Select, TableFactor};

use crate::ast::call::call;
use crate::ast::outside::Outside;
use crate::ast::{names, outer_first, quote};

/// What makes an object of a row.
const OBJECTS: [&str; 2] = ["object_construct", "object_construct_keep_null"];

pub(super) fn rewrite(select: &mut Select) {
    let [table] = select.from.as_slice() else {
        return;
    };
    let name = match &table.relation {
        TableFactor::Table { alias: None, name, .. } => names::last(name),
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(&alias.name)
        }
        _ => None,
    };
    let (true, Some(name)) = (table.joins.is_empty(), name.cloned()) else {
        return;
    };
    let mut rows = outer_first(|expr| {
        of_row(expr, &name);
        ControlFlow::Continue(())
    });
    let _: ControlFlow<()> = Outside::of(&mut rows).of_select(select);
}

fn of_row(expr: &mut Expr, table: &Ident) {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else { return };
    let called = names::single(name).map(|name| name.value.to_ascii_lowercase()).unwrap_or_default();
    if let [argument] = list.args.as_mut_slice()
        && is_row(argument, table)
    {
        let row = Expr::Identifier(table.clone());
        if OBJECTS.contains(&called.as_str()) {
            *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(row));
        } else if called == "count" && list.duplicate_treatment.is_none() {
            if let (FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_)), Some(whole)) =
                (&*argument, without_null(table))
            {
                *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(whole));
            }
        } else if called == "hash" {
            *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(call("object_construct_keep_null", [row])));
        }
    }
}

/// Something where all columns of a row have a value; an object leaves those out that have none.
fn without_null(table: &Ident) -> Option<Expr> {
    let table = quote::name(&table.value);
    crate::syntax::parse::expression(&format!(
        "CASE WHEN array_size(object_keys(object_construct({table}))) \
         = array_size(object_keys(object_construct_keep_null({table}))) THEN 1 END"
    ))
    .ok()
}

/// `*`, or `t.*` of the table of this name.
fn is_row(argument: &FunctionArg, table: &Ident) -> bool {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => true,
        FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => {
            names::single(name).is_some_and(|name| name.value.eq_ignore_ascii_case(&table.value))
        }
        _ => false,
    }
}
