//! The columns of a file beside those of the table that it is written to.

use std::collections::HashSet;

use contract::load::LoadedColumn;
use engine::FileColumn;
use sql::ast::quote;

use crate::{Column, Error};

/// As many as a table has.
const COLUMNS_MAX: usize = 1_600;
const TEXT: &str = "VARCHAR";

/// What is read of a file, and by which names it is written.
#[derive(Debug)]
pub struct WrittenColumns {
    read: Vec<FileColumn>,
    /// Of the table, in the same order.
    names: Vec<String>,
}

impl WrittenColumns {
    /// Of a header, before anything says their types.
    pub fn texts(header: &[String]) -> Result<Vec<FileColumn>, Error> {
        let column = |name: &String| FileColumn { name: name.clone(), type_name: TEXT.to_owned() };
        let texts: Vec<_> = header.iter().map(column).collect();
        are_told_apart(&texts)?;
        Ok(texts)
    }

    /// Of a table that is made from the file.
    pub fn made(read: Vec<FileColumn>) -> Result<Self, Error> {
        are_told_apart(&read)?;
        let names = read.iter().map(|column| column.name.clone()).collect();
        Ok(Self { read, names })
    }

    /// Of a table that is there: each column of the file is one of it, by its name, and is read as its type.
    pub fn added(read: Vec<FileColumn>, there: &[Column], table: &str) -> Result<Self, Error> {
        are_told_apart(&read)?;
        let mut names = Vec::with_capacity(read.len());
        let one = |column: FileColumn| {
            let Some(found) = there.iter().find(|there| there.name.eq_ignore_ascii_case(&column.name)) else {
                let has: Vec<_> = there.iter().map(|there| there.name.as_str()).collect();
                let has = has.join(", ");
                return Err(refused(format!("table {table} has no column {}: it has {has}", column.name)));
            };
            names.push(found.name.clone());
            // What is not plain the engine makes of the text, as it does of an INSERT.
            let type_name = engine::plain_type(&found.type_name).unwrap_or_else(|| TEXT.to_owned());
            Ok(FileColumn { type_name, ..column })
        };
        let read = read.into_iter().map(one).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { read, names })
    }

    pub fn read(&self) -> &[FileColumn] {
        &self.read
    }

    pub fn written(&self) -> Vec<LoadedColumn> {
        let written = self.names.iter().zip(&self.read);
        written.map(|(name, read)| LoadedColumn { name: name.clone(), type_name: read.type_name.clone() }).collect()
    }

    pub fn names_in_file(&self) -> String {
        listed(self.read.iter().map(|column| &column.name))
    }

    pub fn names_in_table(&self) -> String {
        listed(self.names.iter())
    }
}

fn listed<'n>(names: impl Iterator<Item = &'n String>) -> String {
    names.map(|name| quote::name(name)).collect::<Vec<_>>().join(", ")
}

fn refused(reason: String) -> Error {
    Error::file(None, reason)
}

fn are_told_apart(columns: &[FileColumn]) -> Result<(), Error> {
    if columns.is_empty() || columns.len() > COLUMNS_MAX {
        return Err(refused(format!("a file has 1 to {COLUMNS_MAX} columns")));
    }
    let mut met = HashSet::new();
    for FileColumn { name, .. } in columns {
        if name.trim().is_empty() {
            return Err(refused("a column has no name: name each in the header".to_owned()));
        }
        if !met.insert(name.to_ascii_lowercase()) {
            return Err(refused(format!("it has two columns {name}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Result<Vec<FileColumn>, Error> {
        WrittenColumns::texts(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    fn there(name: &str, type_name: &str) -> Column {
        Column { name: name.to_owned(), type_name: type_name.to_owned(), masked: false }
    }

    #[test]
    fn columns_of_a_file_are_those_of_the_table_by_name() {
        let table = [there("id", "INTEGER"), there("Region", "VARCHAR"), there("more", "STRUCT(a INTEGER)")];
        let added = WrittenColumns::added(names(&["REGION", "ID", "more"]).unwrap(), &table, "main.t").unwrap();
        assert_eq!(added.names_in_table(), r#""Region", "id", "more""#);
        assert_eq!(added.names_in_file(), r#""REGION", "ID", "more""#);
        let types: Vec<_> = added.read().iter().map(|column| column.type_name.as_str()).collect();
        assert_eq!(types, ["VARCHAR", "INTEGER", "VARCHAR"]);
        let error = WrittenColumns::added(names(&["id", "nope"]).unwrap(), &table, "main.t").unwrap_err();
        assert!(error.to_string().contains("table main.t has no column nope: it has id, Region, more"), "{error}");
    }

    #[test]
    fn columns_that_cannot_be_told_apart_are_refused() {
        for header in [&["a", "A"][..], &["a", ""], &[]] {
            assert!(names(header).is_err(), "{header:?}");
        }
    }
}
