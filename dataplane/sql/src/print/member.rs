//! Members of a record as columns of their own, where a view of a file has these in place of the record.

use sqlparser::ast::{BinaryOperator, DataType, Expr, Ident, Value};

use super::Printer;
use crate::ast::error::Error;
use crate::ast::quote;

/// The column of whole records.
pub(crate) const RECORD: &str = "$1";

/// A member of a record, as a text reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRead {
    pub name: String,
    /// The path to it, as the engine reads one.
    pub path: String,
    /// The engine's type that its text is cast to at once, if it is.
    pub type_name: Option<String>,
}

impl MemberRead {
    /// The name of its column.
    pub fn column(&self) -> String {
        let type_name = self.type_name.as_ref().map_or_else(String::new, |name| format!("::{name}"));
        format!("{RECORD}:{}{type_name}", self.name)
    }
}

impl Printer<'_> {
    /// Prints the text of a member as its column, where these are printed; false for all else.
    pub(super) fn member(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        cast: Option<&DataType>,
    ) -> Result<bool, Error> {
        if self.member_reads.is_none() || *op != BinaryOperator::LongArrow {
            return Ok(false);
        }
        let (Some(qualifier), Some((name, path))) = (record(left), member_of(right)) else { return Ok(false) };
        let type_name = cast.map(|data_type| self.named(data_type)).transpose()?;
        let read = MemberRead { name, path, type_name };
        let column = read.column();
        // the engine finds a column in any letter case, and a member is of its own
        let is_anothers = |other: &MemberRead| *other != read && other.column().eq_ignore_ascii_case(&column);
        if self.member_reads.iter().flatten().any(is_anothers) {
            return Ok(false);
        }
        for part in qualifier {
            self.ident(part);
            self.put(".");
        }
        quote::name_into(&mut self.out, &column);
        if let Some(reads) = self.member_reads.as_mut().filter(|reads| !reads.contains(&read)) {
            reads.push(read);
        }
        Ok(true)
    }

    /// The same of an expression that is cast to a type.
    pub(super) fn cast_member(&mut self, expr: &Expr, data_type: &DataType) -> Result<bool, Error> {
        match expr {
            Expr::Nested(inner) => self.cast_member(inner, data_type),
            Expr::BinaryOp { left, op, right } => self.member(left, op, right, Some(data_type)),
            _ => Ok(false),
        }
    }

    /// The engine's name of a type.
    fn named(&mut self, data_type: &DataType) -> Result<String, Error> {
        let before = self.out.len();
        self.data_type(data_type)?;
        Ok(self.out.split_off(before))
    }
}

/// What stands before the column of records, if the expression is that.
fn record(expr: &Expr) -> Option<&[Ident]> {
    match expr {
        Expr::Nested(inner) => record(inner),
        Expr::Identifier(ident) if ident.value == RECORD => Some(&[]),
        Expr::CompoundIdentifier(parts) => {
            parts.split_last().filter(|(last, _)| last.value == RECORD).map(|(_, qualifier)| qualifier)
        }
        _ => None,
    }
}

/// The one member that a path leads to, and the path.
fn member_of(path: &Expr) -> Option<(String, String)> {
    let Expr::Value(value) = path else { return None };
    let Value::SingleQuotedString(path) = &value.value else { return None };
    let name = path.strip_prefix("$.\"")?.strip_suffix('"')?;
    (!name.contains(['"', '\\'])).then(|| (name.to_owned(), path.clone()))
}
