//! Where the answer's columns come from.
//!
//! Follows names through subqueries, WITH queries, joins and set operations down to the columns of the
//! scans. Three things are read off: which masked columns the answer is made of, which of its columns
//! *are* one (so their type is text), and the types of all names for the dialect. It decides nothing
//! about what is hidden: that is done where the tables are read.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CastKind, ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, Join, JoinConstraint, JoinOperator, ObjectName, Query, RenameSelectItem, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, SetQuantifier, Statement, TableAlias, TableFactor, TableWithJoins,
    UnaryOperator, UpdateTableFromKind, Visit, Visitor, WildcardAdditionalOptions,
};

use super::{Mask, Scan};
use crate::catalog::Table;
use crate::dialect;
use crate::functions::{self, Class};
use crate::names;
use crate::print::marker::{self, Marked};
use crate::types::{self, Columns, Known, Type};

/// A masked column of a scan: numbers of both.
pub(super) type Base = (usize, usize);

/// A column of a query.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub name: String,
    pub kind: Type,
    /// Masked columns its value is made of.
    pub reached: Vec<Base>,
    /// The masked column it is.
    pub direct: Option<Base>,
}

impl Output {
    fn unknown(name: &str) -> Self {
        Self { name: name.to_owned(), kind: Type::Unknown, reached: Vec::new(), direct: None }
    }
}

/// What names in FROM offer.
#[derive(Debug, Clone)]
struct Source {
    alias: String,
    outputs: Vec<Output>,
    /// Whether it may have more columns than these; what those would be made of.
    open: Option<Vec<Base>>,
    /// Columns that `*` shows once, under another source.
    merged: Vec<String>,
}

/// What the walk found.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    pub known: Known,
    pub can_throw: bool,
    /// The answer's columns; none when `*` stands for columns nobody can count here.
    pub outputs: Option<Vec<Output>>,
    reached: Vec<Base>,
    /// Masked columns that are named anywhere, or stand behind a `*`.
    touched: Vec<Base>,
    asked_about_masked: bool,
}

impl Lineage {
    /// `table.column`, in the order met, each once.
    pub(super) fn masked_columns(&self, scans: &[Scan]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (scan, column) in &self.reached {
            let Some(scan) = scans.get(*scan) else {
                continue;
            };
            let Some(column) = scan.columns.get(*column) else {
                continue;
            };
            let name = format!("{}.{}", scan.table.name, column.name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A column that is touched and may not be.
    pub(super) fn denied<'a>(&self, scans: &'a [Scan]) -> Option<(&'a Table, &'a str)> {
        self.touched.iter().find_map(|(scan, column)| {
            let scan = scans.get(*scan)?;
            let column = scan.columns.get(*column).filter(|column| column.mask == Some(Mask::Denied))?;
            Some((scan.table.as_ref(), column.name.as_str()))
        })
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        if self.asked_about_masked {
            vec!["a condition uses a masked column; it sees the masked value".to_owned()]
        } else {
            Vec::new()
        }
    }
}

pub(super) fn of(tree: &Statement, scans: &[Scan]) -> Lineage {
    let mut walk = Walk { scans, found: Lineage::default(), with: HashMap::new(), scopes: Vec::new() };
    match tree {
        Statement::Query(query) => walk.answer(query),
        Statement::CreateTable(create) => {
            if let Some(query) = &create.query {
                walk.answer(query);
                walk.found.outputs = None;
            }
        }
        Statement::Insert(insert) => {
            if let Some(query) = &insert.source {
                walk.answer(query);
                walk.found.outputs = None;
            }
            walk.found.can_throw = true;
        }
        Statement::Update(update) => {
            let mut from = vec![update.table.clone()];
            if let Some(UpdateTableFromKind::AfterSet(tables)) = &update.from {
                from.extend(tables.iter().cloned());
            }
            let scope = walk.from(&from);
            walk.scopes.push(scope);
            for assignment in &update.assignments {
                walk.condition(&assignment.value);
            }
            update.selection.iter().for_each(|selection| walk.condition(selection));
            walk.found.can_throw = true;
        }
        Statement::Delete(delete) => {
            let from = delete.using.clone().unwrap_or_default();
            let scope = walk.from(&from);
            walk.scopes.push(scope);
            delete.selection.iter().for_each(|selection| walk.condition(selection));
            walk.found.can_throw = true;
        }
        Statement::Merge(merge) => {
            let joined = |factor: &TableFactor| TableWithJoins { relation: factor.clone(), joins: Vec::new() };
            let scope = walk.from(&[joined(&merge.source)]);
            walk.scopes.push(scope);
            walk.condition(&merge.on);
            walk.found.can_throw = true;
        }
        _ => {}
    }
    walk.found
}

struct Walk<'a> {
    scans: &'a [Scan],
    found: Lineage,
    /// Columns of the WITH queries, by their number.
    with: HashMap<usize, (Vec<Output>, bool)>,
    scopes: Vec<Vec<Source>>,
}

impl Walk<'_> {
    fn answer(&mut self, query: &Query) {
        let (outputs, counted) = self.query(query);
        for output in &outputs {
            extend(&mut self.found.reached, &output.reached);
        }
        self.found.outputs = counted.then_some(outputs);
    }

    /// The columns of a query, and whether these are all.
    #[recursive::recursive]
    fn query(&mut self, query: &Query) -> (Vec<Output>, bool) {
        if let Some(with) = &query.with {
            for cte in &with.cte_tables {
                let number = with_number(&cte.alias.name);
                // A recursive query reads itself: what its first arm has stands for it meanwhile.
                if let (true, SetExpr::SetOperation { left, .. }, Some(number)) =
                    (with.recursive, cte.query.body.as_ref(), number)
                {
                    let first = self.body(left);
                    self.with.insert(number, renamed(first, &cte.alias));
                }
                let columns = self.query(&cte.query);
                if let Some(number) = number {
                    self.with.insert(number, renamed(columns, &cte.alias));
                }
            }
        }
        let columns = self.body(&query.body);
        if let Some(order_by) = &query.order_by {
            // What FROM has and the answer does not may sort it too.
            let below = match query.body.as_ref() {
                SetExpr::Select(select) if self.denies() => self.from(&select.from),
                _ => Vec::new(),
            };
            self.scopes.push(below);
            // Sorting by a column of the answer shows nothing more; names are those of the answer.
            self.scopes.push(vec![Source {
                alias: String::new(),
                outputs: columns.0.clone(),
                open: None,
                merged: Vec::new(),
            }]);
            let _ = self.visit(order_by);
            self.scopes.pop();
            self.scopes.pop();
        }
        let _ = self.visit(&query.limit_clause);
        columns
    }

    #[recursive::recursive]
    fn body(&mut self, body: &SetExpr) -> (Vec<Output>, bool) {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, right, set_quantifier, .. } => {
                let by_name = matches!(
                    set_quantifier,
                    SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName
                );
                let (mut left, left_counted) = self.body(left);
                let (right, right_counted) = self.body(right);
                if by_name {
                    return united_by_name(left, right, left_counted && right_counted);
                }
                for (output, other) in left.iter_mut().zip(&right) {
                    extend(&mut output.reached, &other.reached);
                    output.direct = output.direct.or(other.direct);
                    if output.kind != other.kind {
                        output.kind = Type::Unknown;
                    }
                }
                (left, left_counted && right_counted)
            }
            SetExpr::Values(values) => {
                let mut outputs: Vec<Output> = Vec::new();
                for row in &values.rows {
                    for (i, expr) in row.content.iter().enumerate() {
                        let made = self.output(expr, &format!("col{i}"));
                        match outputs.get_mut(i) {
                            Some(output) => {
                                extend(&mut output.reached, &made.reached);
                                output.direct = output.direct.or(made.direct);
                            }
                            None => outputs.push(made),
                        }
                    }
                }
                (outputs, true)
            }
            _ => (Vec::new(), false),
        }
    }

    fn select(&mut self, select: &Select) -> (Vec<Output>, bool) {
        let scope = self.from(&select.from);
        self.scopes.push(scope);
        let mut outputs = Vec::with_capacity(select.projection.len());
        let mut counted = true;
        for item in &select.projection {
            counted &= self.item(item, &mut outputs);
        }
        // Conditions may name what the select list defines.
        let defined = Source { alias: String::new(), outputs: outputs.clone(), open: None, merged: Vec::new() };
        self.scopes.insert(self.scopes.len() - 1, vec![defined]);
        select.selection.iter().for_each(|expr| self.condition(expr));
        select.having.iter().for_each(|expr| self.condition(expr));
        select.qualify.iter().for_each(|expr| self.condition(expr));
        let _ = self.visit(&select.group_by);
        let _ = self.visit(&select.named_window);
        let _ = self.visit(&select.distinct);
        self.scopes.pop();
        self.scopes.pop();
        (outputs, counted)
    }

    fn item(&mut self, item: &SelectItem, outputs: &mut Vec<Output>) -> bool {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let name = match expr {
                    Expr::Identifier(ident) => ident.value.clone(),
                    Expr::CompoundIdentifier(path) => path.last().map_or_else(String::new, |ident| ident.value.clone()),
                    other => crate::print::label(other).unwrap_or_default(),
                };
                let output = self.output(expr, &name);
                outputs.push(output);
                true
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                let output = self.output(expr, &alias.value);
                outputs.push(output);
                true
            }
            SelectItem::Wildcard(options) => {
                let sources = self.scopes.last().cloned().unwrap_or_default();
                self.star(&sources, options, outputs)
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                let wanted = names::last(name).map_or("", |ident| ident.value.as_str());
                let found = self.sources().find(|source| source.alias.eq_ignore_ascii_case(wanted)).cloned();
                let Some(mut source) = found else {
                    return false;
                };
                source.merged.clear();
                self.star(&[source], options, outputs)
            }
            _ => false,
        }
    }

    fn star(&mut self, sources: &[Source], options: &WildcardAdditionalOptions, outputs: &mut Vec<Output>) -> bool {
        let excluded = excluded(options);
        let mut counted = options.opt_ilike.is_none() && !sources.is_empty();
        for source in sources {
            counted &= source.open.is_none();
            for output in &source.outputs {
                let is = |name: &String| name.eq_ignore_ascii_case(&output.name);
                if excluded.iter().any(is) || source.merged.iter().any(is) {
                    continue;
                }
                let starred = self.starred(output, options);
                extend(&mut self.found.touched, &starred.reached);
                outputs.push(starred);
            }
            if let Some(reached) = &source.open {
                extend(&mut self.found.reached, reached);
                extend(&mut self.found.touched, reached);
            }
        }
        counted
    }

    /// A column of `*`, replaced or renamed if the options say so.
    fn starred(&mut self, output: &Output, options: &WildcardAdditionalOptions) -> Output {
        let name = output.name.clone();
        let mut output = output.clone();
        let replaced = options.opt_replace.iter().flat_map(|replace| &replace.items);
        for element in replaced.filter(|element| element.column_name.value.eq_ignore_ascii_case(&name)) {
            output = self.output(&element.expr, &name);
        }
        let renamed = match &options.opt_rename {
            None => &[][..],
            Some(RenameSelectItem::Single(one)) => std::slice::from_ref(one),
            Some(RenameSelectItem::Multiple(many)) => many,
        };
        for item in renamed.iter().filter(|item| item.ident.value.eq_ignore_ascii_case(&name)) {
            output.name.clone_from(&item.alias.value);
        }
        output
    }

    fn from(&mut self, from: &[TableWithJoins]) -> Vec<Source> {
        // What stands to the left is in reach of what stands to the right.
        self.scopes.push(Vec::new());
        for table in from {
            let sources = self.joined(table);
            self.add(sources);
        }
        self.scopes.pop().unwrap_or_default()
    }

    fn add(&mut self, sources: Vec<Source>) {
        for source in &sources {
            for output in &source.outputs {
                self.found.known.add(&source.alias, &output.name, output.kind);
            }
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.extend(sources);
        }
    }

    fn joined(&mut self, table: &TableWithJoins) -> Vec<Source> {
        let mut sources = self.factor(&table.relation);
        for Join { relation, join_operator, .. } in &table.joins {
            self.scopes.push(sources.clone());
            let mut right = self.factor(relation);
            self.scopes.pop();
            let constraint = constraint(join_operator);
            merge(&sources, &mut right, constraint);
            self.joined_by_name(&sources, &right, constraint);
            if matches!(
                join_operator,
                JoinOperator::Semi(_) | JoinOperator::LeftSemi(_) | JoinOperator::Anti(_) | JoinOperator::LeftAnti(_)
            ) {
                for source in &mut right {
                    source.merged = source.outputs.iter().map(|output| output.name.clone()).collect();
                }
            }
            sources.extend(right);
            if let Some(JoinConstraint::On(expr)) = constraint {
                self.scopes.push(sources.clone());
                self.condition(expr);
                self.scopes.pop();
            }
        }
        sources
    }

    /// Columns of one name on both sides that USING and NATURAL compare.
    fn joined_by_name(&mut self, left: &[Source], right: &[Source], constraint: Option<&JoinConstraint>) {
        if !matches!(constraint, Some(JoinConstraint::Using(_) | JoinConstraint::Natural)) {
            return;
        }
        let merged = |name: &str| right.iter().flat_map(|source| &source.merged).any(|m| m.eq_ignore_ascii_case(name));
        let has = |sources: &[Source], name: &str| {
            sources.iter().flat_map(|source| &source.outputs).any(|output| output.name.eq_ignore_ascii_case(name))
        };
        for output in left.iter().chain(right).flat_map(|source| &source.outputs) {
            if merged(&output.name) && has(left, &output.name) && has(right, &output.name) {
                extend(&mut self.found.touched, &output.reached);
            }
        }
    }

    #[recursive::recursive]
    fn factor(&mut self, factor: &TableFactor) -> Vec<Source> {
        let (columns, alias) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => (self.named(name), alias),
            TableFactor::Derived { subquery, alias, .. } => (self.query(subquery), alias),
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let sources = self.joined(table_with_joins);
                let Some(alias) = alias else { return sources };
                let counted = sources.iter().all(|source| source.open.is_none());
                let outputs = sources.into_iter().flat_map(|source| source.outputs).collect();
                return vec![source((outputs, counted), Some(alias))];
            }
            TableFactor::Pivot { table, alias, .. } | TableFactor::Unpivot { table, alias, .. } => {
                let sources = self.factor(table);
                self.add(sources.clone());
                let reached: Vec<Base> = sources
                    .iter()
                    .flat_map(|source| source.outputs.iter().flat_map(|output| output.reached.clone()))
                    .collect();
                // Every column that is not named groups the rows.
                extend(&mut self.found.touched, &reached);
                return vec![Source {
                    alias: alias_of(alias.as_ref()),
                    outputs: Vec::new(),
                    open: Some(reached),
                    merged: Vec::new(),
                }];
            }
            TableFactor::Table { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::TableFunction { alias, .. } => {
                let reached = self.visit(factor);
                let names = alias.iter().flat_map(|alias| &alias.columns);
                let outputs =
                    names.map(|column| Output { reached: reached.clone(), ..Output::unknown(&column.name.value) });
                return vec![Source {
                    alias: alias_of(alias.as_ref()),
                    outputs: outputs.collect(),
                    open: Some(reached),
                    merged: Vec::new(),
                }];
            }
            _ => return Vec::new(),
        };
        vec![source(columns, alias.as_ref())]
    }

    /// Is there a column that may not be touched?
    fn denies(&self) -> bool {
        self.scans.iter().flat_map(|scan| &scan.columns).any(|column| column.mask == Some(Mask::Denied))
    }

    fn named(&self, name: &ObjectName) -> (Vec<Output>, bool) {
        match marker::read(name) {
            Some(Marked::With(number)) => self.with.get(&number).cloned().unwrap_or_default(),
            Some(Marked::Scan(number)) => (self.scan(number), true),
            None => (Vec::new(), false),
        }
    }

    fn scan(&self, number: usize) -> Vec<Output> {
        let Some(scan) = self.scans.get(number) else {
            return Vec::new();
        };
        let output = |(i, column): (usize, &super::ScanColumn)| {
            let masked = column.mask.map(|_| (number, i));
            let kind = match column.mask {
                Some(Mask::Partial { .. } | Mask::Hash) => Type::Text,
                _ => Type::of_name(&column.type_name),
            };
            Output { name: column.name.clone(), kind, reached: masked.into_iter().collect(), direct: masked }
        };
        scan.columns.iter().enumerate().map(output).collect()
    }

    fn output(&mut self, expr: &Expr, name: &str) -> Output {
        let kind = types::type_of(expr, &Scope(&self.scopes));
        let direct = self.direct(expr);
        let reached = self.visit(expr);
        Output { name: name.to_owned(), kind, reached, direct }
    }

    /// The masked column an expression is: a name, or an aggregate that hands one value through.
    fn direct(&self, expr: &Expr) -> Option<Base> {
        match expr {
            Expr::Identifier(ident) => self.find(None, ident).and_then(|output| output.direct),
            Expr::CompoundIdentifier(path) => match path.as_slice() {
                [.., table, column] => self.find(Some(table), column).and_then(|output| output.direct),
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

    fn condition(&mut self, expr: &Expr) {
        let reached = self.visit(expr);
        self.found.asked_about_masked |= !reached.is_empty();
    }

    /// Everything masked that a part of the statement is made of.
    fn visit<T: Visit>(&mut self, part: &T) -> Vec<Base> {
        let mut visit = Inside { walk: self, reached: Vec::new(), depth: 0 };
        let _: ControlFlow<()> = part.visit(&mut visit);
        visit.reached
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        self.scopes.iter().rev().flatten()
    }

    fn find(&self, table: Option<&Ident>, column: &Ident) -> Option<&Output> {
        let named = |source: &&Source| table.is_none_or(|table| source.alias.eq_ignore_ascii_case(&table.value));
        let outputs = self.sources().filter(named).flat_map(|source| &source.outputs);
        outputs.into_iter().find(|output| output.name.eq_ignore_ascii_case(&column.value))
    }

    fn reached_by(&self, table: Option<&Ident>, column: &Ident) -> Vec<Base> {
        if let Some(output) = self.find(table, column) {
            return output.reached.clone();
        }
        // A whole row, a field of a struct column, or a column of something that may have any.
        let mut reached = Vec::new();
        for source in self.sources() {
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
    walk: &'w mut Walk<'a>,
    reached: Vec<Base>,
    /// How many subqueries the visitor is inside of.
    depth: usize,
}

impl Inside<'_, '_> {
    fn touch(&mut self, reached: &[Base]) {
        extend(&mut self.reached, reached);
        extend(&mut self.walk.found.touched, reached);
    }
}

impl Visitor for Inside<'_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if self.depth == 0 {
            let (outputs, _) = self.walk.query(query);
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
            }
            other => {
                let scope = Scope(&self.walk.scopes);
                self.walk.found.can_throw |= throws(other, &scope);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Types by the scopes of one place.
struct Scope<'a>(&'a [Vec<Source>]);

impl Columns for Scope<'_> {
    fn column(&self, qualifier: Option<&str>, name: &str) -> Type {
        let sources = self.0.iter().rev().flatten();
        let named = sources.filter(|source| qualifier.is_none_or(|wanted| source.alias.eq_ignore_ascii_case(wanted)));
        let mut outputs = named.flat_map(|source| &source.outputs);
        outputs.find(|output| output.name.eq_ignore_ascii_case(name)).map_or(Type::Unknown, |output| output.kind)
    }
}

/// Whether an expression can raise an error that depends on the values it meets. Comparing two
/// families of types casts one to the other, which can.
fn throws(expr: &Expr, columns: &dyn Columns) -> bool {
    match expr {
        Expr::Cast { kind, .. } => matches!(kind, CastKind::Cast | CastKind::DoubleColon),
        Expr::Function(function) => {
            let name = names::last(&function.name).map_or("", |ident| ident.value.as_str());
            let reads_text = dialect::reads_moment(name)
                && sole_argument(function).is_none_or(|moment| !types::type_of(moment, columns).is_moment());
            reads_text || functions::class(name) != Some(Class::Safe)
        }
        Expr::BinaryOp { left, op, right } => throws_between(left, op, right, columns),
        Expr::InList { expr, list, .. } => list.iter().any(|item| !same_family(expr, item, columns)),
        Expr::Between { expr, low, high, .. } => !same_family(expr, low, columns) || !same_family(expr, high, columns),
        Expr::UnaryOp { op, .. } => *op != UnaryOperator::Not,
        Expr::TypedString(_)
        | Expr::AtTimeZone { .. }
        | Expr::Extract { .. }
        | Expr::Substring { .. }
        | Expr::CompoundFieldAccess { .. }
        | Expr::JsonAccess { .. }
        | Expr::Subquery(_)
        | Expr::InSubquery { .. }
        | Expr::SimilarTo { .. }
        | Expr::RLike { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. } => true,
        _ => false,
    }
}

fn throws_between(left: &Expr, op: &BinaryOperator, right: &Expr, columns: &dyn Columns) -> bool {
    use BinaryOperator as B;
    match op {
        B::And | B::Or | B::StringConcat => false,
        B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => !same_family(left, right, columns),
        _ => true,
    }
}

fn same_family(left: &Expr, right: &Expr, columns: &dyn Columns) -> bool {
    let (left, right) = (types::type_of(left, columns), types::type_of(right, columns));
    left != Type::Unknown && (left == right || left.is_number() && right.is_number())
}

/// Aggregates of one value that give a value of its kind; of nothing but NULLs, NULL.
fn hands_through(name: &ObjectName) -> bool {
    const NAMES: [&str; 9] = ["min", "max", "avg", "sum", "any_value", "first", "last", "median", "mode"];
    names::single(name).is_some_and(|ident| NAMES.iter().any(|known| ident.value.eq_ignore_ascii_case(known)))
}

fn sole_argument(function: &Function) -> Option<&Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))] => Some(expr),
        _ => None,
    }
}

fn source((mut outputs, counted): (Vec<Output>, bool), alias: Option<&TableAlias>) -> Source {
    let columns = alias.iter().flat_map(|alias| &alias.columns);
    for (output, column) in outputs.iter_mut().zip(columns) {
        output.name.clone_from(&column.name.value);
    }
    let reached = || outputs.iter().flat_map(|output| output.reached.clone()).collect();
    let open = if counted { None } else { Some(reached()) };
    Source { alias: alias_of(alias), outputs, open, merged: Vec::new() }
}

fn renamed((mut outputs, counted): (Vec<Output>, bool), alias: &TableAlias) -> (Vec<Output>, bool) {
    for (output, column) in outputs.iter_mut().zip(&alias.columns) {
        output.name.clone_from(&column.name.value);
    }
    (outputs, counted)
}

fn alias_of(alias: Option<&TableAlias>) -> String {
    alias.map_or_else(String::new, |alias| alias.name.value.clone())
}

fn with_number(alias: &Ident) -> Option<usize> {
    alias.value.strip_prefix(marker::WITH_PREFIX).and_then(|digits| digits.parse().ok())
}

fn united_by_name(mut left: Vec<Output>, right: Vec<Output>, counted: bool) -> (Vec<Output>, bool) {
    for output in right {
        match left.iter_mut().find(|known| known.name.eq_ignore_ascii_case(&output.name)) {
            Some(known) => {
                extend(&mut known.reached, &output.reached);
                known.direct = known.direct.or(output.direct);
            }
            None => left.push(output),
        }
    }
    (left, counted)
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::AsOf { constraint, .. } => Some(constraint),
        _ => None,
    }
}

/// Columns that a join shows once.
fn merge(left: &[Source], right: &mut [Source], constraint: Option<&JoinConstraint>) {
    match constraint {
        Some(JoinConstraint::Using(columns)) => {
            let columns: Vec<String> =
                columns.iter().filter_map(names::last).map(|ident| ident.value.clone()).collect();
            for source in right {
                source.merged.clone_from(&columns);
            }
        }
        Some(JoinConstraint::Natural) => {
            let columns: Vec<String> =
                left.iter().flat_map(|source| &source.outputs).map(|output| output.name.clone()).collect();
            for source in right {
                source.merged.clone_from(&columns);
            }
        }
        _ => {}
    }
}

fn excluded(options: &WildcardAdditionalOptions) -> Vec<String> {
    let mut names: Vec<String> = match &options.opt_exclude {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => {
            names::last(name).into_iter().map(|ident| ident.value.clone()).collect()
        }
        Some(ExcludeSelectItem::Multiple(many)) => {
            many.iter().filter_map(names::last).map(|ident| ident.value.clone()).collect()
        }
    };
    if let Some(except) = &options.opt_except {
        names.push(except.first_element.value.clone());
        names.extend(except.additional_elements.iter().map(|ident| ident.value.clone()));
    }
    names
}

fn extend(reached: &mut Vec<Base>, more: &[Base]) {
    for base in more {
        if !reached.contains(base) {
            reached.push(*base);
        }
    }
}
