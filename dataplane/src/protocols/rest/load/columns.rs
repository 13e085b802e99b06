//! The columns of a file beside those of the table that it is written to.

use std::collections::{BTreeMap, HashSet};

use contract::load::{LoadMode, LoadedColumn};
use engine::FileColumn;
use sql::ast::quote;

use crate::{Column, Error};

/// As many as a table has.
const COLUMNS_MAX: usize = 1_600;
const TEXT: &str = "VARCHAR";

/// Types that the caller declares for columns of a file, by their names.
#[derive(Debug, Default)]
pub struct DeclaredTypes(BTreeMap<String, String>);

impl DeclaredTypes {
    /// Of the query, where they are a JSON object. A table that rows are added to has its own.
    pub fn of(text: Option<&str>, mode: LoadMode) -> Result<Self, Error> {
        let Some(text) = text else { return Ok(Self::default()) };
        if mode == LoadMode::Append {
            return Err(undeclared("rows that are added have the types of their table: leave the types out"));
        }
        let declared: BTreeMap<String, String> = serde_json::from_str(text)
            .map_err(|_| undeclared(r#"types are a JSON object of columns and types, as {"zip": "VARCHAR"}"#))?;
        let typed = |(name, declared): (String, String)| match plain(&declared) {
            Some(type_name) => Ok((name, type_name)),
            None => Err(undeclared(format!("the type of column {name} is none that is read of a file: {SOME_TYPES}"))),
        };
        declared.into_iter().map(typed).collect::<Result<_, _>>().map(Self)
    }

    /// The columns with these types; each is of a column that is there.
    fn of_columns(&self, mut told: Vec<FileColumn>) -> Result<Vec<FileColumn>, Error> {
        let mut met = HashSet::new();
        for (name, type_name) in &self.0 {
            let Some(column) = told.iter_mut().find(|column| column.name.eq_ignore_ascii_case(name)) else {
                return Err(undeclared(format!("the file has no column {name}")));
            };
            if !met.insert(name.to_ascii_lowercase()) {
                return Err(undeclared(format!("column {name} has two types")));
            }
            column.type_name.clone_from(type_name);
        }
        Ok(told)
    }
}

const SOME_TYPES: &str =
    "take BOOLEAN, BIGINT, DOUBLE, DECIMAL(18,2), VARCHAR, DATE, TIME, TIMESTAMP, TIMESTAMP WITH TIME ZONE or JSON";

fn undeclared(message: impl Into<String>) -> Error {
    Error::InvalidParams { field: "types", message: message.into() }
}

/// The engine's name of a type that is read of each kind of file.
fn plain(declared: &str) -> Option<String> {
    let declared = declared.trim().to_ascii_uppercase().replace(", ", ",");
    engine::plain_type(&declared).filter(|kept| *kept == declared && !kept.ends_with(']'))
}

/// Columns that are read of a file, and the names by which they are written.
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
    pub fn made(told: Vec<FileColumn>, declared: &DeclaredTypes) -> Result<Self, Error> {
        are_told_apart(&told)?;
        let read = declared.of_columns(told)?;
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
    fn types_that_are_declared_are_in_place_of_those_that_are_told() {
        let made = |text: &str| {
            let declared = DeclaredTypes::of(Some(text), LoadMode::Create)?;
            WrittenColumns::made(names(&["id", "Zip"])?, &declared)
        };
        let types = |text: &str| {
            let made = made(text).map_err(|error| error.to_string())?;
            Ok::<_, String>(made.written().into_iter().map(|column| column.type_name).collect::<Vec<_>>())
        };
        assert_eq!(types("{}").unwrap(), ["VARCHAR", "VARCHAR"]);
        assert_eq!(types(r#"{"zip": " decimal(6, 2)", "id": "Bigint"}"#).unwrap(), ["BIGINT", "DECIMAL(6,2)"]);
        for (text, told) in [
            ("id:BIGINT", "JSON object"),
            (r#"{"id": 1}"#, "JSON object"),
            (r#"{"nope": "DATE"}"#, "the file has no column nope"),
            (r#"{"zip": "DATE", "ZIP": "TIME"}"#, "has two types"),
            (r#"{"id": "GEOMETRY"}"#, "take BOOLEAN"),
            (r#"{"id": "BIGINT[]"}"#, "take BOOLEAN"),
            (r#"{"id": "DECIMAL(39,0)"}"#, "take BOOLEAN"),
            (r#"{"id": "VARCHAR'}) union select"}"#, "take BOOLEAN"),
            (r#"{"id": "BIGINT) as id, (select 1"}"#, "take BOOLEAN"),
        ] {
            let error = types(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
        let error = DeclaredTypes::of(Some("{}"), LoadMode::Append).unwrap_err();
        assert_eq!(error.problem().details["field"], "types");
    }

    #[test]
    fn columns_that_cannot_be_told_apart_are_refused() {
        for header in [&["a", "A"][..], &["a", ""], &[]] {
            assert!(names(header).is_err(), "{header:?}");
        }
    }
}
