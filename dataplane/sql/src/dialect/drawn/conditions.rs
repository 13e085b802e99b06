//! A condition that draws, above windows: the engine asks it of the rows that the windows are over
//! (duckdb/duckdb#24829), unless it names a column that some window is not partitioned by.

use std::collections::HashSet;
use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, ObjectName, Query, Select, Statement, TableFactor, Visitor, WindowType};

use super::is_drawn;
use crate::ast::error::Error;
use crate::ast::{Visit, any_expression, each_expression, names};
use crate::scan::marker::{self, Marked};

/// Refuses a statement with such a condition.
pub(in crate::dialect) fn check(statement: &Statement) -> Result<(), Error> {
    match statement.visit(&mut DrawingConditions::default()) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::unsupported("a condition that draws a value above a window function")),
    }
}

/// The conditions of each select, and which WITH queries have windows.
#[derive(Debug, Default)]
struct DrawingConditions {
    windowed: HashSet<String>,
}

impl Visitor for DrawingConditions {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            if PartitionedWindows::of(&cte.query, &self.windowed).is_there {
                self.windowed.insert(cte.alias.name.value.to_ascii_lowercase());
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let is_below = |condition: &Expr| {
            is_drawn(condition) && PartitionedWindows::of(&select.from, &self.windowed).are_reached(condition)
        };
        let is_own = |condition: &Expr| {
            let mut windows = PartitionedWindows::new(&self.windowed);
            windows.of_select(select);
            windows.are_reached(condition)
        };
        if select.selection.as_ref().is_some_and(is_below) || select.qualify.as_ref().is_some_and(is_own) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Windows all of which have a PARTITION BY: nothing holds a condition back above them.
#[derive(Debug)]
struct PartitionedWindows {
    windowed: HashSet<String>,
    /// The columns that they are partitioned by.
    keys: HashSet<String>,
    is_there: bool,
}

impl PartitionedWindows {
    fn new(windowed: &HashSet<String>) -> Self {
        Self { windowed: windowed.clone(), keys: HashSet::new(), is_there: false }
    }

    fn of(part: &impl Visit, windowed: &HashSet<String>) -> Self {
        let mut found = Self::new(windowed);
        let ControlFlow::Continue(()) = part.visit(&mut found);
        found
    }

    /// Those of one select.
    fn of_select(&mut self, select: &Select) {
        let (mut count, mut partitioned) = (0_usize, 0_usize);
        let mut seen = |expr: &Expr| {
            let Expr::Function(function) = expr else { return };
            let Some(over) = &function.over else { return };
            count += 1;
            let WindowType::WindowSpec(window) = over else {
                partitioned += 1;
                return;
            };
            partitioned += usize::from(!window.partition_by.is_empty());
            self.keys.extend(window.partition_by.iter().filter_map(column));
        };
        each_expression(&select.projection, &mut seen);
        each_expression(&select.qualify, &mut seen);
        self.is_there |= count > 0 && count == partitioned;
    }

    /// Whether a condition, or one of those that must all hold, comes to stand below them.
    #[recursive::recursive]
    fn are_reached(&self, condition: &Expr) -> bool {
        match condition {
            Expr::Nested(inner) => self.are_reached(inner),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                self.are_reached(left) || self.are_reached(right)
            }
            one => {
                let is_other = |expr: &Expr| column(expr).is_some_and(|name| !self.keys.contains(&name));
                self.is_there && is_drawn(one) && !any_expression(one, is_other)
            }
        }
    }
}

/// What the WITH query is called that a name in FROM may stand for.
fn with_query(name: &ObjectName) -> Option<String> {
    match marker::read(name) {
        Some(Marked::With(number)) => Some(marker::with_name(number)),
        Some(Marked::Scan(_)) => None,
        None => names::single(name).map(|name| name.value.to_ascii_lowercase()),
    }
}

/// The name of a column.
fn column(expr: &Expr) -> Option<String> {
    names::column(expr).map(|name| name.value.to_ascii_lowercase())
}

impl Visitor for PartitionedWindows {
    type Break = Infallible;

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Infallible> {
        self.of_select(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Infallible> {
        if let TableFactor::Table { name, .. } = factor
            && let Some(with) = with_query(name)
        {
            self.is_there |= self.windowed.contains(&with);
        }
        ControlFlow::Continue(())
    }
}
