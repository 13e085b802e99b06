//! The columns in reach of a whole statement, by name alone: for what is asked outside of any scope.

use std::collections::HashMap;

use super::ColumnTypes;
use crate::functions::types::Type;

/// The columns in reach of one statement, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    bare: HashMap<String, Type>,
    qualified: HashMap<String, HashMap<String, Type>>,
}

impl Known {
    /// Adds a column; a name met with two types becomes unknown.
    pub(crate) fn add(&mut self, qualifier: &str, name: &str, found: Type) {
        let name = name.to_ascii_lowercase();
        let columns = self.qualified.entry(qualifier.to_ascii_lowercase()).or_default();
        columns.entry(name.clone()).and_modify(|known| *known = agree(*known, found)).or_insert(found);
        self.bare.entry(name).and_modify(|known| *known = agree(*known, found)).or_insert(found);
    }
}

fn agree(one: Type, other: Type) -> Type {
    if one == other { one } else { Type::Unknown }
}

impl ColumnTypes for Known {
    fn column(&self, qualifier: Option<&str>, name: &str) -> Type {
        let name = name.to_ascii_lowercase();
        let columns = match qualifier {
            Some(qualifier) => self.qualified.get(&qualifier.to_ascii_lowercase()),
            None => Some(&self.bare),
        };
        columns.and_then(|columns| columns.get(&name)).copied().unwrap_or(Type::Unknown)
    }
}
