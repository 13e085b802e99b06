//! Rows that ORDER BY calls equal, of which a LIMIT leaves some.
//!
//! Which they are follows the order in which they meet, unless they are equal in every column of the answer. Any of them
//! is a right answer, so an answer's own ORDER BY is completed by the columns that it leaves open, and groups that have
//! none get one: to order a few more columns costs less than to keep the visible rows first.

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, LimitClause, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Query, Select,
    SelectItem, SetExpr, Statement, Value,
};

use crate::ast::any_expression;
use crate::ast::expression::selected;
use crate::ast::names::last;
use crate::functions::catalogue;
use crate::govern::lineage::Output;

/// A statement of very many columns is not worth the search.
const KEYS_MAX: usize = 100;

/// The statement with an ORDER BY that decides, where it has a LIMIT, or is taken a part at a time, and none that does.
/// `outputs` are the answer's columns, all of them.
pub(in crate::govern) fn completed(tree: &Statement, outputs: &[Output], in_parts: bool) -> Option<Statement> {
    let Statement::Query(query) = tree else { return None };
    let is_completed = (in_parts || cuts(query)) && (query.order_by.is_some() || is_of_groups(query));
    let open = open(query, outputs, true).filter(|open| is_completed && !open.is_empty())?;
    let mut tree = tree.clone();
    let Statement::Query(query) = &mut tree else { return None };
    let none = OrderBy { kind: OrderByKind::Expressions(Vec::new()), interpolate: None };
    let OrderByKind::Expressions(keys) = &mut query.order_by.get_or_insert(none).kind else { return None };
    keys.extend(open.into_iter().map(key));
    Some(tree)
}

/// Whether its rows are all made before one of them can be answered.
fn is_of_groups(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    is_grouped || matches!(select.distinct, Some(Distinct::Distinct))
}

/// Whether all rows are read before one is left out: groups are made of them, and what orders these is made of whole
/// groups. By a key of the groups the engine would leave out parts of a table.
pub(super) fn reads_all(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let of_groups = |key: &OrderByExpr| written(key, select).is_some_and(aggregates);
    is_grouped
        && match &query.order_by {
            None => true,
            Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) => keys.first().is_some_and(of_groups),
            Some(_) => false,
        }
}

/// The expression that a key of ORDER BY stands for.
fn written<'a>(key: &'a OrderByExpr, select: &'a Select) -> Option<&'a Expr> {
    match &key.expr {
        Expr::Identifier(ident) => select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if alias.value.eq_ignore_ascii_case(&ident.value) => Some(expr),
            _ => None,
        }),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) if select.projection.iter().all(|item| selected(item).is_some()) => {
                select.projection.get(digits.parse::<usize>().ok()?.checked_sub(1)?).and_then(selected)
            }
            _ => None,
        },
        expr => Some(expr),
    }
}

fn aggregates(expr: &Expr) -> bool {
    any_expression(expr, |expr| match expr {
        Expr::Function(function) => last(&function.name).is_some_and(|name| catalogue::is_aggregate(&name.value)),
        _ => false,
    })
}

/// Whether only some of its rows are left.
pub(super) fn cuts(query: &Query) -> bool {
    query.limit_clause.is_some() || query.fetch.is_some()
}

/// Whether LIMIT and OFFSET, if there are any, are written as numbers of rows.
pub(in crate::govern) fn counts(query: &Query) -> bool {
    /// Digits that every number of rows may have.
    const DIGITS_MAX: usize = 18;
    let is_number = |expr: &Expr| match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => {
                digits.len() <= DIGITS_MAX && digits.bytes().all(|digit| digit.is_ascii_digit())
            }
            Value::Placeholder(_) => true,
            _ => false,
        },
        _ => false,
    };
    let is_limited = match &query.limit_clause {
        None => true,
        Some(LimitClause::LimitOffset { limit, offset, limit_by: _ }) => {
            limit.iter().chain(offset.iter().map(|offset| &offset.value)).all(is_number)
        }
        Some(LimitClause::OffsetCommaLimit { .. }) => false,
    };
    let fetched = query.fetch.iter().flat_map(|fetch| &fetch.quantity);
    is_limited && fetched.into_iter().all(is_number)
}

/// Whether ORDER BY names every column of the answer, which are these if they are `counted`: rows that it does not order
/// are equal.
pub(super) fn is_decided(query: &Query, outputs: &[Output], counted: bool) -> bool {
    open(query, outputs, counted).is_some_and(|open| open.is_empty())
}

/// Places of the answer's columns that ORDER BY does not name; none where naming them would not decide.
fn open(query: &Query, outputs: &[Output], counted: bool) -> Option<Vec<usize>> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let keys = match &query.order_by {
        None => &[][..],
        Some(OrderBy { kind: OrderByKind::Expressions(keys), interpolate: None }) => keys,
        Some(_) => return None,
    };
    let is_small = keys.len().max(outputs.len()) <= KEYS_MAX;
    if !counted || outputs.is_empty() || !is_small || outputs.iter().any(|output| output.has_indistinct_values) {
        return None;
    }
    let is_output = |key: &OrderByExpr| (0..outputs.len()).any(|place| names(key, place, outputs, select));
    // of rows that DISTINCT takes for one the first brings the key, and which that is follows the plan
    if matches!(select.distinct, Some(Distinct::Distinct)) && !keys.iter().all(is_output) {
        return None;
    }
    Some((0..outputs.len()).filter(|place| !keys.iter().any(|key| names(key, *place, outputs, select))).collect())
}

/// Whether a key of ORDER BY is the column of the answer at this place.
fn names(key: &OrderByExpr, place: usize, outputs: &[Output], select: &Select) -> bool {
    let named = |name: &str| {
        let mut of_it = outputs.iter().enumerate().filter(|(_, output)| output.name.eq_ignore_ascii_case(name));
        matches!((of_it.next(), of_it.next()), (Some((found, _)), None) if found == place)
    };
    let item = || select.projection.get(place).filter(|_| select.projection.len() == outputs.len());
    key.with_fill.is_none()
        && match &key.expr {
            Expr::Identifier(ident) => named(&ident.value) && !is_label(&ident.value, select),
            Expr::Value(value) => matches!(&value.value, Value::Number(digits, _) if digits.parse() == Ok(place + 1)),
            path @ Expr::CompoundIdentifier(_) => {
                matches!(item(), Some(SelectItem::UnnamedExpr(expr)) if expr == path)
            }
            _ => false,
        }
}

/// Whether it is how an expression without a name is headed, which is no name to the engine: a column of FROM may have it.
fn is_label(name: &str, select: &Select) -> bool {
    let is_column = |expr: &Expr| matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(expr) if !is_column(expr) => {
            crate::print::label(expr).map_or(true, |label| label.eq_ignore_ascii_case(name))
        }
        _ => false,
    })
}

fn key(place: usize) -> OrderByExpr {
    OrderByExpr {
        expr: Expr::Value(Value::Number((place + 1).to_string(), false).into()),
        options: OrderByOptions { sort: None, nulls_first: None },
        with_fill: None,
    }
}
