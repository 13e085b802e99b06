//! The answer's masked columns as text.
//!
//! Inside the query a masked number is a typed NULL, so that `avg(salary)` still runs; in the answer a
//! masked column is text: `***` or NULL. Only the select list of the outermost query changes.

use std::collections::HashMap;

use contract::policy::MaskFunction;
use sqlparser::ast::{Expr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, Statement};

use super::lineage::{Base, Lineage, Output};
use crate::ast::call::call;
use crate::ast::error::Error;
use crate::ast::expression::{self, text};
use crate::ast::names::{self, ours};
use crate::ast::{Visit, each_expression};
use crate::scan::{Mask, Scan};

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
fn mask_of(output: &Output, scans: &[Scan]) -> Option<MaskFunction> {
    let (scan, column): Base = output.direct?;
    let column = scans.get(scan)?.column(column)?;
    let mask = column.mask.filter(|mask| *mask != Mask::Denied)?.function();
    (!column.is_text() && !mask.traits().makes_text).then_some(mask)
}

/// Puts a select list around the query whose columns the query names by place.
fn rewrite(query: &mut Box<Query>, outputs: &[Output], scans: &[Scan]) -> Result<(), Error> {
    if !is_asked_again(query, outputs, scans)
        && let SetExpr::Select(select) = query.body.as_mut()
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

/// Whether the query names or counts a column that becomes text beside selecting it: there it is no text yet.
fn is_asked_again(query: &Query, outputs: &[Output], scans: &[Scan]) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let is_counted = query.order_by.as_ref().is_some_and(|order_by| match &order_by.kind {
        OrderByKind::All(_) => true,
        OrderByKind::Expressions(keys) => keys.iter().any(|key| matches!(key.expr, Expr::Value(_))),
    });
    let mut mentions = Mentions::of(query);
    let mut own = select.projection.iter().zip(outputs).filter(|(_, output)| mask_of(output, scans).is_some());
    for (item, output) in own.clone() {
        mentions.without(&output.name, item);
    }
    is_counted || own.any(|(_, output)| mentions.has(&output.name))
}

/// How often names stand in expressions.
#[derive(Default)]
struct Mentions(HashMap<String, usize>);

impl Mentions {
    fn of<T: Visit>(part: &T) -> Self {
        let mut mentions = Self::default();
        each_expression(part, |expr| {
            let ident = match expr {
                Expr::Identifier(ident) => Some(ident),
                Expr::CompoundIdentifier(path) => path.first(),
                _ => None,
            };
            if let Some(ident) = ident {
                *mentions.0.entry(ident.value.to_lowercase()).or_default() += 1;
            }
        });
        mentions
    }

    /// Leaves out those of this name in an item.
    fn without(&mut self, name: &str, item: &SelectItem) {
        let name = name.to_lowercase();
        let own = Self::of(item).0.get(&name).copied().unwrap_or_default();
        if let Some(count) = self.0.get_mut(&name) {
            *count = count.saturating_sub(own);
        }
    }

    fn has(&self, name: &str) -> bool {
        self.0.get(&name.to_lowercase()).is_some_and(|count| *count > 0)
    }
}

/// Whether it is neither `*` nor anything else that is several.
pub(super) fn is_one_column(item: &SelectItem) -> bool {
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

/// `SELECT first AS "id", CAST(second AS VARCHAR) AS "salary" FROM (<query>) AS answer(first, second)`.
/// The engine keeps the order of a subquery's rows.
fn around(query: &mut Box<Query>, outputs: &[Output], scans: &[Scan]) -> Result<(), Error> {
    let place = |i: usize| names::quoted(&ours::place(i));
    let list: Vec<SelectItem> = outputs
        .iter()
        .enumerate()
        .map(|(i, output)| {
            let column = Expr::Identifier(place(i));
            let expr = mask_of(output, scans).map_or_else(|| column.clone(), |mask| text_of(column.clone(), mask));
            SelectItem::ExprWithAlias { expr, alias: names::quoted(&output.name) }
        })
        .collect();
    let mut outer = crate::syntax::parse::query(&format!("SELECT 1 FROM (SELECT 1) AS \"{}\"", ours::ANSWER))?;
    let SetExpr::Select(select) = outer.body.as_mut() else {
        return Err(Error::unsupported("this query"));
    };
    wrap(select, list, std::mem::replace(query, crate::syntax::parse::query("SELECT 1")?), outputs.len(), place)?;
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
fn text_of(expr: Expr, mask: MaskFunction) -> Expr {
    let as_text = expression::as_text(expr);
    let Some(shown) = mask.traits().in_answers else {
        return as_text;
    };
    call("coalesce", [as_text, text(shown)])
}
