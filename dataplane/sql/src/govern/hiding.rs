//! A row on which its filter fails is hidden.
//!
//! Else the error would tell that there is such a row. What cannot fail stays as it is written, and what is joined by AND
//! and OR or turned by NOT is looked at part by part: `region = 'EU' OR TRY(level::INT > 5)`.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, UnaryOperator, Value, VisitMut, VisitorMut, visit_expressions,
};

use super::lineage::throws;
use crate::call::call;
use crate::catalog::Table;
use crate::types::exact::Exact;
use crate::types::{self, Columns, Type};

/// The filter, which is one on this table, with nothing in it that fails. A part that asks other tables cannot be tried.
pub(super) fn on_failure(filter: Expr, table: &Table) -> Expr {
    match filter {
        Expr::Nested(inner) => Expr::Nested(Box::new(on_failure(*inner, table))),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
            Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(on_failure(*expr, table)) }
        }
        Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
            Expr::BinaryOp { left: Box::new(on_failure(*left, table)), op, right: Box::new(on_failure(*right, table)) }
        }
        part if asks(&part) || !fails(&part, table) => part,
        part => call("try", [as_boolean(part, table)]),
    }
}

/// Whether a query stands in it.
pub(super) fn asks(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether it may fail on a row, or is no boolean and read as one.
fn fails(part: &Expr, table: &Table) -> bool {
    let (columns, mut part) = (Of(table), part.clone());
    let _: ControlFlow<Infallible> = part.visit(&mut Constants);
    let found = visit_expressions(&part, |expr| {
        let is_so = throws(expr, &columns) && !compares_constant(expr);
        if is_so { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found.is_break() || types::type_of(&part, &columns) != Type::Boolean
}

/// Puts NULL for texts and what the caller carries: whatever they become beside a column, they become once, and where
/// they do not every statement is refused.
struct Constants;

impl VisitorMut for Constants {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Value(value) = expr
            && matches!(value.value, Value::SingleQuotedString(_) | Value::Placeholder(_))
        {
            value.value = Value::Null;
        }
        ControlFlow::Continue(())
    }
}

fn compares_constant(expr: &Expr) -> bool {
    use BinaryOperator as B;
    let is_null = |side: &Expr| matches!(side, Expr::Value(value) if value.value == Value::Null);
    match expr {
        Expr::BinaryOp { left, op: B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq, right }
        | Expr::IsDistinctFrom(left, right)
        | Expr::IsNotDistinctFrom(left, right) => is_null(left) || is_null(right),
        _ => false,
    }
}

fn as_boolean(part: Expr, table: &Table) -> Expr {
    if types::type_of(&part, &Of(table)) == Type::Boolean {
        return part;
    }
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(part), data_type: DataType::Boolean, format: None }
}

/// The columns of one table.
struct Of<'a>(&'a Table);

impl Columns for Of<'_> {
    fn is_certain(&self) -> bool {
        true
    }

    fn column(&self, _: Option<&str>, name: &str) -> Type {
        self.0.column(name).map_or(Type::Unknown, |column| Type::of_name(&column.type_name))
    }

    fn exact(&self, _: Option<&str>, name: &str) -> Option<Exact> {
        self.0.column(name).map(|column| Exact::of_name(&column.type_name))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::Rules;
    use crate::testing::{filter, shown};

    #[test]
    fn what_can_fail_is_tried_part_by_part() {
        let mut rules = Rules::default();
        rules.filter("main", "customers", filter("region = 'EU' or not (name::int > 5 and 10 / id > 2)"));
        expect![[r#"SELECT "id" FROM (SELECT "customers"."id", "customers"."name", "customers"."email", "customers"."ssn", "customers"."region", "customers"."salary" FROM "raw"."main"."customers" AS "customers" WHERE (("customers"."region" = 'EU') OR (NOT (try(CAST("customers"."name" AS INTEGER) > 5) AND try((10 / CASE "customers"."id" WHEN 0 THEN "system"."main"."error"('division by zero') ELSE "customers"."id" END) > 2))))) AS "customers""#]].assert_eq(&shown("SELECT id FROM customers", &rules));
        let mut rules = Rules::default();
        rules.filter(
            "main",
            "customers",
            filter("id in (1, 2) and region like 'E%' and salary > '5' and name = {region}"),
        );
        expect![[r#"SELECT "id" FROM (SELECT "customers"."id", "customers"."name", "customers"."email", "customers"."ssn", "customers"."region", "customers"."salary" FROM "raw"."main"."customers" AS "customers" WHERE (("customers"."id" IN (1, 2)) AND ("customers"."region" LIKE 'E%') AND ("customers"."salary" > '5') AND ("customers"."name" = $1))) AS "customers""#]].assert_eq(&shown("SELECT id FROM customers", &rules));
    }
}
