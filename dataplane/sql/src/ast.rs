//! The syntax tree: sqlparser's types, and what this crate adds to them.

mod visit;

pub(crate) use visit::{Visit, VisitMut, visit_expressions, visit_expressions_mut, visit_relations};
