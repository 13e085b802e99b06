//! The type of an expression, as far as scopes, casts and literals tell it; no other place answers that.
//!
//! What it cannot tell is [`Type::Unknown`], never a guess. It reads the warehouse's form and the engine's, since a
//! rewrite asks for arguments that are rewritten already. Where [`ColumnTypes::is_certain`] holds, a type is said only
//! if it can be no other: whether a statement may fail, and what it then shows, hangs on it.

mod certain;
pub(crate) mod digits;
mod known;
pub(crate) mod offset;
mod results;
pub(crate) mod width;

use digits::Digits;
pub(crate) use known::Known;
use sqlparser::ast::{BinaryOperator, Expr, Function, Ident, Query, UnaryOperator, Value};
use width::NumberWidth;

use crate::ast::call::arguments;
use crate::ast::names;
use crate::functions::types::Type;
use crate::functions::types::exact::Exact;

/// A source of the types of columns that a statement can name.
pub(crate) trait ColumnTypes {
    /// The type of the column of this name, behind this qualifier (a table or its alias) if one is given.
    fn column(&self, qualifier: Option<&str>, name: &str) -> Type;

    /// What is known of its type beyond the family.
    fn exact(&self, qualifier: Option<&str>, name: &str) -> Option<Exact> {
        let _ = (qualifier, name);
        None
    }

    /// How many minutes ahead of UTC all values of a `TIMESTAMP_TZ` column were written, where that is one number.
    fn minutes(&self, qualifier: Option<&str>, name: &str) -> Option<i32> {
        let _ = (qualifier, name);
        None
    }

    /// The most digits of the numbers of a column, where they are exact.
    fn digits(&self, qualifier: Option<&str>, name: &str) -> Option<Digits> {
        let _ = (qualifier, name);
        None
    }

    /// How wide the numbers of a column are, where they are exact.
    fn width(&self, qualifier: Option<&str>, name: &str) -> Option<NumberWidth> {
        let _ = (qualifier, name);
        None
    }

    /// The type of the one column of a query that stands for a value.
    fn subquery(&self, query: &Query) -> Type {
        let _ = query;
        Type::Unknown
    }

    /// Whether a type is said only where it can be no other; else the likeliest is.
    fn is_certain(&self) -> bool {
        false
    }
}

/// The type of an expression, or [`Type::Unknown`].
pub(crate) fn type_of(expr: &Expr, columns: &dyn ColumnTypes) -> Type {
    match expr {
        Expr::Identifier(ident) => columns.column(None, &ident.value),
        Expr::Value(value) => type_of_literal(&value.value),
        Expr::TypedString(typed) => Type::of_declared(&typed.data_type),
        Expr::Cast { data_type, .. } => Type::of_declared(data_type),
        other => type_by_parts(other, columns),
    }
}

/// The type of an expression that others may tell, whose stack is guarded therefore.
#[recursive::recursive]
fn type_by_parts(expr: &Expr, columns: &dyn ColumnTypes) -> Type {
    if columns.is_certain()
        && let Some(certain) = certain::type_of(expr, columns)
    {
        return certain;
    }
    match expr {
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [.., table, column] => columns.column(Some(&table.value), &column.value),
            _ => Type::Unknown,
        },
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => type_of(inner, columns),
        Expr::Interval(_) => Type::Interval,
        Expr::BinaryOp { left, op, right } => operator(left, op, right, columns),
        Expr::Case { conditions, else_result, .. } => {
            branches(conditions.iter().map(|when| &when.result).chain(else_result.as_deref()), columns)
        }
        Expr::UnaryOp { op: UnaryOperator::Not, .. }
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::RLike { .. }
        | Expr::SimilarTo { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. }
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::Exists { .. }
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..) => Type::Boolean,
        Expr::UnaryOp { expr, .. } => type_of(expr, columns),
        Expr::JsonAccess { .. } => Type::Json,
        Expr::Trim { .. } | Expr::Substring { .. } => Type::Text,
        Expr::Extract { .. } | Expr::Position { .. } => Type::Integer,
        // of what its members are, nothing is known
        Expr::Dictionary(_) if !columns.is_certain() => Type::Struct,
        Expr::Array(_) => Type::List,
        Expr::Subquery(query) => columns.subquery(query),
        Expr::Function(function) => results::of(function, columns),
        _ => Type::Unknown,
    }
}

/// Digits of the longest literal that is surely no DOUBLE, and of the shortest that surely is one.
const EXACT_DIGITS_MAX: usize = 37;
const DOUBLE_DIGITS_MIN: usize = 41;

fn type_of_literal(value: &Value) -> Type {
    match value {
        Value::Number(written, _) => type_of_number(written),
        Value::SingleQuotedString(_) => Type::Text,
        Value::HexStringLiteral(_) => Type::Blob,
        Value::Boolean(_) => Type::Boolean,
        _ => Type::Unknown,
    }
}

fn type_of_number(written: &str) -> Type {
    let digits = written.bytes().filter(u8::is_ascii_digit).count();
    match digits {
        _ if written.contains(['e', 'E']) => Type::Double,
        DOUBLE_DIGITS_MIN.. => Type::Double,
        ..=EXACT_DIGITS_MAX if written.contains('.') => Type::Decimal,
        ..=EXACT_DIGITS_MAX => Type::Integer,
        _ => Type::Unknown,
    }
}

fn operator(left: &Expr, op: &BinaryOperator, right: &Expr, columns: &dyn ColumnTypes) -> Type {
    use BinaryOperator as B;
    match op {
        B::And | B::Or | B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq | B::PGRegexMatch => {
            return Type::Boolean;
        }
        B::LongArrow | B::HashLongArrow => return Type::Text,
        B::Arrow | B::HashArrow => return Type::Json,
        _ => {}
    }
    let (left, right) = (type_of(left, columns), type_of(right, columns));
    match op {
        B::StringConcat if left != Type::List && right != Type::List => Type::Text,
        B::Minus if left == Type::Date && right == Type::Date => Type::Integer,
        B::Plus | B::Minus => sum(left, right),
        B::Multiply | B::Modulo if left.is_number() && right.is_number() => wider(left, right),
        // the engine divides numbers as floating point
        B::Divide if !columns.is_certain() && left.is_number() => Type::Double,
        _ => Type::Unknown,
    }
}

fn sum(left: Type, right: Type) -> Type {
    match (left, right) {
        (Type::Date, Type::Integer) | (Type::Integer, Type::Date) => Type::Date,
        (Type::Date | Type::Timestamp, Type::Interval) | (Type::Interval, Type::Date | Type::Timestamp) => {
            Type::Timestamp
        }
        (Type::TimestampTz, Type::Interval) | (Type::Interval, Type::TimestampTz) => Type::TimestampTz,
        (one, other) if one.is_number() && other.is_number() => wider(one, other),
        _ => Type::Unknown,
    }
}

/// What values of both types become where they meet: the wider of two numbers, else the one type that both have.
pub(super) fn wider(one: Type, other: Type) -> Type {
    if !one.is_number() || !other.is_number() {
        return if one == other { one } else { Type::Unknown };
    }
    let widest = [Type::Double, Type::Decimal].into_iter().find(|wide| one == *wide || other == *wide);
    widest.unwrap_or(Type::Integer)
}

/// The type of several values of which one is taken: only one that all of them have.
fn common(types: impl Iterator<Item = Type>) -> Type {
    types.reduce(|one, other| if one == other { one } else { Type::Unknown }).unwrap_or(Type::Unknown)
}

/// The same of branches; where the likeliest type is enough, NULL and what only raises an error are of every type.
fn branches<'e>(results: impl Iterator<Item = &'e Expr>, columns: &dyn ColumnTypes) -> Type {
    let is_error = |name: &Ident| name.value.eq_ignore_ascii_case("error");
    let is_of_every_type = |expr: &Expr| match expr {
        Expr::Value(value) => value.value == Value::Null,
        Expr::Function(function) => names::last(&function.name).is_some_and(is_error),
        _ => false,
    };
    let is_certain = columns.is_certain();
    common(results.filter(|expr| is_certain || !is_of_every_type(expr)).map(|expr| type_of(expr, columns)))
}

fn all<'e>(function: &'e Function, columns: &'e dyn ColumnTypes) -> Type {
    branches(arguments(function), columns)
}
