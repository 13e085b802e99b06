//! Sequences that a statement asks, which get their full name.

use sqlparser::ast::{Expr, Function, Ident, ObjectName};

use super::Binder;
use crate::ast::error::Error;
use crate::ast::names::TableName;
use crate::bind::sequence;
use crate::catalog::definition::{self, DefinitionKind};

impl Binder<'_> {
    /// `nextval('sequence')`, a call by this name. Whoever reads a view only reads. A sequence that belongs to a column is
    /// moved by its table alone, and of any other it must be known which one it is.
    pub(super) fn asks_a_sequence(&mut self, asked: &Ident, function: &Function) -> Result<Expr, Error> {
        if self.is_in_view() {
            return Err(Error::unsupported("NEXTVAL in a view"));
        }
        if function.args.to_string().to_ascii_lowercase().contains(definition::OWNED) {
            return Err(Error::unsupported("a sequence that belongs to a column"));
        }
        let name = sequence::named(function).ok_or_else(|| Error::unsupported("a sequence that no literal names"))?;
        let written = TableName::of(&name).ok_or_else(|| Error::unsupported("this form of name"))?;
        let found = self.catalog.defined(DefinitionKind::Sequence, &written, self.session);
        let found = found.ok_or_else(|| self.catalog.missing(&written))?;
        self.sequences.push(found.path());
        Ok(sequence::asked(&asked.value, &found.schema, &found.name))
    }

    /// `sequence.NEXTVAL`.
    pub(super) fn next_value(&mut self, path: &[Ident]) -> Option<Expr> {
        let (last, sequence) = path.split_last()?;
        if !last.value.eq_ignore_ascii_case("nextval") || sequence.is_empty() {
            return None;
        }
        let written = TableName::of(&ObjectName::from(sequence.to_vec()))?;
        let found = self.catalog.defined(DefinitionKind::Sequence, &written, self.session)?;
        self.sequences.push(found.path());
        Some(sequence::next(&found.schema, &found.name))
    }
}
