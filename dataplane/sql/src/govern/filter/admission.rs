//! Validation of a filter: a boolean that depends on the row, of functions that always answer the same.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, ObjectName, Query, TableFactor, UnaryOperator, Value, Visitor};

use super::truth::truth;
use super::{FilterFacts, placeholder};
use crate::ast::error::Error;
use crate::ast::names::{self, TableName};
use crate::ast::{Visit, flow_of, result_of};
use crate::bind::types::{self, Known};
use crate::dialect;
use crate::functions::catalogue::{self, Class};
use crate::functions::types::Type;

pub(super) fn check(expr: &Expr) -> Result<FilterFacts, Error> {
    if !matches!(types::type_of(expr, &Known::default()), Type::Boolean | Type::Unknown) {
        return Err(Error::invalid_filter("a filter is a condition: this has no truth value"));
    }
    if matches!(expr, Expr::BinaryOp { op, .. } if makes_value(op)) {
        return Err(Error::invalid_filter("a filter is a condition: this has no truth value"));
    }
    if truth(expr) == Some(true) {
        return Err(Error::invalid_filter("this filter is true for every row"));
    }
    let facts = Look::over(expr)?.facts;
    each_arm_asks(expr)?;
    Ok(facts)
}

/// Refuses a condition, alone or an arm of others, that is the same for every row and caller and does not plainly say
/// which: in an OR it would open the whole filter.
#[recursive::recursive]
fn each_arm_asks(expr: &Expr) -> Result<(), Error> {
    match expr {
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Not, expr: inner } => each_arm_asks(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            each_arm_asks(left)?;
            each_arm_asks(right)
        }
        _ if truth(expr).is_none() && Look::over(expr)?.asks_for_nothing() => Err(Error::invalid_filter(format!(
            "`{}` asks for no column, no table and nothing that a caller carries: leave it out",
            crate::print::label(expr).unwrap_or_default()
        ))),
        _ => Ok(()),
    }
}

fn makes_value(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo | B::StringConcat)
}

struct Look {
    facts: FilterFacts,
    has_placeholder: bool,
    /// How many subqueries it is inside of.
    depth: usize,
}

impl Look {
    fn over(expr: &Expr) -> Result<Self, Error> {
        let mut look = Self { facts: FilterFacts::default(), has_placeholder: false, depth: 0 };
        result_of(expr.visit(&mut look))?;
        Ok(look)
    }

    fn asks_for_nothing(&self) -> bool {
        self.facts.columns.is_empty() && self.facts.tables.is_empty() && !self.has_placeholder
    }

    fn expr(&mut self, expr: &Expr) -> Result<(), Error> {
        match expr {
            Expr::Identifier(ident) if names::is_session_word(ident) => {
                return Err(Error::invalid_filter(format!(
                    "{} says nothing here; write {{user_id}}, {{email}} or {{role}}, which the caller carries",
                    ident.value
                )));
            }
            Expr::Identifier(ident) if self.depth == 0 => {
                self.facts.columns.insert(ident.value.to_ascii_lowercase());
            }
            Expr::CompoundIdentifier(path) if self.depth == 0 => {
                let [.., column] = path.as_slice() else {
                    return Ok(());
                };
                self.facts.columns.insert(column.value.to_ascii_lowercase());
            }
            Expr::Function(function) => {
                if function.over.is_some() {
                    return Err(Error::invalid_filter("a filter holds no window function"));
                }
                call(&function.name, self.depth)?;
            }
            Expr::Value(value) => {
                if let Value::Placeholder(name) = &value.value {
                    if placeholder::number(name).is_none() {
                        return Err(Error::invalid_filter("a filter has no parameters; write {name}"));
                    }
                    self.has_placeholder = true;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn factor(&mut self, factor: &TableFactor) -> Result<(), Error> {
        match factor {
            TableFactor::Table { name, args: None, .. } => {
                let table = TableName::of(name).filter(|table| !table.is_reserved() && table.database.is_none());
                let Some(table) = table else {
                    return Err(Error::invalid_filter("a filter cannot read this table"));
                };
                let schema = table.schema.unwrap_or_else(|| names::MAIN_SCHEMA.to_owned());
                self.facts.tables.insert(format!("{schema}.{}", table.name));
                Ok(())
            }
            _ => Err(Error::invalid_filter("the subquery of a filter reads tables only")),
        }
    }
}

fn call(name: &ObjectName, depth: usize) -> Result<(), Error> {
    let Some(ident) = names::single(name) else {
        return Err(Error::invalid_filter("functions have no path in a filter"));
    };
    let shown = ident.value.to_ascii_lowercase();
    if catalogue::compares_meaning(&shown) {
        return Err(Error::invalid_filter(format!("{shown} compares by meaning; a filter compares values")));
    }
    match dialect::class(&shown) {
        Some(Class::Safe | Class::Throwing) => {}
        Some(Class::Stable | Class::Volatile) => {
            return Err(Error::invalid_filter(format!("{shown} answers differently each time")));
        }
        Some(Class::Write | Class::Denied) | None => {
            return Err(Error::invalid_filter(format!("function {shown} is not supported")));
        }
    }
    if depth == 0 && catalogue::is_aggregate(&shown) {
        return Err(Error::invalid_filter(format!("{shown} is an aggregate; a filter looks at one row")));
    }
    Ok(())
}

impl Visitor for Look {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        self.depth += 1;
        if query.with.is_some() || query.order_by.is_some() {
            return ControlFlow::Break(Error::invalid_filter("the subquery of a filter has no WITH and no ORDER BY"));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        flow_of(self.expr(expr))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        flow_of(self.factor(factor))
    }
}
