//! The columns of a relation: what a table, a select list or a table function answers.

use std::rc::Rc;
use std::sync::Arc;

use sqlparser::ast::{Expr, Ident, ObjectName, TableAliasColumnDef, TableFactor};

use super::super::types::digits::{Digits, digits_of};
use super::super::types::offset::minutes_of;
use super::super::types::{ColumnTypes, type_of, wider};
use crate::ast::names;
use crate::catalog::column_comment::{self, SpelledType};
use crate::catalog::table::{Column, Table};
use crate::functions::types::Type;
use crate::scan::marker::{self, Marked};
use crate::scan::{Scan, ScanColumn};

/// The type of what a name stands for, the offset that it was written with, and the digits that it has at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundType {
    pub kind: Type,
    pub minutes: Option<i32>,
    pub digits: Option<Digits>,
}

impl BoundType {
    pub(super) fn of(expr: &Expr, columns: &dyn ColumnTypes) -> Self {
        let kind = type_of(expr, columns);
        let minutes = if kind == Type::TimestampTz { minutes_of(expr, columns) } else { None };
        let digits = if kind.is_number() { digits_of(expr, columns) } else { None };
        Self { kind, minutes, digits }
    }

    /// Of a name that may stand for either.
    pub(super) fn agree(self, other: Self) -> Self {
        let kind = if self.kind == other.kind { self.kind } else { Type::Unknown };
        let digits = self.digits.zip(other.digits).map(|(one, other)| one.of_either(other));
        Self { kind, minutes: self.minutes.filter(|_| self.minutes == other.minutes), digits }
    }
}

/// A column of a relation with its type.
#[derive(Debug, Clone)]
pub(crate) struct BoundColumn {
    pub name: Rc<str>,
    pub kind: Type,
    /// Whether it is a NULL, which is of every type.
    pub is_null: bool,
    /// The characters that its texts have at most, where it has such a length.
    pub length: Option<u64>,
    /// How many minutes ahead of UTC all of its moments were written, where that is one number.
    pub minutes: Option<i32>,
    /// Whether it is a column that is declared as JSONB.
    pub is_jsonb: bool,
    /// The digits that its numbers have at most, where they are exact.
    pub digits: Option<Digits>,
}

impl BoundColumn {
    /// Of a table, as it is declared.
    pub(crate) fn declared(name: impl Into<Rc<str>>, type_name: &str) -> Self {
        let kind = Type::of_name(type_name);
        let digits = if kind.is_number() { Digits::of_number(type_name) } else { None };
        Self { length: column_comment::length_named(type_name), digits, ..Self::new(name, kind) }
    }

    pub(crate) fn new(name: impl Into<Rc<str>>, kind: Type) -> Self {
        let name = name.into();
        Self { name, kind, is_null: false, length: None, minutes: None, is_jsonb: false, digits: None }
    }

    /// The same, declared by this word.
    fn spelled(self, spelled: Option<SpelledType>) -> Self {
        Self { is_jsonb: spelled == Some(SpelledType::Jsonb), ..self }
    }

    pub(super) fn bound(&self) -> BoundType {
        BoundType { kind: self.kind, minutes: self.minutes, digits: self.digits }
    }
}

/// The columns of a relation in their order, and whether it may have others.
#[derive(Debug, Clone, Default)]
pub(crate) struct BoundColumns {
    pub columns: Vec<BoundColumn>,
    pub is_open: bool,
}

impl BoundColumns {
    pub(super) fn open() -> Self {
        Self { columns: Vec::new(), is_open: true }
    }

    pub(super) fn of_all<'c>(relations: impl Iterator<Item = &'c Self>) -> Self {
        let mut all = Self::default();
        for relation in relations {
            all.is_open |= relation.is_open;
            all.columns.extend(relation.columns.iter().cloned());
        }
        all
    }

    /// Under the names that an alias gives them, in their order.
    pub(super) fn renamed(mut self, names: &[TableAliasColumnDef]) -> Self {
        if self.is_open && !names.is_empty() {
            let unknown = |column: &TableAliasColumnDef| BoundColumn::new(column.name.value.as_str(), Type::Unknown);
            return Self { columns: names.iter().map(unknown).collect(), is_open: true };
        }
        for (column, TableAliasColumnDef { name, .. }) in self.columns.iter_mut().zip(names) {
            column.name = name.value.as_str().into();
        }
        self
    }

    /// The columns of a set operation: the names of the first side, the types that both become.
    pub(super) fn united(self, other: &Self) -> Self {
        if self.is_open || other.is_open || self.columns.len() != other.columns.len() {
            let unknown = |column: BoundColumn| BoundColumn::new(column.name, Type::Unknown);
            return Self { columns: self.columns.into_iter().map(unknown).collect(), is_open: true };
        }
        let both = self.columns.into_iter().zip(&other.columns);
        let become_one = |(one, other): (BoundColumn, &BoundColumn)| match (one.is_null, other.is_null) {
            (true, _) => BoundColumn { name: one.name, ..other.clone() },
            (false, true) => one,
            (false, false) => {
                let length = one.length.zip(other.length).map(|(one, other)| one.max(other));
                let BoundType { minutes, digits, .. } = one.bound().agree(other.bound());
                let is_jsonb = one.is_jsonb && other.is_jsonb;
                BoundColumn { kind: wider(one.kind, other.kind), length, minutes, is_jsonb, digits, ..one }
            }
        };
        Self { columns: both.map(become_one).collect(), is_open: false }
    }
}

/// A source of the columns of a table that a name in FROM stands for.
pub(crate) trait TableColumns {
    fn columns(&self, name: &ObjectName) -> Option<Vec<BoundColumn>>;

    /// The columns of the table that a statement writes to, as they are declared.
    fn written(&self, name: &ObjectName) -> Option<Vec<BoundColumn>>;
}

impl TableColumns for Vec<Scan> {
    fn columns(&self, name: &ObjectName) -> Option<Vec<BoundColumn>> {
        let Some(Marked::Scan(number)) = marker::read(name) else { return None };
        let shown = |column: ScanColumn<'_>| match column.mask {
            Some(mask) if mask.function().traits().makes_text => BoundColumn::new(column.name, Type::Text),
            Some(_) => BoundColumn::new(column.name, Type::of_name(column.type_name)),
            None => BoundColumn::declared(column.name, column.type_name).spelled(column.spelled),
        };
        self.get(number).map(|scan| scan.columns().map(shown).collect())
    }

    fn written(&self, name: &ObjectName) -> Option<Vec<BoundColumn>> {
        let is_it =
            |scan: &&Scan| names::last(name).is_some_and(|last| last.value.eq_ignore_ascii_case(&scan.table.name));
        self.last().filter(is_it).map(|scan| of_table(&scan.table))
    }
}

fn of_table(table: &Table) -> Vec<BoundColumn> {
    let declared =
        |column: &Column| BoundColumn::declared(column.name.as_str(), &column.type_name).spelled(column.spelled);
    table.columns.iter().map(declared).collect()
}

/// The tables that a statement reads, and those that it writes.
pub(crate) struct StatementTables<'a> {
    pub scans: &'a Vec<Scan>,
    /// Of an INSERT into several.
    pub also: &'a [Arc<Table>],
}

impl TableColumns for StatementTables<'_> {
    fn columns(&self, name: &ObjectName) -> Option<Vec<BoundColumn>> {
        self.scans.columns(name)
    }

    fn written(&self, name: &ObjectName) -> Option<Vec<BoundColumn>> {
        let also = self.also.iter().find(|table| table.place() == *name);
        also.map(|table| of_table(table)).or_else(|| self.scans.written(name))
    }
}

/// What FROM calls a relation; nothing where it has no name there.
pub(super) fn alias(factor: &TableFactor) -> String {
    let called = match factor {
        TableFactor::Table { alias, name, .. } | TableFactor::Function { alias, name, .. } => {
            alias.as_ref().map(|alias| &alias.name).or_else(|| names::last(name))
        }
        other => names::alias(other).map(|alias| &alias.name),
    };
    called.map(|Ident { value, .. }| value.clone()).unwrap_or_default()
}

/// The names that an alias gives the columns.
pub(super) fn renamed(factor: &TableFactor) -> &[TableAliasColumnDef] {
    names::alias(factor).map_or(&[], |alias| &alias.columns)
}
