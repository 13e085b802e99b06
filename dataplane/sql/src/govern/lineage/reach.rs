//! Columns in an expression: the masked columns it reaches, and the one that it is.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Ident, ObjectName, Query, Visitor};

use super::budget::{self, Work};
use super::{Base, FromItem, LineageWalk, Output, extend};
use crate::ast::call::sole_argument;
use crate::ast::expression::is_null;
use crate::ast::{Visit, names};
use crate::bind::types::width::{NumberWidth, both_fit, width_of};
use crate::bind::types::{self, ColumnTypes};
use crate::functions::catalogue;
use crate::functions::types::Type;
use crate::functions::types::exact::Exact;
use crate::govern::leaks::leakproof;
use crate::govern::leaks::leakproof::throws;
use crate::govern::leaks::numeric_range::{self, ValueType};

impl LineageWalk<'_> {
    pub(super) fn output(&mut self, expr: &Expr, name: &str) -> Output {
        let kind = self.type_of(expr);
        let exact = numeric_range::exact(expr, &self.scope());
        let width = width_of(expr, &self.scope());
        let direct = self.direct(expr);
        let reached = self.visit(expr);
        self.work.spend(budget::COLUMN + budget::held(&reached));
        let (is_null, has_indistinct_values) = (is_null(expr), self.has_indistinct_values(expr));
        Output { kind, exact, width, reached, direct, is_null, has_indistinct_values, ..Output::unknown(name) }
    }

    /// The masked column an expression is: a name, or an aggregate that hands one value through.
    fn direct(&self, expr: &Expr) -> Option<Base> {
        match expr {
            Expr::Identifier(ident) => self.find(None, ident).and_then(|output| output.direct),
            Expr::CompoundIdentifier(path) => match path.as_slice() {
                [table, column] => self.find(Some(table), column).and_then(|output| output.direct),
                _ => None,
            },
            Expr::Nested(inner) => self.direct(inner),
            Expr::Function(function) if function.over.is_none() && hands_through(&function.name) => {
                match sole_argument(function) {
                    Some(argument) => self.direct(argument),
                    None => None,
                }
            }
            _ => None,
        }
    }

    /// A condition that rows are kept by: what is no boolean is read as one.
    pub(super) fn predicate(&mut self, expr: &Expr) {
        let is_boolean = leakproof::is_boolean(expr, &self.scope());
        self.early(true, |walk| walk.throws(!is_boolean));
        self.condition(expr);
    }

    pub(super) fn condition(&mut self, expr: &Expr) {
        let reached = self.early(true, |walk| walk.visit(expr));
        self.found.asked.extend(&reached);
    }

    /// Everything masked that a part of the statement is made of.
    pub(in crate::govern) fn visit<T: Visit>(&mut self, part: &T) -> Vec<Base> {
        let mut visit = Inside { walk: self, reached: Vec::new(), depth: 0, awaited: None, value: None };
        let _: ControlFlow<()> = part.visit(&mut visit);
        visit.reached
    }

    pub(in crate::govern) fn sources(&self) -> impl Iterator<Item = &FromItem> {
        self.scopes.iter().rev().flatten()
    }

    pub(in crate::govern) fn type_of(&self, expr: &Expr) -> Type {
        types::type_of(expr, &self.scope())
    }

    pub(in crate::govern) fn scope(&self) -> TypeScope<'_> {
        TypeScope(&self.scopes, &self.work)
    }

    pub(in crate::govern) fn find(&self, table: Option<&Ident>, column: &Ident) -> Option<&Output> {
        self.scope().output(table.map(|table| table.value.as_str()), &column.value)
    }

    fn reached_by(&self, table: Option<&Ident>, column: &Ident) -> Vec<Base> {
        if let Some(output) = self.find(table, column) {
            let mut reached = output.reached.clone();
            let other = table.is_none().then(|| self.scope().alias(&column.value)).flatten();
            if let Some(other) = other {
                extend(&mut reached, &other.reached);
            }
            return reached;
        }
        // A whole row, a field of a struct column, or a column of something that may have any.
        let mut reached = Vec::new();
        for source in self.sources() {
            self.work.spend(1 + source.open.as_ref().map_or(0, Vec::len));
            if table.is_none() && source.alias.eq_ignore_ascii_case(&column.value) {
                source.outputs.iter().for_each(|output| extend(&mut reached, &output.reached));
            }
            if let Some(open) = &source.open {
                extend(&mut reached, open);
            }
        }
        if let Some(output) = table.and_then(|table| self.find(None, table)) {
            extend(&mut reached, &output.reached);
        }
        reached
    }
}

/// Visits an expression; subqueries are walked as queries, by their own scopes.
struct Inside<'w, 'a> {
    walk: &'w mut LineageWalk<'a>,
    reached: Vec<Base>,
    /// How many subqueries the visitor is inside of.
    depth: usize,
    awaited: Option<AwaitedQuery>,
    /// The subquery that stands for a value.
    value: Option<*const Query>,
}

/// A subquery that a value is compared with, and what is known of the value.
struct AwaitedQuery {
    query: *const Query,
    shape: ValueType,
    width: Option<NumberWidth>,
}

impl AwaitedQuery {
    /// Whether no value of the column fails to be compared.
    fn compares(&self, output: &Output) -> bool {
        self.shape.compares(&output.shape()) || both_fit(self.width, output.width)
    }
}

impl Inside<'_, '_> {
    fn touch(&mut self, reached: &[Base]) {
        self.walk.work.spend(self.reached.len() * reached.len());
        extend(&mut self.reached, reached);
        self.walk.found.touched.extend(reached);
    }
}

impl Visitor for Inside<'_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if self.depth == 0 {
            self.walk.found.failing.meets = true;
            self.walk.found.failing.by_order |= self.walk.correlates_by_indistinct_values(query);
            let (outputs, _) = self.walk.early(true, |walk| walk.query(query));
            if let Some(awaited) = self.awaited.take_if(|awaited| std::ptr::eq(awaited.query, query)) {
                let is_same = matches!(outputs.as_slice(), [output] if awaited.compares(output));
                self.walk.throws(!is_same);
            }
            if self.value.take_if(|value| std::ptr::eq(*value, query)).is_some() {
                let has_one_row = self.walk.has_one_row;
                self.walk.throws(!has_one_row);
            }
            for output in &outputs {
                extend(&mut self.reached, &output.reached);
            }
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if !self.walk.work.spend(budget::EXPRESSION) {
            return ControlFlow::Break(());
        }
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Identifier(ident) => {
                let reached = self.walk.reached_by(None, ident);
                self.touch(&reached);
            }
            Expr::CompoundIdentifier(path) => {
                if let [.., table, column] = path.as_slice() {
                    let reached = self.walk.reached_by(Some(table), column);
                    self.touch(&reached);
                }
                if let [table, column, _, ..] = path.as_slice() {
                    let reached = self.walk.reached_by(Some(table), column);
                    self.touch(&reached);
                }
            }
            other => {
                if let Expr::Subquery(query) = other {
                    // what still stands for a value stands around this: nobody will tell of it
                    self.walk.throws(self.value.is_some());
                    self.value = Some(std::ptr::from_ref(query.as_ref()));
                }
                if let Some((compared, subquery)) = compared_with(other) {
                    // what is still awaited stands around this: nobody will tell of it
                    self.walk.throws(self.awaited.is_some());
                    let shape = leakproof::shape(compared, &self.walk.scope());
                    let width = width_of(compared, &self.walk.scope());
                    self.awaited = Some(AwaitedQuery { query: std::ptr::from_ref(subquery), shape, width });
                }
                if let Expr::Lambda(lambda) = other {
                    // inside, a column of that name is meant by none of what is asked here
                    let is_column = lambda.params.iter().any(|param| self.walk.find(None, &param.name).is_some());
                    self.walk.throws(is_column);
                    self.walk.found.failing.by_order |= is_column;
                }
                let is_ordered = match other {
                    Expr::Function(function) => self.walk.follows(function),
                    // of two texts that it takes for one, either may stand for both
                    Expr::Collate { .. } => true,
                    _ => false,
                };
                self.walk.found.failing.by_order |= is_ordered;
                let equated = match other {
                    Expr::BinaryOp { left, op: BinaryOperator::Eq, right } | Expr::IsNotDistinctFrom(left, right) => {
                        self.walk.puts_one_for_another(left, right)
                    }
                    _ => false,
                };
                self.walk.found.failing.by_plan |= equated;
                if throws(other, &self.walk.scope()) {
                    self.walk.fails(leakproof::way(other));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// What is compared with the rows of a subquery, and that subquery.
fn compared_with(expr: &Expr) -> Option<(&Expr, &Query)> {
    use BinaryOperator as B;
    match expr {
        Expr::InSubquery { expr, subquery, .. } => Some((expr, subquery)),
        Expr::BinaryOp { left, op: B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq, right } => {
            match right.as_ref() {
                Expr::Subquery(subquery) => Some((left, subquery)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Types by the scopes of one place.
pub(in crate::govern) struct TypeScope<'a>(&'a [Vec<FromItem>], &'a Work);

impl<'a> TypeScope<'a> {
    fn output(&self, qualifier: Option<&str>, name: &str) -> Option<&'a Output> {
        let sources = self.0.iter().rev().flatten().take_while(|_| self.1.spend(1));
        let mut named =
            sources.filter(|source| qualifier.is_none_or(|wanted| source.alias.eq_ignore_ascii_case(wanted)));
        named.find_map(|source| {
            self.1.spend(source.outputs.len());
            source.outputs.iter().find(|output| output.name.eq_ignore_ascii_case(name))
        })
    }
}

impl<'a> TypeScope<'a> {
    /// What the select list defines by the name of a column: a condition may mean either.
    pub(in crate::govern) fn alias(&self, name: &str) -> Option<&'a Output> {
        let of = |scope: &'a [FromItem]| {
            let outputs = scope.iter().flat_map(|source| &source.outputs);
            outputs.take_while(|_| self.1.spend(1)).find(|output| output.name.eq_ignore_ascii_case(name))
        };
        self.0.windows(2).enumerate().rev().find_map(|(at, pair)| {
            let [defined, from] = pair else { return None };
            let is_list = matches!(defined.as_slice(), [only] if only.alias.is_empty());
            let found = is_list.then(|| of(defined)).flatten()?;
            let nearer = self.0.get(at + 2..).unwrap_or_default();
            (of(from).is_some() && !nearer.iter().any(|scope| of(scope).is_some())).then_some(found)
        })
    }
}

impl ColumnTypes for TypeScope<'_> {
    fn is_certain(&self) -> bool {
        true
    }

    fn exact(&self, qualifier: Option<&str>, name: &str) -> Option<Exact> {
        let exact = self.output(qualifier, name)?.exact.clone();
        let other = qualifier.is_none().then(|| self.alias(name)).flatten();
        exact.filter(|exact| other.is_none_or(|other| other.exact.as_ref() == Some(exact)))
    }

    fn width(&self, qualifier: Option<&str>, name: &str) -> Option<NumberWidth> {
        let width = self.output(qualifier, name)?.width;
        let other = qualifier.is_none().then(|| self.alias(name)).flatten();
        width.filter(|_| other.is_none_or(|other| other.width == width))
    }

    fn column(&self, qualifier: Option<&str>, name: &str) -> Type {
        let kind = self.output(qualifier, name).map_or(Type::Unknown, |output| output.kind);
        let other = qualifier.is_none().then(|| self.alias(name)).flatten();
        if other.is_none_or(|other| other.kind == kind) { kind } else { Type::Unknown }
    }
}

/// Aggregates of one value that give a value of its kind; of nothing but NULLs, NULL.
fn hands_through(name: &ObjectName) -> bool {
    names::single(name).and_then(|name| catalogue::find(&name.value)).is_some_and(|known| known.hands_through)
}
