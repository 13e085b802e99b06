//! The definitions on a real API server: it judges every case of `crds/cases` as the offline
//! evaluator does, and offers what a platform team expects of a kind.

mod rules;
mod served;
