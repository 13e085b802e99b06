//! A row on which its filter fails is hidden.
//!
//! Else the error would tell that there is such a row. What cannot fail stays as it is written, and what is joined by AND
//! and OR or turned by NOT is looked at part by part: `region = 'EU' OR TRY(level::INT > 5)`.

mod asking;

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Ident, ObjectName, UnaryOperator, Value, VisitMut, VisitorMut,
    visit_expressions,
};

use super::lineage::throws;
use crate::call::call;
use crate::catalog::Table;
use crate::error::Error;
use crate::filter::Filter;
use crate::names;
use crate::types::exact::Exact;
use crate::types::{self, Columns, Type};

/// A filter with nothing in it that fails.
pub(super) struct Hiding {
    pub filter: Expr,
    /// Whether a part of it that asks other tables can: nothing tries that. If it does, no row is told from another as long
    /// as every statement asks it of all.
    pub can_fail: bool,
}

pub(super) fn on_failure(filter: &Filter, table: &Arc<Table>) -> Result<Hiding, Error> {
    let mut tried = Tried { table, inner: filter.inner(), can_fail: false };
    let filter = tried.part(filter.on(table)?)?;
    Ok(Hiding { filter, can_fail: tried.can_fail })
}

struct Tried<'a> {
    table: &'a Arc<Table>,
    inner: &'a [(String, Arc<Table>)],
    can_fail: bool,
}

impl Tried<'_> {
    #[recursive::recursive]
    fn part(&mut self, part: Expr) -> Result<Expr, Error> {
        match part {
            Expr::Nested(inner) => Ok(Expr::Nested(Box::new(self.part(*inner)?))),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                Ok(Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(self.part(*expr)?) })
            }
            Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
                let (left, right) = (self.part(*left)?, self.part(*right)?);
                Ok(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) })
            }
            part if asks(&part) => {
                self.can_fail |= asking::can_fail(plain(&part), self.table, self.inner)?;
                Ok(part)
            }
            part if !fails(&part, self.table) => Ok(part),
            part => Ok(call("try", [as_boolean(part, self.table)])),
        }
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
    let (columns, part) = (Of(table), plain(part));
    let found = visit_expressions(&part, |expr| {
        if throws(expr, &columns) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found.is_break() || types::type_of(&part, &columns) != Type::Boolean
}

/// The part as a caller would write it, with nothing in it that texts and what the caller carries are compared with:
/// whatever they become beside a value, they become once, and where they do not every statement is refused.
fn plain(part: &Expr) -> Expr {
    let mut part = part.clone();
    let _: ControlFlow<Infallible> = part.visit(&mut Plain);
    part
}

struct Plain;

impl VisitorMut for Plain {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if is_constant(expr) {
            *expr = Expr::Value(Value::Null.into());
        } else if let Expr::InSubquery { expr: asked, subquery, .. } = expr
            && is_constant(asked)
        {
            *expr = Expr::Exists { subquery: subquery.clone(), negated: false };
        } else if let Some(compared) = compared_with_constant(expr) {
            *expr = Expr::IsNull(Box::new(compared.clone()));
        }
        if let Expr::Function(function) = expr
            && let Some(name) = names::last(&function.name)
        {
            function.name = ObjectName::from(vec![Ident::new(&name.value)]);
        }
        ControlFlow::Continue(())
    }
}

fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::SingleQuotedString(_) | Value::Placeholder(_)),
        _ => false,
    }
}

fn compared_with_constant(expr: &Expr) -> Option<&Expr> {
    use BinaryOperator as B;
    match expr {
        Expr::BinaryOp { left, op: B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq, right }
        | Expr::IsDistinctFrom(left, right)
        | Expr::IsNotDistinctFrom(left, right) => match (left.as_ref(), right.as_ref()) {
            (constant, compared) | (compared, constant) if is_constant(constant) => Some(compared),
            _ => None,
        },
        _ => None,
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

    use crate::testing::{filter, governed, shown};
    use crate::{Care, Rules};

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

    #[test]
    fn where_a_part_that_asks_other_tables_can_fail_it_is_asked_of_all_rows() {
        let care = |text: &str| {
            let mut rules = Rules::default();
            rules.filter("main", "customers", filter(text));
            governed("SELECT id FROM customers WHERE id = 7", &rules).expect("a statement").care()
        };
        for text in [
            "id in (select customer_id from orders where region = {region})",
            "region = (select region from orders where status = 'me')",
            "exists (select 1 from orders o where o.customer_id = customers.id and o.amount > 5)",
            "region = {region} or id = (select max(customer_id) from orders o where o.note = customers.name)",
            "{region} in (select region from orders)",
        ] {
            assert_eq!(care(text), Care::Certain, "{text}");
        }
        for text in [
            "region = (select region from orders o where o.customer_id = customers.id)",
            "id in (select note from orders)",
            "exists (select 1 from orders o where o.note::int = customers.id)",
            "exists (select 1 from orders o where customers.name::int = 5)",
            "1 / (select count(*) from orders o where o.customer_id = customers.id) > 0",
            "region = {region} and (id = 3 or not exists (select 1 from orders o where o.id > customers.name))",
        ] {
            assert_eq!(care(text), Care::Visible, "{text}");
        }
    }
}
