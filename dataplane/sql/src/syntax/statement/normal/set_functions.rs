//! Functions that make rows, as PostgreSQL has them in FROM.
//!
//! `FROM generate_series(1, 3) n`: the one column is called as its alias. `FROM unnest(a, b)`: arrays beside one another,
//! as far as the longest of them, which the engine has in a select list alone.

use sqlparser::ast::{Select, SelectItem, SetExpr, TableFactor, TableFunctionArgs, TableWithJoins};

use crate::ast::call::{call, plain};
use crate::ast::error::Error;
use crate::ast::names::{self, column_by_alias, ours};

/// Functions of PostgreSQL that make rows of one column.
const SETS: [&str; 2] = ["generate_series", "generate_subscripts"];

pub(super) fn rewrite(select: &mut Select) -> Result<(), Error> {
    select.from.iter_mut().try_for_each(called)
}

fn called(table: &mut TableWithJoins) -> Result<(), Error> {
    relation(&mut table.relation)?;
    table.joins.iter_mut().try_for_each(|join| relation(&mut join.relation))
}

fn relation(relation: &mut TableFactor) -> Result<(), Error> {
    if let TableFactor::NestedJoin { table_with_joins, .. } = relation {
        return called(table_with_joins);
    }
    beside(relation)?;
    factor(relation);
    Ok(())
}

/// `unnest(a, b)` as `(SELECT unnest(a), unnest(b))`.
fn beside(factor: &mut TableFactor) -> Result<(), Error> {
    let TableFactor::Table { name, alias, args: Some(TableFunctionArgs { args, .. }), with_ordinality: false, .. } =
        factor
    else {
        return Ok(());
    };
    let is_unnest = names::single(name).is_some_and(|name| name.value.eq_ignore_ascii_case("unnest"));
    let arrays = args.iter().map(|argument| plain(argument).cloned());
    let Some(arrays) = arrays.collect::<Option<Vec<_>>>().filter(|arrays| is_unnest && arrays.len() > 1) else {
        return Ok(());
    };
    let mut query = crate::syntax::parse::query(&format!("SELECT * FROM (SELECT 1) AS \"{}\"", ours::ROWS))?;
    let SetExpr::Select(select) = query.body.as_mut() else { return Ok(()) };
    let Some(mut derived) = select.from.pop().map(|from| from.relation) else { return Ok(()) };
    if let TableFactor::Derived { subquery, alias: rows, .. } = &mut derived
        && let SetExpr::Select(select) = subquery.body.as_mut()
    {
        select.projection = arrays.into_iter().map(|array| SelectItem::UnnamedExpr(call("unnest", [array]))).collect();
        if alias.is_some() {
            *rows = alias.take();
        }
        *factor = derived;
    }
    Ok(())
}

fn factor(factor: &mut TableFactor) {
    let (TableFactor::Table { name, alias: Some(alias), args: Some(_), .. }
    | TableFactor::Function { name, alias: Some(alias), .. }) = factor
    else {
        return;
    };
    let is_set =
        names::single(name).is_some_and(|name| SETS.iter().any(|known| name.value.eq_ignore_ascii_case(known)));
    if is_set {
        column_by_alias(alias);
    }
}
