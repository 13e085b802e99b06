//! Values that are equal and can be told apart: zero and minus zero, a month and thirty days, `a` and `A` where case
//! does not count. Which of them stands for all follows the order that rows come in; and DOUBLEs, which have such
//! values, add up to another sum in another order.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, ObjectName, Select,
    SelectItem, UnaryOperator, Value,
};

use super::throws::is_null;
use super::{Output, Walk};
use crate::names;
use crate::types::Type;

/// Functions whose equal values are one value where those of their arguments are, whatever type that is.
const HAND_ON: [&str; 48] = [
    "abs",
    "any_value",
    "ceil",
    "coalesce",
    "concat",
    "concat_ws",
    "date_part",
    "date_trunc",
    "dateadd",
    "dayname",
    "dayofweek",
    "dayofyear",
    "decode",
    "first",
    "floor",
    "greatest",
    "hash",
    "hour",
    "ifnull",
    "iff",
    "initcap",
    "last",
    "least",
    "lpad",
    "ltrim",
    "max",
    "md5",
    "min",
    "minute",
    "mode",
    "monthname",
    "nullif",
    "nullifzero",
    "nvl",
    "nvl2",
    "quarter",
    "regexp_extract",
    "regexp_replace",
    "regexp_substr",
    "reverse",
    "round",
    "rpad",
    "rtrim",
    "second",
    "split_part",
    "sum",
    "week",
    "zeroifnull",
];

impl Walk<'_> {
    /// Whether two equal values of it may differ. What is not known may.
    #[recursive::recursive]
    pub(super) fn has_twins(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Identifier(ident) => self.find(None, ident).is_none_or(|output| output.has_twins),
            Expr::CompoundIdentifier(path) => match path.as_slice() {
                [.., table, column] => self.find(Some(table), column).is_none_or(|output| output.has_twins),
                _ => true,
            },
            Expr::Nested(inner) => self.has_twins(inner),
            Expr::UnaryOp { op: UnaryOperator::Plus | UnaryOperator::Minus, expr } => self.has_twins(expr),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply,
                right,
            } => of_kind(self.type_of(expr)) && (self.has_twins(left) || self.has_twins(right)),
            Expr::Case { conditions, else_result, .. } => {
                let mut results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
                results.any(|result| self.has_twins(result))
            }
            Expr::Function(function) if of_kind(self.type_of(expr)) && hands_on(&function.name) => {
                arguments(function).iter().any(|argument| self.has_twins(argument))
            }
            other => !is_null(other) && of_kind(self.type_of(other)),
        }
    }

    /// Whether one of several equal rows stands for all of them in what is selected.
    pub(super) fn stands_for_twins(&self, select: &Select, outputs: &[Output]) -> bool {
        let selected = || outputs.iter().any(|output| output.has_twins);
        let is_grouped = match &select.group_by {
            GroupByExpr::All(_) => selected(),
            GroupByExpr::Expressions(keys, _) => keys.iter().any(|key| self.key_has_twins(key, select)),
        };
        is_grouped || select.distinct.is_some() && selected()
    }

    fn key_has_twins(&self, key: &Expr, select: &Select) -> bool {
        match key {
            Expr::Cube(sets) | Expr::Rollup(sets) | Expr::GroupingSets(sets) => {
                sets.iter().flatten().any(|key| self.key_has_twins(key, select))
            }
            Expr::Tuple(keys) => keys.iter().any(|key| self.key_has_twins(key, select)),
            key => match place(key) {
                Some(place) => select.projection.get(place).is_none_or(|item| self.item_has_twins(item)),
                None => self.has_twins(key),
            },
        }
    }

    fn item_has_twins(&self, item: &SelectItem) -> bool {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => self.has_twins(expr),
            _ => true,
        }
    }
}

/// Whether values of a type have twins; those of a type that is not known may.
pub(super) fn of_kind(kind: Type) -> bool {
    match kind {
        Type::Double | Type::Interval | Type::List | Type::Struct | Type::Map | Type::Unknown => true,
        Type::Boolean
        | Type::Integer
        | Type::Decimal
        | Type::Text
        | Type::Blob
        | Type::Date
        | Type::Time
        | Type::Timestamp
        | Type::TimestampTz
        | Type::Json
        | Type::Uuid => false,
    }
}

/// `GROUP BY 2`.
fn place(key: &Expr) -> Option<usize> {
    let Expr::Value(value) = key else { return None };
    let Value::Number(digits, _) = &value.value else { return None };
    digits.parse::<usize>().ok()?.checked_sub(1)
}

fn hands_on(name: &ObjectName) -> bool {
    names::single(name).is_some_and(|ident| HAND_ON.iter().any(|known| ident.value.eq_ignore_ascii_case(known)))
}

/// Expressions that a call is given.
pub(super) fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let given = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(expr), .. }
        | FunctionArg::ExprNamed { arg: FunctionArgExpr::Expr(expr), .. } => Some(expr),
        _ => None,
    });
    given.flatten().collect()
}
