//! A walk over a statement that knows which names WITH has taken.
//!
//! A name stands for a WITH query only where that is in scope: behind it in its own list, in the body
//! it belongs to and in what that holds, inside itself only when RECURSIVE is written. Everywhere
//! else it stands for the table. The rules are the engine's; should they ever differ, a reference
//! that was taken for a WITH query names nothing in the engine, because those are renamed.

use std::ops::ControlFlow;

use sqlparser::ast::{Ident, ObjectName, Query, SetExpr, TableFactor, Values, VisitorMut};

use crate::ast::error::Error;
use crate::ast::{VisitMut, flow_of, names, result_of};

/// A visitor of the places where a statement names a relation.
pub(crate) trait RelationVisitor {
    /// A table factor with all it holds visited; `with` is the WITH query its name stands for, `numbers` counts them.
    fn factor(&mut self, factor: &mut TableFactor, with: Option<usize>, numbers: &mut usize) -> Result<(), Error>;
    /// A WITH query after its body has been visited.
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
    let mut walk = ScopeWalk { relations, numbers, frames: Vec::new(), away: Vec::new() };
    result_of(part.visit(&mut walk))
}

struct ScopeWalk<'a> {
    relations: &'a mut dyn RelationVisitor,
    /// Counts the WITH queries of the whole statement.
    numbers: &'a mut usize,
    /// Names taken by the queries around the place, innermost last.
    frames: Vec<Vec<(String, usize)>>,
    /// Queries taken out of the tree while the visitor passes over their place.
    away: Vec<Query>,
}

impl ScopeWalk<'_> {
    #[recursive::recursive]
    fn query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.frames.push(Vec::new());
        let walked = self.parts(query);
        self.frames.pop();
        walked
    }

    fn parts(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if let Some(with) = &mut query.with {
            for cte in &mut with.cte_tables {
                let number = *self.numbers;
                *self.numbers += 1;
                let taken = (cte.alias.name.value.to_ascii_lowercase(), number);
                if with.recursive {
                    self.take(taken.clone());
                }
                cte.query.visit(self)?;
                if !with.recursive {
                    self.take(taken);
                }
                self.relations.defined(&mut cte.alias.name, number);
            }
        }
        query.body.visit(self)?;
        query.order_by.visit(self)?;
        query.limit_clause.visit(self)?;
        query.fetch.visit(self)
    }

    fn take(&mut self, taken: (String, usize)) {
        if let Some(frame) = self.frames.last_mut() {
            frame.push(taken);
        }
    }

    fn with_query(&self, name: &ObjectName) -> Option<usize> {
        let wanted = names::single(name)?.value.to_ascii_lowercase();
        let taken = self.frames.iter().rev().flat_map(|frame| frame.iter().rev());
        taken.filter(|(name, _)| *name == wanted).map(|(_, number)| *number).next()
    }
}

impl VisitorMut for ScopeWalk<'_> {
    type Break = Error;

    /// Takes the query out, walks it by scope, and lets the visitor pass over an empty one.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let mut own = std::mem::replace(query, empty());
        let walked = self.query(&mut own);
        self.away.push(own);
        walked
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if let Some(own) = self.away.pop() {
            *query = own;
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

fn empty() -> Query {
    let values = Values { explicit_row: false, value_keyword: false, rows: Vec::new() };
    Query {
        with: None,
        body: Box::new(SetExpr::Values(values)),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
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
