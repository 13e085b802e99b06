//! Functions that compare by meaning: `semantic_match`, `semantic_rank` and `vector_match`.

use crate::functions::catalogue::Class;

/// Their names in a statement.
pub(crate) const CALLS: [&str; 3] = ["semantic_match", "semantic_rank", "vector_match"];

/// A call can end the statement: of too many texts no vectors are made.
pub(crate) fn class(name: &str) -> Option<Class> {
    CALLS.iter().any(|call| call.eq_ignore_ascii_case(name)).then_some(Class::Throwing)
}
