//! Arguments that a function of the warehouse reads as text, or as numbers, whatever they are.
//!
//! `LPAD(MONTH(d), 2, '0')`, `LEFT(d, 4)`, `SUM('5')`: the engine has no function of these types, so the reading is
//! written out as a cast. Only what is known to be of another type is read anew: a list or bytes are the engine's own.

use sqlparser::ast::{BinaryOperator, Expr, Function, UnaryOperator};

use super::call::{expressions, take_expr};
use super::{Context, Done, compose, meeting, moments, types, variants};
use crate::ast::error::Error;
use crate::functions::catalogue::{self, TextArgument};
use crate::functions::types::Type;
use crate::print::asked::parameter;

/// The arguments of a call.
pub(super) fn settle_arguments(
    name: &str,
    known: Option<&catalogue::Function>,
    function: &mut Function,
    context: &Context<'_>,
) {
    match known.and_then(|known| known.text.as_ref()) {
        Some(TextArgument::Places(places)) => {
            let arguments = expressions(function).enumerate();
            arguments.filter(|(place, _)| places.contains(place)).for_each(|(_, argument)| as_text(argument, context));
        }
        Some(TextArgument::Number) if !truncates_moment(name, function) => {
            expressions(function).take(1).for_each(|argument| as_number(argument, context));
        }
        _ => {}
    }
}

/// `TRUNC('2024-05-09', 'month')`.
fn truncates_moment(name: &str, function: &mut Function) -> bool {
    name == "trunc" && expressions(function).nth(1).is_some_and(|unit| compose::integer(unit).is_none())
}

/// Operators, and calls that the parser gives nodes of their own.
#[expect(clippy::unnecessary_wraps, reason = "it is a family like the others")]
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    match expr {
        Expr::Substring { expr: value, .. }
        | Expr::RLike { expr: value, .. }
        | Expr::Like { expr: value, .. }
        | Expr::ILike { expr: value, .. } => as_text(value, context),
        Expr::Position { expr: sought, r#in: value } => {
            as_text(sought, context);
            as_text(value, context);
        }
        Expr::Trim { expr: value, trim_what, trim_characters, .. } => {
            as_text(value, context);
            for removed in trim_what.iter_mut().map(AsMut::as_mut).chain(trim_characters.iter_mut().flatten()) {
                as_text(removed, context);
            }
        }
        Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => {
            let (one, other) = context.operands(left, right);
            if is_shown(one) || is_shown(other) {
                moment_as_text(left, context);
                moment_as_text(right, context);
                context.forget_operands();
            }
        }
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr: value } => as_number(value, context),
        Expr::BinaryOp {
            left,
            op:
                BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo,
            right,
        } if context.operands(left, right) == (Type::Text, Type::Text) && !is_literal(left) && !is_literal(right) => {
            as_number(left, context);
            as_number(right, context);
            context.forget_operands();
        }
        Expr::BinaryOp {
            left,
            op:
                BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq,
            right,
        } => {
            with_offset(left, right, context);
            with_offset(right, left, context);
        }
        Expr::Between { expr: moment, low, high, .. } => {
            with_offset(moment, low, context);
            with_offset(moment, high, context);
        }
        Expr::InList { expr: moment, list, .. } => list.iter_mut().for_each(|text| with_offset(moment, text, context)),
        _ => {}
    }
    Ok(Done::No)
}

/// A literal or parameter that is compared with a moment that has a zone: the engine takes no blank before its offset.
fn with_offset(moment: &Expr, text: &mut Expr, context: &Context<'_>) {
    let joined = compose::literal(text).and_then(moments::offset_joined);
    let is_open = parameter(text).is_some();
    if (joined.is_some() || is_open) && context.type_of(moment) == Type::TimestampTz {
        context.forget_operands();
        *text = match joined {
            Some(joined) => compose::text(joined),
            None => moments::with_zone(take_expr(text)),
        };
    }
}

/// Literals are read by `numerals`, which keeps their digits.
fn is_literal(value: &Expr) -> bool {
    compose::literal(value).is_some()
}

fn as_text(value: &mut Expr, context: &Context<'_>) {
    let known = context.type_of(value);
    if known == Type::Json
        || known == Type::Boolean
        || known.is_number()
        || known.is_moment() && known != Type::Interval
    {
        let taken = take_expr(value);
        *value = variants::to_text(taken, context);
    }
}

/// Whether the engine writes a value of this type with fewer digits.
fn is_shown(known: Type) -> bool {
    matches!(known, Type::Timestamp | Type::TimestampTz)
}

/// A moment that is joined to text; the engine writes it with fewer digits.
pub(super) fn moment_as_text(value: &mut Expr, context: &Context<'_>) {
    if is_shown(context.type_of(value)) {
        *value = variants::to_text(take_expr(value), context);
    }
}

fn as_number(value: &mut Expr, context: &Context<'_>) {
    match context.type_of(value) {
        Type::Text => *value = compose::cast(take_expr(value), types::double()),
        Type::Json => *value = meeting::as_type(take_expr(value), Type::Double),
        _ => {}
    }
}
