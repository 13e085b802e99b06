//! The syntax tree: sqlparser's types, and what this crate adds to them.

pub mod array_text;
pub(crate) mod associative;
pub(crate) mod call;
pub(crate) mod construct;
pub(crate) mod depth;
pub mod error;
pub(crate) mod expression;
pub mod names;
pub(crate) mod outside;
pub(crate) mod partial;
pub mod quote;
pub(crate) mod scope;
pub(crate) mod sequence;
pub(crate) mod star;
mod visit;

pub(crate) use visit::{
    Visit, VisitMut, any_expression, change_expressions, change_factors, each_expression, each_factor, each_select,
    flow_of, has_query, inner_first, outer_first, result_of, try_change_expressions, try_change_factors,
    visit_expressions, visit_relations,
};
