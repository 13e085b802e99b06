//! The table that a file is loaded into, and the file's name.

use sql::ast::quote;

use crate::Error;

/// Of the file's name in the audit log.
const FILE_NAME_CHARS_MAX: usize = 100;

/// A table by its schema and name.
#[derive(Debug, PartialEq, Eq)]
pub struct LoadTarget {
    schema: String,
    name: String,
}

impl LoadTarget {
    /// Of `name` or `schema.name`, neither of them quoted.
    pub fn of(path: &str) -> Result<Self, Error> {
        let (schema, name) = path.split_once('.').unwrap_or((sql::ast::names::MAIN_SCHEMA, path));
        if schema.is_empty() || name.is_empty() || name.contains('.') {
            let message = "the table is written as name or schema.name".to_owned();
            return Err(Error::InvalidParams { field: "name", message });
        }
        Ok(Self { schema: schema.to_owned(), name: name.to_owned() })
    }

    pub fn path(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    pub fn quoted(&self) -> String {
        format!("{}.{}", quote::name(&self.schema), quote::name(&self.name))
    }
}

/// A file's name as a comment may hold it: letters, digits and few signs.
pub fn file_name(given: Option<&str>) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ' ') { c } else { '_' };
    let name: String = given.unwrap_or_default().chars().take(FILE_NAME_CHARS_MAX).map(plain).collect();
    if name.trim().is_empty() { "a file without a name".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_name_and_perhaps_a_schema() {
        assert_eq!(LoadTarget::of("or\"ders").unwrap().quoted(), r#""main"."or""ders""#);
        assert_eq!(LoadTarget::of("sales.orders").unwrap().path(), "sales.orders");
        for path in ["", ".", "a.", ".a", "a.b.c"] {
            assert!(LoadTarget::of(path).is_err(), "{path}");
        }
    }

    #[test]
    fn no_name_of_a_file_ends_a_comment() {
        assert_eq!(file_name(Some("2024 sales-eu.csv")), "2024 sales-eu.csv");
        assert_eq!(file_name(Some("x */ drop table t; --\n")), "x __ drop table t_ --_");
        assert_eq!(file_name(Some(" ")), "a file without a name");
        assert_eq!(file_name(None), "a file without a name");
    }
}
