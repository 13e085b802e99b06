//! A walk over a statement that knows which names WITH has taken.
//!
//! A name stands for a WITH query only where that is in scope: behind it in its own list, in the body
//! it belongs to and in what that holds, inside itself only when RECURSIVE is written. Everywhere
//! else it stands for the table. The rules are the engine's; should they ever differ, a reference
//! that was taken for a WITH query names nothing in the engine, because those are renamed.

use std::ops::ControlFlow;

use sqlparser::ast::{Ident, ObjectName, Query, TableFactor, VisitorMut};

use crate::ast::error::Error;
use crate::ast::{VisitMut, flow_of, names, result_of};

/// A visitor of the places where a statement names a relation.
pub(crate) trait RelationVisitor {
    /// A table factor with all it holds visited; `with` is the WITH query its name stands for, `numbers` counts them.
    fn factor(&mut self, factor: &mut TableFactor, with: Option<usize>, numbers: &mut usize) -> Result<(), Error>;
    /// A WITH query after the query around it has been visited.
    fn defined(&mut self, _alias: &mut Ident, _number: usize) {}
    /// An expression before what it holds is visited.
    fn expr(&mut self, _expr: &mut sqlparser::ast::Expr) -> Result<(), Error> {
        Ok(())
    }
}

/// Visits every relation in a part of a statement.
pub(crate) fn walk<T: VisitMut>(
    part: &mut T,
    relations: &mut dyn RelationVisitor,
    numbers: &mut usize,
) -> Result<(), Error> {
    let mut walk = ScopeWalk { relations, numbers, queries: Vec::new() };
    result_of(part.visit(&mut walk))
}

struct ScopeWalk<'a> {
    relations: &'a mut dyn RelationVisitor,
    /// Counts the WITH queries of the whole statement.
    numbers: &'a mut usize,
    /// The queries around the place, innermost last.
    queries: Vec<WithNames>,
}

/// The names that the WITH of a query takes.
struct WithNames {
    is_recursive: bool,
    /// Its WITH queries that are not walked yet, from the last to the next, with their names.
    awaited: Vec<(*const Query, String)>,
    /// Names that are taken so far, with their numbers.
    taken: Vec<(String, usize)>,
    /// What the query itself takes in the one around it, once it is walked.
    own: Option<(String, usize)>,
}

impl ScopeWalk<'_> {
    /// The name and number of a query that begins, if it is one of the WITH around it and cannot name itself.
    fn begun(&mut self, query: &Query) -> Option<(String, usize)> {
        let around = self.queries.last_mut()?;
        let (_, name) = around.awaited.pop_if(|(awaited, _)| std::ptr::eq(*awaited, query))?;
        let own = (name, *self.numbers);
        *self.numbers += 1;
        if around.is_recursive {
            around.taken.push(own);
            return None;
        }
        Some(own)
    }

    fn with_query(&self, name: &ObjectName) -> Option<usize> {
        let wanted = names::single(name)?;
        let mut taken = self.queries.iter().rev().flat_map(|query| query.taken.iter().rev());
        taken.find(|(name, _)| name.eq_ignore_ascii_case(&wanted.value)).map(|(_, number)| *number)
    }
}

impl VisitorMut for ScopeWalk<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let own = self.begun(query);
        let ctes = query.with.iter().flat_map(|with| with.cte_tables.iter().rev());
        self.queries.push(WithNames {
            is_recursive: query.with.as_ref().is_some_and(|with| with.recursive),
            awaited: ctes.map(|cte| (std::ptr::from_ref(cte.query.as_ref()), cte.alias.name.value.clone())).collect(),
            taken: Vec::new(),
            own,
        });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let Some(WithNames { taken, own, .. }) = self.queries.pop() else { return ControlFlow::Continue(()) };
        let ctes = query.with.iter_mut().flat_map(|with| &mut with.cte_tables);
        for (cte, (_, number)) in ctes.zip(taken) {
            self.relations.defined(&mut cte.alias.name, number);
        }
        if let Some(around) = self.queries.last_mut() {
            around.taken.extend(own);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let with = match factor {
            TableFactor::Table { name, args: None, .. } => self.with_query(name),
            _ => None,
        };
        flow_of(self.relations.factor(factor, with, self.numbers))
    }

    fn pre_visit_expr(&mut self, expr: &mut sqlparser::ast::Expr) -> ControlFlow<Error> {
        flow_of(self.relations.expr(expr))
    }
}

/// Visits every relation a statement reads; what it writes to is not among them.
pub(crate) fn walk_statement(
    tree: &mut sqlparser::ast::Statement,
    relations: &mut dyn RelationVisitor,
) -> Result<(), Error> {
    use sqlparser::ast::Statement as S;
    let mut numbers = 0;
    let n = &mut numbers;
    match tree {
        S::Insert(insert) => {
            walk(&mut insert.source, relations, n)?;
            walk(&mut insert.multi_table_into_clauses, relations, n)?;
            walk(&mut insert.multi_table_when_clauses, relations, n)?;
            walk(&mut insert.multi_table_else_clause, relations, n)?;
            walk(&mut insert.on, relations, n)?;
            walk(&mut insert.returning, relations, n)
        }
        S::Update(update) => {
            walk(&mut update.assignments, relations, n)?;
            walk(&mut update.from, relations, n)?;
            walk(&mut update.selection, relations, n)?;
            walk(&mut update.returning, relations, n)
        }
        S::Delete(delete) => {
            walk(&mut delete.using, relations, n)?;
            walk(&mut delete.selection, relations, n)?;
            walk(&mut delete.returning, relations, n)
        }
        S::Merge(merge) => {
            walk(&mut merge.source, relations, n)?;
            walk(&mut merge.on, relations, n)?;
            walk(&mut merge.clauses, relations, n)
        }
        other => walk(other, relations, n),
    }
}
