//! Values that are equal and can be told apart: zero and minus zero, a month and thirty days, `a` and `A` where case
//! does not count. Which of them stands for all follows the order that rows come in; and DOUBLEs, which have such
//! values, add up to another sum in another order.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArgumentClause, FunctionArguments, GroupByExpr, Ident, Select, SelectItem,
    SelectItemQualifiedWildcardKind, UnaryOperator, Value, Visitor,
};

use crate::ast::call::given;
use crate::ast::expression::is_null;
use crate::ast::{Visit, names};
use crate::functions::catalogue::{self, EqualValues};
use crate::functions::types::Type;
use crate::govern::lineage::{FromItem, LineageWalk, Output, budget};

impl LineageWalk<'_> {
    /// Whether two equal values of it may differ. What is not known may.
    #[recursive::recursive]
    pub(in crate::govern) fn has_indistinct_values(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Identifier(ident) => {
                let alias = self.scope().alias(&ident.value);
                self.find(None, ident).is_none_or(|output| output.has_indistinct_values)
                    || alias.is_some_and(|one| one.has_indistinct_values)
            }
            Expr::CompoundIdentifier(path) => match path.as_slice() {
                [table, column] => self.find(Some(table), column).is_none_or(|output| output.has_indistinct_values),
                _ => true,
            },
            Expr::Nested(inner) => self.has_indistinct_values(inner),
            Expr::UnaryOp { op: UnaryOperator::Plus | UnaryOperator::Minus, expr } => self.becomes_indistinct(expr),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply,
                right,
            } => of_kind(self.type_of(expr)) && (self.becomes_indistinct(left) || self.becomes_indistinct(right)),
            Expr::Case { conditions, else_result, .. } => {
                let results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
                let results: Vec<&Expr> = results.collect();
                results.iter().any(|result| self.has_indistinct_values(result)) || self.are_mixed(&results)
            }
            Expr::Function(function) => {
                let (equal, given) = (equal_values(function), arguments(function));
                // to a digit behind the point it is a DOUBLE
                let is_of_digits = equal == Some(EqualValues::Whole) && given.len() > 1;
                let has = |values: &[&Expr]| match equal {
                    None => true,
                    Some(_) if values.iter().any(|value| self.has_indistinct_values(value)) => true,
                    Some(EqualValues::Passed | EqualValues::Counted) => false,
                    Some(EqualValues::Numeric | EqualValues::Whole) => {
                        values.iter().any(|value| self.is_read_as_number(value))
                    }
                    Some(EqualValues::Chosen) => self.are_mixed(values),
                };
                is_of_digits || of_kind(self.type_of(expr)) && has(&given)
            }
            other => !is_null(other) && of_kind(self.type_of(other)),
        }
    }

    /// The same where a number is asked for.
    fn becomes_indistinct(&self, expr: &Expr) -> bool {
        self.has_indistinct_values(expr) || self.is_read_as_number(expr)
    }

    /// Whether it is a text where a number is asked for: that is read as a DOUBLE, and `'-0'` is minus zero. What may
    /// be a text is one.
    fn is_read_as_number(&self, expr: &Expr) -> bool {
        let counts = || match expr {
            Expr::Function(function) => {
                matches!(equal_values(function), Some(EqualValues::Counted | EqualValues::Numeric | EqualValues::Whole))
            }
            _ => false,
        };
        match self.type_of(expr) {
            Type::Text => true,
            Type::Unknown => !is_null(expr) && !counts(),
            _ => false,
        }
    }

    /// Whether texts among them become numbers.
    fn are_mixed(&self, values: &[&Expr]) -> bool {
        let has = |is_one: fn(Type) -> bool| values.iter().any(|value| is_one(self.type_of(value)));
        has(|kind| kind == Type::Text) && has(Type::is_number)
    }

    /// Whether what stands to the left, or around it, is asked for in a query by an indistinct value: the engine asks
    /// once for all that are equal, by the first of them.
    pub(in crate::govern) fn correlates_by_indistinct_values<T: Visit>(&self, part: &T) -> bool {
        part.visit(&mut Correlated(self)).is_break()
    }

    /// Whether the engine may put one of two columns that are equated in the other's place, as it does where rows meet.
    /// It spares numbers and spans of time themselves, and not what they stand in.
    pub(in crate::govern) fn puts_one_for_another(&self, left: &Expr, right: &Expr) -> bool {
        let is_put = |expr: &Expr| is_nest(self.type_of(expr)) && self.has_indistinct_values(expr);
        is_column(left) && is_column(right) && (is_put(left) || is_put(right))
    }

    /// Whether one of several equal rows stands for all of them in what is selected.
    pub(in crate::govern) fn stands_for_indistinct_values(&self, select: &Select, outputs: &[Output]) -> bool {
        let selected = || outputs.iter().any(|output| output.has_indistinct_values);
        let is_grouped = match &select.group_by {
            GroupByExpr::All(_) => selected(),
            GroupByExpr::Expressions(keys, _) => keys.iter().any(|key| self.key_has_indistinct_values(key, select)),
        };
        is_grouped || select.distinct.is_some() && selected()
    }

    fn key_has_indistinct_values(&self, key: &Expr, select: &Select) -> bool {
        match key {
            Expr::Cube(sets) | Expr::Rollup(sets) | Expr::GroupingSets(sets) => {
                sets.iter().flatten().any(|key| self.key_has_indistinct_values(key, select))
            }
            Expr::Tuple(keys) => keys.iter().any(|key| self.key_has_indistinct_values(key, select)),
            key => match place(key) {
                Some(place) => select.projection.get(place).is_none_or(|item| self.item_has_indistinct_values(item)),
                None => self.has_indistinct_values(key),
            },
        }
    }

    fn item_has_indistinct_values(&self, item: &SelectItem) -> bool {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => self.has_indistinct_values(expr),
            _ => true,
        }
    }
}

/// Finds an indistinct value of what is in reach.
struct Correlated<'w, 'a>(&'w LineageWalk<'a>);

impl Correlated<'_, '_> {
    /// All columns of what is called so.
    fn has_indistinct_values(&self, alias: &Ident) -> bool {
        let named = |source: &&FromItem| source.alias.eq_ignore_ascii_case(&alias.value);
        let mut sources = self.0.sources().filter(named);
        sources.any(|source| source.open.is_some() || source.outputs.iter().any(|output| output.has_indistinct_values))
    }
}

impl Visitor for Correlated<'_, '_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let is_one = |item: &SelectItem| match item {
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                names::last(name).is_some_and(|alias| self.has_indistinct_values(alias))
            }
            _ => false,
        };
        if select.projection.iter().any(is_one) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_one = |table: Option<&Ident>, column: &Ident| {
            self.0.find(table, column).is_some_and(|one| one.has_indistinct_values)
        };
        let found = !self.0.work.spend(budget::EXPRESSION)
            || match expr {
                Expr::Identifier(ident) => is_one(None, ident) || self.has_indistinct_values(ident),
                Expr::CompoundIdentifier(path) => match path.as_slice() {
                    [first, second, ..] => {
                        let last = path.last().unwrap_or(second);
                        is_one(Some(first), second) || is_one(None, first) || is_one(Some(second), last)
                    }
                    _ => true,
                },
                _ => false,
            };
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_column(inner),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
        _ => false,
    }
}

/// Whether values of the type may hold others.
pub(in crate::govern) fn is_nest(kind: Type) -> bool {
    matches!(kind, Type::List | Type::Struct | Type::Map | Type::Json | Type::Unknown)
}

/// Whether values of a type may be indistinct: equal and yet not the same. Those of a type that is not known may.
pub(in crate::govern) fn of_kind(kind: Type) -> bool {
    match kind {
        // a variant is ordered by a key, and two of them may have the same
        Type::Double | Type::Interval | Type::List | Type::Struct | Type::Map | Type::Json | Type::Unknown => true,
        Type::Boolean
        | Type::Integer
        | Type::Decimal
        | Type::Text
        | Type::Blob
        | Type::Date
        | Type::Time
        | Type::Timestamp
        | Type::TimestampTz
        | Type::Uuid => false,
    }
}

/// `GROUP BY 2`.
fn place(key: &Expr) -> Option<usize> {
    let Expr::Value(value) = key else { return None };
    let Value::Number(digits, _) = &value.value else { return None };
    digits.parse::<usize>().ok()?.checked_sub(1)
}

fn equal_values(function: &Function) -> Option<EqualValues> {
    catalogue::find(&names::single(&function.name)?.value)?.equal
}

/// Expressions that a call is given, and those that order what it is given.
pub(super) fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let ordered = list.clauses.iter().flat_map(|clause| match clause {
        FunctionArgumentClause::OrderBy(keys) => keys.as_slice(),
        _ => &[],
    });
    let keys = ordered.chain(&function.within_group).map(|key| &key.expr);
    list.args.iter().filter_map(given).chain(keys).collect()
}
