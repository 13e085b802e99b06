//! The tables of `pg_catalog` and `information_schema`: `relations.txt`, a line each with its id, its kind and its
//! columns. All of them are there, so that whatever a client joins is found; most are empty.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::CATALOG;

/// A table of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogRelation {
    pub schema: &'static str,
    pub name: &'static str,
    /// `pg_class.oid`; 0 for what clients never look up.
    pub oid: u32,
    pub kind: RelationKind,
    columns: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    Table,
    View,
}

/// The sort of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// An id of something in the catalogue.
    Oid,
    /// The id of a function, which is shown by its name.
    Proc,
    Int,
    Float,
    Bool,
    Text,
    /// A name, which is a type of its own.
    Name,
    Time,
    Ints,
    Texts,
}

impl CatalogRelation {
    /// Columns in order.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, Sort)> + use<> {
        self.columns.split_ascii_whitespace().filter_map(|column| {
            let (name, sort) = column.split_once(':')?;
            Some((name, Sort::read(sort)?))
        })
    }

    /// What the table is called where it is asked: that of `information_schema` has its schema in its name.
    pub fn stored(&self) -> String {
        stored(self.schema, self.name)
    }
}

/// As [`CatalogRelation::stored`].
pub(super) fn stored(schema: &str, name: &str) -> String {
    if schema == CATALOG { name.to_owned() } else { format!("{schema}_{name}") }
}

impl Sort {
    fn read(word: &str) -> Option<Self> {
        Some(match word {
            "oid" => Self::Oid,
            "proc" => Self::Proc,
            "int" => Self::Int,
            "float" => Self::Float,
            "bool" => Self::Bool,
            "text" => Self::Text,
            "name" => Self::Name,
            "time" => Self::Time,
            "ints" => Self::Ints,
            "texts" => Self::Texts,
            _ => return None,
        })
    }
}

/// All of them, in the order of the list.
pub fn relations() -> impl Iterator<Item = CatalogRelation> {
    include_str!("relations.txt").lines().filter_map(read)
}

fn read(line: &'static str) -> Option<CatalogRelation> {
    let mut parts = line.splitn(4, ' ');
    let (path, oid, kind, columns) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let (schema, name) = path.split_once('.').unwrap_or((CATALOG, path));
    let kind = if kind == "r" { RelationKind::Table } else { RelationKind::View };
    Some(CatalogRelation { schema, name, oid: oid.parse().ok()?, kind, columns })
}

static IDS: LazyLock<HashMap<(&'static str, &'static str), u32>> =
    LazyLock::new(|| relations().map(|relation| ((relation.schema, relation.name), relation.oid)).collect());

pub(super) fn is_known(schema: &str, name: &str) -> bool {
    IDS.contains_key(&(schema, name))
}

pub(super) fn id(schema: &str, name: &str) -> Option<u32> {
    IDS.get(&(schema, name)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_relation_with_columns_of_a_known_sort() {
        let lines = include_str!("relations.txt").lines().count();
        assert_eq!(relations().count(), lines);
        for relation in relations() {
            assert_eq!(relation.columns().count(), relation.columns.split(' ').count(), "{}", relation.name);
        }
    }
}
