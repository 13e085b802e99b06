//! Values that the engine draws: random numbers, UUIDs, numbers of a sequence. It draws them once for each place that
//! they have in its plan, and those are not always the places where they are written.
//!
//! CASE and IN bind such a value to the parameter of a lambda. What the engine draws too often or too seldom, and has no
//! other way to say, is refused by name.

mod conditions;
mod correlated;

use sqlparser::ast::{
    DataType, Expr, GroupByExpr, Ident, LambdaFunction, LambdaFunctionParameter, LambdaSyntax, OneOrManyWithParens,
    Select, SelectItem,
};

use super::call::take_expr;
use super::{Context, compose};
use crate::ast::call::called;
use crate::ast::error::Error;
use crate::ast::expression::selected;
use crate::ast::names::{self, ours::DRAWN};
use crate::ast::{Visit, any_expression};
use crate::functions::catalogue;
use crate::functions::types::Type;
pub(super) use conditions::check as check_conditions;
pub(super) use correlated::check as check_query;

/// The engine's functions that draw. The clock, which is volatile too, is read once in a statement.
const DRAWING: [&str; 6] = ["gen_random_uuid", "nextval", "random", "uuid", "uuidv4", "uuidv7"];

/// Whether it is a call that draws.
pub(super) fn is_draw(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if names::last(&function.name)
        .is_some_and(|name| DRAWING.iter().any(|drawing| name.value.eq_ignore_ascii_case(drawing))))
}

/// Whether anything in it is drawn.
fn is_drawn(part: &impl Visit) -> bool {
    any_expression(part, is_draw)
}

/// `CASE x WHEN …` and `x IN (…)` of a value that is drawn: the engine draws it for each comparison
/// (duckdb/duckdb#22576), so it is drawn before.
pub(super) fn bind_once(expr: &mut Expr, context: &Context<'_>) -> Result<(), Error> {
    let value = match expr {
        Expr::Case { operand: Some(value), conditions, .. } if conditions.len() > 1 => value,
        Expr::InList { expr: value, list, .. } if list.len() > 1 => value,
        _ => return Ok(()),
    };
    if !is_drawn(&*value) {
        return Ok(());
    }
    let name = Ident::new(DRAWN);
    let drawn = take_expr(value);
    **value = Expr::Identifier(name.clone());
    let known = context.type_of(expr);
    let body = take_expr(expr);
    if any_expression(&body, is_of_rows) {
        return Err(Error::unsupported("CASE or IN of a drawn value beside a query, an aggregate or a window"));
    }
    let lambda = Expr::Lambda(LambdaFunction {
        params: OneOrManyWithParens::One(LambdaFunctionParameter { name, data_type: None }),
        body: Box::new(body),
        syntax: LambdaSyntax::LambdaKeyword,
    });
    let list = compose::call("list_value", [drawn]);
    let bound = compose::subscripts(compose::call("list_transform", [list, lambda]), vec![compose::number(1)]);
    *expr = match known {
        Type::Boolean => compose::cast(bound, DataType::Boolean),
        Type::Text => compose::cast(bound, DataType::Varchar(None)),
        _ => bound,
    };
    Ok(())
}

/// What no lambda may hold.
fn is_of_rows(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => true,
        Expr::Function(function) => {
            function.over.is_some() || called(function).is_some_and(|name| catalogue::is_aggregate(&name))
        }
        _ => false,
    }
}

/// Refuses a select in which the engine draws a value less often, or more often, than it is written.
pub(super) fn check_select(select: &Select) -> Result<(), Error> {
    let mut windows: Vec<Expr> = Vec::new();
    let is_repeated = any_expression(&select.projection, |expr| {
        let is_drawing = matches!(expr, Expr::Function(function) if function.over.is_some()) && is_drawn(expr);
        let is_known = is_drawing && windows.contains(expr);
        if is_drawing && !is_known {
            windows.push(expr.clone());
        }
        is_known
    });
    if is_repeated {
        // one of them would be asked (duckdb/duckdb#23367)
        return Err(Error::unsupported("a drawn value in two equal window functions"));
    }
    if is_asked_again(select) {
        // it would be drawn again (duckdb/duckdb#24207)
        return Err(Error::unsupported("HAVING of a drawn value that rows are grouped by"));
    }
    Ok(())
}

/// Whether HAVING names a drawn value that stands in GROUP BY.
fn is_asked_again(select: &Select) -> bool {
    let Some(having) = &select.having else { return false };
    let drawn_item = |name: &str| {
        select.projection.iter().any(|item| {
            matches!(item, SelectItem::ExprWithAlias { expr, alias }
                if alias.value.eq_ignore_ascii_case(name) && is_drawn(expr))
        })
    };
    let is_named = |expr: &Expr| matches!(expr, Expr::Identifier(ident) if drawn_item(&ident.value));
    if !is_drawn(having) && !any_expression(having, is_named) {
        return false;
    }
    let item = |place: usize| select.projection.get(place).and_then(selected).is_some_and(is_drawn);
    match &select.group_by {
        GroupByExpr::All(_) => (0..select.projection.len()).any(item),
        GroupByExpr::Expressions(keys, _) => keys.iter().any(|key| {
            let place = compose::integer(key).and_then(|place| usize::try_from(place.checked_sub(1)?).ok());
            is_drawn(key) || is_named(key) || place.is_some_and(item)
        }),
    }
}
