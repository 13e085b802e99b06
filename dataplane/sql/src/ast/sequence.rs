//! `OR REPLACE` of a sequence, which the tree has no place of its own for.

use sqlparser::ast::{Ident, ObjectName, Statement};

use crate::ast::names;

/// The statement remembers `OR REPLACE` as its owner: a zero character is in no name that a text can hold.
const REPLACES: &str = "\0or replace";

/// The statement, with `OR REPLACE`.
pub(crate) fn replacing(mut tree: Statement) -> Statement {
    if let Statement::CreateSequence { owned_by: owned_by @ None, .. } = &mut tree {
        *owned_by = Some(ObjectName::from(vec![Ident::new(REPLACES)]));
    }
    tree
}

/// Whether it takes the place of a sequence that may be there.
pub(crate) fn replaces(owned_by: Option<&ObjectName>) -> bool {
    owned_by.and_then(names::single).is_some_and(|owner| owner.value == REPLACES)
}
