//! A row on which its filter fails is hidden.
//!
//! Else the error would tell that there is such a row. What cannot fail stays as it is written, and what is joined by AND
//! and OR or turned by NOT is looked at part by part: `region = 'EU' OR TRY(level::INT > 5)`.

mod asking;
mod constants;
mod erring;
mod untried;

use std::sync::Arc;

use sqlparser::ast::{BinaryOperator, DataType, Expr, UnaryOperator};

use self::constants::plain;
use super::leaks::leakproof::throws;
use crate::ast::error::Error;
use crate::ast::expression::cast;
use crate::ast::{any_expression, names, try_change_expressions};
use crate::bind::types::{self, ColumnTypes};
use crate::catalog::table::Table;
use crate::functions::types::Type;
use crate::functions::types::exact::Exact;
use crate::govern::filter::Filter;
use crate::scan::asks;

/// A filter with nothing in it that fails.
pub(super) struct FailClosedFilter {
    pub filter: Expr,
    /// Whether a part of it that asks other tables can: nothing tries that. If it does, no row is told from another as long
    /// as every statement asks it of all.
    pub can_fail: bool,
}

pub(super) fn on_failure(filter: &Filter, table: &Arc<Table>) -> Result<FailClosedFilter, Error> {
    let mut tried = Tried { table, inner: filter.inner(), can_fail: false };
    let filter = tried.part(filter.on(table)?)?;
    Ok(FailClosedFilter { filter, can_fail: tried.can_fail })
}

/// The same with what a new row has in each column's place: one on which it fails does not pass.
pub(super) fn on_new_row(
    filter: &Filter,
    table: &Arc<Table>,
    place: &dyn Fn(&str) -> Result<Expr, Error>,
) -> Result<Expr, Error> {
    let mut filter = on_failure(filter, table)?.filter;
    try_change_expressions(&mut filter, |expr| -> Result<(), Error> {
        if let Expr::CompoundIdentifier(path) = &*expr
            && let [own, column] = path.as_slice()
            && own.value == table.name
        {
            *expr = place(&column.value)?;
        }
        Ok(())
    })?;
    Ok(filter)
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
            part => {
                if untried::fails_untried(&part, self) {
                    let why = "any statement: a row filter asks for a part of a moment that its kind may not have, or by a \
                               pattern that is none,";
                    return Err(Error::ungovernable(why, &self.table.path()));
                }
                self.whole(part)
            }
        }
    }

    /// A part that no AND, OR or NOT joins.
    fn whole(&mut self, part: Expr) -> Result<Expr, Error> {
        match part {
            part if asks(&part) => {
                if asking::by_indistinct_values(&part, self.table) {
                    let why =
                        "any statement: a row filter asks other tables by a value whose equals can be told apart,";
                    return Err(Error::ungovernable(why, &self.table.path()));
                }
                self.can_fail |= asking::can_fail(plain(&part, self), self.table, self.inner)?;
                Ok(part)
            }
            part if !self.fails(&part) => Ok(part),
            part => Ok(erring::tried(self.as_boolean(part))),
        }
    }
}

impl Tried<'_> {
    /// Whether it may fail on a row, or is no boolean and read as one.
    fn fails(&self, part: &Expr) -> bool {
        let part = plain(part, self);
        any_expression(&part, |expr| throws(expr, self) || self.counts_nanoseconds(expr))
            || types::type_of(&part, self) != Type::Boolean
    }

    fn counts_nanoseconds(&self, expr: &Expr) -> bool {
        let column = names::column(expr).and_then(|name| self.table.column(&name.value));
        column.is_some_and(|column| Type::counts_nanoseconds(&column.type_name))
    }

    fn as_boolean(&self, part: Expr) -> Expr {
        if types::type_of(&part, self) == Type::Boolean {
            return part;
        }
        cast(part, DataType::Boolean)
    }

    /// The table of this name: that of the filter, or one of its subqueries.
    fn named(&self, name: Option<&str>) -> Option<&Table> {
        let inner =
            || self.inner.iter().find(|(called, _)| Some(called.as_str()) == name).map(|(_, table)| table.as_ref());
        if name == Some(self.table.name.as_str()) { Some(self.table) } else { inner() }
    }
}

impl ColumnTypes for Tried<'_> {
    fn is_certain(&self) -> bool {
        true
    }

    fn column(&self, table: Option<&str>, name: &str) -> Type {
        let column = self.named(table).and_then(|table| table.column(name));
        column.map_or(Type::Unknown, |column| Type::of_name(&column.type_name))
    }

    fn exact(&self, table: Option<&str>, name: &str) -> Option<Exact> {
        let column = self.named(table).and_then(|table| table.column(name))?;
        Some(Exact::of_name(&column.type_name))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{filter, governed, shown};
    use crate::{ExecutionMode, Rules};

    #[test]
    fn what_fails_on_a_whole_kind_past_try_refuses_every_statement() {
        let governs = |text: &str| {
            let mut rules = Rules::default();
            rules.filter("main", "customers", filter(text));
            governed("SELECT id FROM customers", &rules).map(|_| ())
        };
        for text in [
            "week(to_date(name)) = 3 or region = 'EU'",
            "extract(isoyear from name::timestamp) = 2020",
            "date_part('hour', name::time) > 8",
            "extract(day from name::interval) > 8",
            "datediff(day, name::date, '2020-01-01'::timestamp) > 1",
            "name like 'a!%' escape '!'",
        ] {
            assert_eq!(governs(text), Ok(()), "{text}");
        }
        for text in [
            "region = 'EU' or week(name::interval) > 1",
            "not (extract(week from name::interval) = 2)",
            "date_part('day', name::time) = 1",
            "timezone(name::date) is null",
            "id in (select id from orders o where yearweek(o.note::interval) = 1)",
            "dayofweek(name::interval) = 1",
            "datediff(year, name::time, '11:00'::time) = 7",
            "date_trunc('week', name::interval) is null",
            "name like '%e' escape 'e'",
            "name ilike 'a' escape 'xy'",
            "exists (select 1 from orders o where o.note = customers.score::varchar)",
        ] {
            assert!(governs(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_can_fail_is_tried_part_by_part() {
        let mut rules = Rules::default();
        rules.filter("main", "customers", filter("region = 'EU' or not (name::int > 5 and 10 / id > 2)"));
        expect![[r#"SELECT "id" FROM (SELECT "customers"."id", "customers"."name", "customers"."email", "customers"."ssn", "customers"."region", "customers"."salary" FROM "raw"."main"."customers" AS "customers" WHERE (("customers"."region" = 'EU') OR (NOT (try(CAST("customers"."name" AS INTEGER) > 5) AND try((10 / CASE "customers"."id" WHEN 0 THEN "system"."main"."list_extract"("system"."main"."list_value"(NULL), CAST('no number' AS INTEGER)) ELSE "customers"."id" END) > 2))))) AS "customers""#]].assert_eq(&shown("SELECT id FROM customers", &rules));
        let mut rules = Rules::default();
        rules.filter(
            "main",
            "customers",
            filter("id in (1, 2) and region like 'E%' and salary > '5' and name = {region}"),
        );
        expect![[r#"SELECT "id" FROM (SELECT "customers"."id", "customers"."name", "customers"."email", "customers"."ssn", "customers"."region", "customers"."salary" FROM "raw"."main"."customers" AS "customers" WHERE (("customers"."id" IN (1, 2)) AND ("customers"."region" LIKE 'E%') AND ("customers"."salary" > '5') AND ("customers"."name" = $1))) AS "customers""#]].assert_eq(&shown("SELECT id FROM customers", &rules));
    }

    /// A text that is no number is left as it stands by the engine, until a row asks for it.
    #[test]
    fn a_text_that_may_not_be_read_is_tried() {
        let tried = |text: &str| {
            let mut rules = Rules::default();
            rules.filter("main", "customers", filter(text));
            shown("SELECT id FROM customers", &rules).contains("try(")
        };
        for text in
            ["id = '5'", "id in ('5', 6)", "id between '1' and '9'", "region = 'EU'", "salary > '5'", "name in ('a')"]
        {
            assert!(!tried(text), "{text}");
        }
        for text in [
            "id = 'abc'",
            "id in ('abc', 5)",
            "id = {region}",
            "id = '99999999999'",
            "case when name = 'x' then 'abc' else id end = 1000000",
            "case when id = 5 then base64('\\xZZ') is null else false end",
        ] {
            assert!(tried(text), "{text}");
        }
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
            assert_eq!(care(text), ExecutionMode::Leakproof, "{text}");
        }
        for text in [
            "region = (select region from orders o where o.customer_id = customers.id)",
            "id in (select note from orders)",
            "exists (select 1 from orders o where o.note::int = customers.id)",
            "exists (select 1 from orders o where customers.name::int = 5)",
            "1 / (select count(*) from orders o where o.customer_id = customers.id) > 0",
            "region = {region} and (id = 3 or not exists (select 1 from orders o where o.id > customers.name))",
        ] {
            assert_eq!(care(text), ExecutionMode::Materialized, "{text}");
        }
    }
}
