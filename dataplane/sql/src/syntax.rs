//! From text to a statement: tokens, the tree, what is refused, and its normal form.

pub(crate) mod credentials;
pub(crate) mod label;
pub(crate) mod layout;
pub(crate) mod lex;
pub(crate) mod listing;
pub(crate) mod parentheses;
pub(crate) mod parse;
pub(crate) mod refusals;
pub(crate) mod rewrites;
pub mod script;
pub mod statement;
pub(crate) mod variables;
