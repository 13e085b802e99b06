//! One place of a statement: how names are looked up there, and the columns of queries that stand there.

use sqlparser::ast::{
    Expr, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, TableFactor, TableWithJoins, Value, Values, WildcardAdditionalOptions,
};

use super::super::types::ColumnTypes;
use super::super::types::digits::Digits;
use super::Scopes;
use super::columns::{self, BoundColumn, BoundColumns, BoundType};
use super::frame::{BoundRelation, ResolvedType, ScopeNames};
use crate::ast::names;
use crate::ast::names::ours::ITEM;
use crate::catalog::lower_case::lowered;
use crate::functions::catalogue;
use crate::functions::types::Type;
use crate::scan::marker::{self, Marked};

/// A select within a walk's scopes, looked at without walking it.
pub(super) struct Place<'p> {
    scopes: &'p Scopes<'p>,
    around: Option<&'p Place<'p>>,
    relations: Vec<BoundRelation>,
}

impl<'p> Place<'p> {
    pub(super) fn new(scopes: &'p Scopes<'p>, around: Option<&'p Place<'p>>) -> Self {
        Self { scopes, around, relations: Vec::new() }
    }

    /// The scopes in reach, innermost first.
    fn in_reach(&self) -> impl Iterator<Item = ScopeNames<'_>> {
        let around = std::iter::successors(Some(self), |place| place.around);
        let looked_at = around.map(|place| ScopeNames { relations: &place.relations, frame: None });
        looked_at.chain(self.scopes.frames.iter().rev().map(ScopeNames::from))
    }

    /// What a name without a path was resolved to.
    pub(super) fn resolve(&self, name: &str) -> Option<ResolvedType> {
        let parameters = &self.scopes.parameters;
        if !parameters.is_empty()
            && let Some(kind) = parameters.get(&*lowered(name))
        {
            return Some(ResolvedType::Known(BoundType { kind: *kind, minutes: None, digits: None }));
        }
        self.in_reach().find_map(|scope| scope.bare(name))
    }

    /// What is known of the column of this name.
    fn known(&self, qualifier: Option<&str>, name: &str) -> Option<BoundType> {
        let found = match qualifier {
            Some(relation) => self.in_reach().find_map(|scope| scope.of(relation, name)),
            None => self.resolve(name),
        };
        match found? {
            ResolvedType::Known(known) => Some(known),
            ResolvedType::Open => None,
        }
    }

    #[recursive::recursive]
    pub(super) fn query(&self, query: &Query) -> BoundColumns {
        self.body(&query.body)
    }

    #[recursive::recursive]
    pub(super) fn body(&self, body: &SetExpr) -> BoundColumns {
        match body {
            SetExpr::Select(select) => {
                let mut within = Place::new(self.scopes, Some(self));
                select.from.iter().for_each(|table| within.joined(table));
                within.projection(select)
            }
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, right, .. } => self.body(left).united(&self.body(right)),
            SetExpr::Values(values) => self.values(values),
            _ => BoundColumns::open(),
        }
    }

    fn values(&self, values: &Values) -> BoundColumns {
        let row = |row: &[Expr]| {
            let column = |(place, expr): (usize, &Expr)| self.column_of(expr, &format!("column{}", place + 1));
            BoundColumns { columns: row.iter().enumerate().map(column).collect(), is_open: false }
        };
        let mut rows = values.rows.iter().map(|cells| row(cells));
        let Some(first) = rows.next() else { return BoundColumns::open() };
        rows.fold(first, |so_far, row| so_far.united(&row))
    }

    fn joined(&mut self, table: &TableWithJoins) {
        for factor in std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)) {
            if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
                self.joined(table_with_joins);
            } else {
                let found = self.factor(factor);
                self.relations.push(BoundRelation::new(columns::alias(factor), found));
            }
        }
    }

    /// The columns of a relation under the names that FROM gives them.
    #[recursive::recursive]
    pub(super) fn factor(&self, factor: &TableFactor) -> BoundColumns {
        let found = match factor {
            TableFactor::Derived { subquery, .. } => self.query(subquery),
            TableFactor::NestedJoin { table_with_joins, .. } => {
                let mut within = Place::new(self.scopes, Some(self));
                within.joined(table_with_joins);
                BoundColumns::of_all(within.relations.iter().map(|relation| &relation.columns))
            }
            TableFactor::Pivot { table, .. } | TableFactor::Unpivot { table, .. } => {
                BoundColumns { is_open: true, ..self.factor(table) }
            }
            other => self.leaf(other),
        };
        found.renamed(columns::renamed(factor))
    }

    /// The columns of a table, a WITH query or a table function.
    pub(super) fn leaf(&self, factor: &TableFactor) -> BoundColumns {
        match factor {
            TableFactor::Table { name, args: None, .. } => self.named(name),
            TableFactor::Function { name, with_ordinality, .. }
            | TableFactor::Table { name, args: Some(_), with_ordinality, .. } => answer_of(name, *with_ordinality),
            _ => BoundColumns::open(),
        }
    }

    fn named(&self, name: &ObjectName) -> BoundColumns {
        if let Some(columns) = self.with(name) {
            return columns.clone();
        }
        let columns = self.scopes.tables.columns(name);
        columns.map_or_else(BoundColumns::open, |columns| BoundColumns { columns, is_open: false })
    }

    /// The columns of the WITH query that a name in FROM stands for.
    fn with(&self, name: &ObjectName) -> Option<&BoundColumns> {
        let with = &self.scopes.with;
        if with.is_empty() {
            return None;
        }
        match marker::read(name) {
            Some(Marked::With(number)) => with.get(&marker::with_name(number)),
            Some(Marked::Scan(_)) => None,
            None => with.get(&*lowered(&names::single(name)?.value)),
        }
    }

    /// The columns of a select, whose relations are in the innermost scope.
    pub(super) fn projection(&self, select: &Select) -> BoundColumns {
        let mut outputs = BoundColumns::default();
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => outputs.columns.push(self.column_of(expr, label(expr))),
                SelectItem::ExprWithAlias { expr, alias } => {
                    outputs.columns.push(self.column_of(expr, &alias.value));
                }
                SelectItem::Wildcard(options) => {
                    outputs.is_open |= select.from.iter().any(shows_once);
                    self.star(None, options, &mut outputs);
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    self.star(names::last(name).map(|name| name.value.as_str()), options, &mut outputs);
                }
                _ => outputs.is_open = true,
            }
        }
        outputs
    }

    fn column_of(&self, expr: &Expr, name: &str) -> BoundColumn {
        let is_null = matches!(expr, Expr::Value(value) if value.value == Value::Null);
        let BoundType { kind, minutes, digits } = BoundType::of(expr, self);
        let named = self.named_by(expr);
        let (length, is_jsonb) = named.map_or((None, false), |column| (column.length, column.is_jsonb));
        BoundColumn { name: name.into(), kind, is_null, length, minutes, is_jsonb, digits }
    }

    /// The column that an expression is.
    fn named_by(&self, expr: &Expr) -> Option<&BoundColumn> {
        let (qualifier, name) = match expr {
            Expr::Nested(inner) => return self.named_by(inner),
            Expr::Identifier(name) => (None, name),
            Expr::CompoundIdentifier(path) => match path.as_slice() {
                [.., relation, name] => (Some(relation), name),
                _ => return None,
            },
            _ => return None,
        };
        self.in_reach().find_map(|scope| {
            let of = |relation: &&BoundRelation| {
                qualifier.is_none_or(|qualifier| relation.alias.eq_ignore_ascii_case(&qualifier.value))
            };
            let mut columns = scope.relations.iter().filter(of).flat_map(|relation| &relation.columns.columns);
            columns.find(|column| column.name.eq_ignore_ascii_case(&name.value))
        })
    }

    fn star(&self, relation: Option<&str>, options: &WildcardAdditionalOptions, outputs: &mut BoundColumns) {
        // what is left out, renamed or computed anew is not followed
        outputs.is_open |= *options != WildcardAdditionalOptions::default();
        let is_meant = |known: &&BoundRelation| relation.is_none_or(|name| known.alias.eq_ignore_ascii_case(name));
        let scope = self.in_reach().find(|scope| scope.relations.iter().any(|known| is_meant(&known)));
        let Some(scope) = scope else {
            outputs.is_open = true;
            return;
        };
        for known in scope.relations.iter().filter(is_meant) {
            outputs.is_open |= known.columns.is_open;
            outputs.columns.extend(known.columns.columns.iter().cloned());
        }
    }
}

/// The columns that a table function answers.
fn answer_of(name: &ObjectName, counts: bool) -> BoundColumns {
    let Some(answered) = names::last(name).and_then(|name| catalogue::answered(&name.value)) else {
        return BoundColumns::open();
    };
    let unknown = answered.hidden.iter().copied().chain(counts.then_some("ordinality"));
    let all = answered.shown.iter().copied().chain(unknown.map(|name| (name, Type::Unknown)));
    let columns = all.map(|(name, kind)| BoundColumn::new(name, kind));
    BoundColumns { columns: columns.collect(), is_open: false }
}

/// The name of a column that has no alias; nothing where it is no name of a column.
fn label(expr: &Expr) -> &str {
    names::column(expr).map_or("", |name| name.value.as_str())
}

/// Whether a join of it shows some of its columns once, or not at all.
fn shows_once(table: &TableWithJoins) -> bool {
    table.joins.iter().any(|join| match &join.join_operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => {
            matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural)
        }
        JoinOperator::CrossJoin(_) => false,
        _ => true,
    })
}

impl ColumnTypes for Place<'_> {
    fn column(&self, qualifier: Option<&str>, name: &str) -> Type {
        match qualifier {
            // the items that FLATTEN was made into
            Some(ITEM) => {
                let mut known = catalogue::answered("flatten").into_iter().flat_map(|answered| &answered.shown);
                known.find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or(Type::Unknown, |(_, kind)| *kind)
            }
            _ => self.known(qualifier, name).map_or(Type::Unknown, |known| known.kind),
        }
    }

    fn minutes(&self, qualifier: Option<&str>, name: &str) -> Option<i32> {
        self.known(qualifier, name)?.minutes
    }

    fn digits(&self, qualifier: Option<&str>, name: &str) -> Option<Digits> {
        self.known(qualifier, name)?.digits
    }

    fn subquery(&self, query: &Query) -> Type {
        let columns = Place::new(self.scopes, Some(self)).query(query);
        match columns.columns.as_slice() {
            [only] if !columns.is_open => only.kind,
            _ => Type::Unknown,
        }
    }
}
