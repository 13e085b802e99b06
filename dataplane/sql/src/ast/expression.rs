//! Small expressions, as nodes. The printer brackets operands, so none are here.

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, ObjectName, SelectItem, TableAlias, TableFactor, UnaryOperator, Value,
};

pub(crate) fn text(text: impl Into<String>) -> Expr {
    Expr::value(Value::SingleQuotedString(text.into()))
}

pub(crate) fn number(number: i64) -> Expr {
    let digits = Expr::value(Value::Number(number.unsigned_abs().to_string(), false));
    if number < 0 {
        return Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(digits) };
    }
    digits
}

pub(crate) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

pub(crate) fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, format: None }
}

/// `CAST(expr AS VARCHAR)`.
pub(crate) fn as_text(expr: Expr) -> Expr {
    cast(expr, DataType::Varchar(None))
}

/// `name AS alias`, in FROM.
pub(crate) fn relation(name: ObjectName, alias: Option<TableAlias>) -> TableFactor {
    TableFactor::Table {
        name,
        alias,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}

/// The expression of an item of a select list, if it is one.
pub(crate) fn selected(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// What stands in the parentheses.
pub(crate) fn unnested(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

pub(crate) fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}
