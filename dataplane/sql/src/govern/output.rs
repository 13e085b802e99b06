//! The answer's masked columns as text.
//!
//! Inside the query a masked number is a typed NULL, so that `avg(salary)` still runs; in the answer a
//! masked column is text: `***` or NULL. Only the select list of the outermost query changes.

use sqlparser::ast::{CastKind, DataType, Expr, Ident, Query, Select, SelectItem, SetExpr, Statement, Value};

use super::lineage::{Base, Lineage, Output};
use super::{Mask, Scan};
use crate::call::call;
use crate::error::Error;
use crate::names;

/// Rewrites what must be and answers the places of all masked columns.
pub(super) fn as_text(tree: &mut Statement, scans: &[Scan], found: &Lineage) -> Result<Vec<usize>, Error> {
    let (Statement::Query(query), Some(outputs)) = (tree, &found.outputs) else {
        return Ok(Vec::new());
    };
    let masked: Vec<usize> =
        outputs.iter().enumerate().filter(|(_, output)| output.direct.is_some()).map(|(i, _)| i).collect();
    if outputs.iter().any(|output| mask_of(output, scans).is_some()) {
        rewrite(query, outputs, scans)?;
    }
    Ok(masked)
}

/// The mask of a column whose values are typed NULLs inside the query.
fn mask_of(output: &Output, scans: &[Scan]) -> Option<Mask> {
    let (scan, column): Base = output.direct?;
    let column = scans.get(scan)?.columns.get(column)?;
    column.mask.filter(|mask| !column.is_text && matches!(mask, Mask::Full | Mask::Null))
}

/// Puts a select list around the query whose columns the query names by place.
fn rewrite(query: &mut Box<Query>, outputs: &[Output], scans: &[Scan]) -> Result<(), Error> {
    if let SetExpr::Select(select) = query.body.as_mut()
        && select.projection.len() == outputs.len()
        && select.projection.iter().all(is_one_column)
    {
        for (item, output) in select.projection.iter_mut().zip(outputs) {
            in_place(item, output, scans);
        }
        return Ok(());
    }
    around(query, outputs, scans)
}

fn is_one_column(item: &SelectItem) -> bool {
    matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
}

fn in_place(item: &mut SelectItem, output: &Output, scans: &[Scan]) {
    let Some(mask) = mask_of(output, scans) else {
        return;
    };
    let (expr, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr.clone(), names::quoted(&output.name)),
        SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), alias.clone()),
        _ => return,
    };
    *item = SelectItem::ExprWithAlias { expr: text_of(expr, mask), alias };
}

/// `SELECT "_1" AS "id", CAST("_2" AS VARCHAR) AS "salary" FROM (<query>) AS "_answer"("_1", "_2")`.
/// The engine keeps the order of a subquery's rows.
fn around(query: &mut Box<Query>, outputs: &[Output], scans: &[Scan]) -> Result<(), Error> {
    let place = |i: usize| names::quoted(&format!("_{}", i + 1));
    let list: Vec<SelectItem> = outputs
        .iter()
        .enumerate()
        .map(|(i, output)| {
            let column = Expr::Identifier(place(i));
            let expr = mask_of(output, scans).map_or_else(|| column.clone(), |mask| text_of(column.clone(), mask));
            SelectItem::ExprWithAlias { expr, alias: names::quoted(&output.name) }
        })
        .collect();
    let mut outer = crate::parse::query("SELECT 1 FROM (SELECT 1) AS \"_answer\"")?;
    let SetExpr::Select(select) = outer.body.as_mut() else {
        return Err(Error::unsupported("this query"));
    };
    wrap(select, list, std::mem::replace(query, crate::parse::query("SELECT 1")?), outputs.len(), place)?;
    *query = outer;
    Ok(())
}

fn wrap(
    select: &mut Select,
    list: Vec<SelectItem>,
    inner: Box<Query>,
    count: usize,
    place: impl Fn(usize) -> Ident,
) -> Result<(), Error> {
    use sqlparser::ast::{TableAliasColumnDef, TableFactor};
    select.projection = list;
    let Some(TableFactor::Derived { subquery, alias: Some(alias), .. }) =
        select.from.first_mut().map(|table| &mut table.relation)
    else {
        return Err(Error::unsupported("this query"));
    };
    *subquery = inner;
    alias.columns = (0..count).map(|i| TableAliasColumnDef { name: place(i), data_type: None }).collect();
    Ok(())
}

/// The value as text: NULL, or the whole mask for whatever is NULL.
fn text_of(expr: Expr, mask: Mask) -> Expr {
    let text =
        Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type: DataType::Varchar(None), format: None };
    if mask == Mask::Null {
        return text;
    }
    let stars = Expr::Value(Value::SingleQuotedString("***".to_owned()).into());
    call("coalesce", [text, stars])
}
