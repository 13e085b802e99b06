//! The names of one scope: relations of FROM, aliases of a select list, and columns that a query answers.

use std::collections::HashMap;

use sqlparser::ast::Expr;

use super::columns::{BoundColumn, BoundColumns, BoundType};
use crate::catalog::lower_case::lowered;

/// So many columns are compared one by one, which is quicker than to keep their types by name.
const COMPARED_MAX: usize = 32;

/// A relation of FROM, by the name that it has there.
#[derive(Debug)]
pub(super) struct BoundRelation {
    pub alias: String,
    pub columns: BoundColumns,
    /// Types by name in lower case, where it has many columns.
    types: HashMap<String, BoundType>,
}

impl BoundRelation {
    pub fn new(alias: String, columns: BoundColumns) -> Self {
        let mut types: HashMap<String, BoundType> = HashMap::new();
        if columns.columns.len() > COMPARED_MAX {
            for column in &columns.columns {
                let known = types.entry(column.name.to_ascii_lowercase()).or_insert_with(|| column.bound());
                *known = known.agree(column.bound());
            }
        }
        Self { alias, columns, types }
    }

    /// The type of its columns of this name.
    pub fn column(&self, name: &str) -> Option<BoundType> {
        if !self.types.is_empty() {
            return self.types.get(&*lowered(name)).copied();
        }
        let named = self.columns.columns.iter().filter(|column| column.name.eq_ignore_ascii_case(name));
        named.map(BoundColumn::bound).reduce(BoundType::agree)
    }
}

/// The names in reach of one select, or of the ORDER BY of one query.
#[derive(Debug, Default)]
pub(super) struct ScopeFrame {
    pub relations: Vec<BoundRelation>,
    /// Aliases of the select list so far, by their names in lower case; of a query its columns, where they are many.
    pub defined: HashMap<String, BoundType>,
    /// What aliases mean whose expressions must be repeated where they are named.
    pub meant: HashMap<String, Expr>,
    /// Columns of each select of the query so far, where it is the frame of a query.
    pub arms: Vec<BoundColumns>,
    /// What they become, where they are several.
    so_far: BoundColumns,
    /// Whether a name means an alias before it means a column.
    pub is_behind: bool,
}

impl ScopeFrame {
    /// Adds the columns of one more select of the query.
    pub fn answer(&mut self, outputs: BoundColumns) {
        self.so_far = match self.arms.as_slice() {
            [] => BoundColumns::default(),
            [first] => first.clone().united(&outputs),
            _ => std::mem::take(&mut self.so_far).united(&outputs),
        };
        self.arms.push(outputs);
        let answered = self.answered();
        let many = if answered.len() > COMPARED_MAX { answered } else { &[] };
        self.defined = many.iter().map(|column| (column.name.to_ascii_lowercase(), column.bound())).collect();
    }

    /// The columns that the selects of the query so far answer together.
    fn answered(&self) -> &[BoundColumn] {
        match self.arms.as_slice() {
            [only] => &only.columns,
            _ => &self.so_far.columns,
        }
    }

    /// The type of the alias of this name, or of the column that the query answers by it.
    fn alias(&self, name: &str) -> Option<BoundType> {
        if !self.defined.is_empty() {
            return self.defined.get(&*lowered(name)).copied();
        }
        let mut answered = self.answered().iter().rev();
        answered.find(|column| column.name.eq_ignore_ascii_case(name)).map(BoundColumn::bound)
    }
}

/// The names of one scope in reach: those of relations, and of what else a walk has met there.
#[derive(Clone, Copy)]
pub(super) struct ScopeNames<'s> {
    pub relations: &'s [BoundRelation],
    pub frame: Option<&'s ScopeFrame>,
}

impl<'s> From<&'s ScopeFrame> for ScopeNames<'s> {
    fn from(frame: &'s ScopeFrame) -> Self {
        Self { relations: &frame.relations, frame: Some(frame) }
    }
}

impl ScopeNames<'_> {
    /// The type of what a name without a path means here; a type that is not known for what it may mean.
    pub fn bare(self, name: &str) -> Option<ResolvedType> {
        let column = || {
            let types = self.relations.iter().filter_map(|relation| relation.column(name));
            types.reduce(BoundType::agree)
        };
        let found = match self.frame {
            Some(frame) if frame.is_behind => frame.alias(name).or_else(column),
            Some(frame) => column().or_else(|| frame.alias(name)),
            None => column(),
        };
        let is_open = || self.relations.iter().any(|relation| relation.columns.is_open);
        found.map(ResolvedType::Known).or_else(|| is_open().then_some(ResolvedType::Open))
    }

    pub fn of(self, relation: &str, name: &str) -> Option<ResolvedType> {
        let relation = self.relations.iter().find(|found| found.alias.eq_ignore_ascii_case(relation))?;
        Some(relation.column(name).map_or(ResolvedType::Open, ResolvedType::Known))
    }
}

/// The type of a resolved name.
#[derive(Debug, Clone, Copy)]
pub(super) enum ResolvedType {
    Known(BoundType),
    /// It may be a column of what has columns that are not known.
    Open,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::types::Type;

    #[test]
    fn a_name_means_the_same_among_few_columns_and_among_many() {
        for others in [0, COMPARED_MAX] {
            let other = |number: usize| BoundColumn::new(format!("other{number}"), Type::Blob);
            let named = [("Id", Type::Integer), ("twice", Type::Date), ("TWICE", Type::Text)];
            let named = named.map(|(name, kind)| BoundColumn::new(name, kind));
            let columns = BoundColumns { columns: (0..others).map(other).chain(named).collect(), is_open: false };
            let relation = BoundRelation::new("r".to_owned(), columns.clone());
            let found = ["iD", "Twice", "none"].map(|name| relation.column(name).map(|found| found.kind));
            assert_eq!(found, [Some(Type::Integer), Some(Type::Unknown), None], "{others}");
            let mut query = ScopeFrame::default();
            for selects in 1..=3 {
                query.answer(columns.clone());
                let found = ["iD", "Twice", "none"].map(|name| query.alias(name).map(|found| found.kind));
                assert_eq!(found, [Some(Type::Integer), Some(Type::Text), None], "{others}, {selects}");
            }
        }
    }
}
