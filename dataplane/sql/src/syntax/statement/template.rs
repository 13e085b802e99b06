//! A table whose columns a query answers: `CREATE TABLE t USING TEMPLATE (query)`.

use crate::ast::error::Error;
use crate::ast::quote;

/// A statement that makes a table of the columns that a query answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableTemplate {
    /// What stands before the columns: `CREATE TABLE t`.
    head: String,
    /// A statement of its own.
    pub query: String,
    /// What stands behind the columns of an external table.
    behind: Option<String>,
}

impl TableTemplate {
    pub(crate) fn new(head: String, query: String) -> Self {
        Self { head, query, behind: None }
    }

    /// The same of an external table, of which this stands behind the columns.
    pub(crate) fn external(self, behind: String) -> Self {
        Self { behind: Some(behind), ..self }
    }

    /// Whether it makes an external table: each column is the member of the record that has its name.
    pub fn is_external(&self) -> bool {
        self.behind.is_some()
    }

    /// The statement that makes the table of these columns: names, types, and whether each may be NULL.
    pub fn statement<'c>(&self, columns: impl Iterator<Item = (&'c str, &'c str, bool)>) -> Result<String, Error> {
        let column = |(name, type_name, nullable): (&str, &str, bool)| {
            if !is_type(type_name) {
                return Err(Error::unsupported_type(type_name));
            }
            let name = quote::name(name);
            if self.is_external() {
                return Ok(format!("{name} {type_name} AS ($1:{name}::{type_name})"));
            }
            let condition = if nullable { "" } else { " NOT NULL" };
            Ok(format!("{name} {type_name}{condition}"))
        };
        let columns = columns.map(column).collect::<Result<Vec<_>, Error>>()?;
        let behind = self.behind.as_ref().map_or_else(String::new, |behind| format!(" {behind}"));
        Ok(format!("{} ({}){behind}", self.head, columns.join(", ")))
    }
}

/// Whether a text has the form of a type, as `NUMBER(38, 0)`; whether there is such a type is asked where it is read.
fn is_type(text: &str) -> bool {
    let (name, sizes) = match text.split_once('(') {
        Some((name, rest)) => (name.trim_end(), rest.strip_suffix(')')),
        None => (text, Some("0")),
    };
    let is_number = |size: &str| (1..=9).contains(&size.len()) && size.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word && sizes.is_some_and(|sizes| sizes.split(',').all(|size| is_number(size.trim_matches(' '))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_quoted_names_and_types_that_are_no_more_than_that() {
        let template = TableTemplate::new("CREATE TABLE t".to_owned(), "SELECT 1".to_owned());
        let columns = [("a", "NUMBER(38, 0)", true), ("b\" INT); --", "TEXT", false)];
        let made = template.statement(columns.into_iter()).unwrap();
        assert_eq!(made, "CREATE TABLE t (\"a\" NUMBER(38, 0), \"b\"\" INT); --\" TEXT NOT NULL)");
        let external = template.clone().external("LOCATION = @s".to_owned());
        let made = external.statement([("a\"b", "TEXT", false)].into_iter()).unwrap();
        assert_eq!(made, "CREATE TABLE t (\"a\"\"b\" TEXT AS ($1:\"a\"\"b\"::TEXT)) LOCATION = @s");
        for refused in
            ["", "TEXT DEFAULT 1", "TEXT, b INT", "TEXT)", "NUMBER(a)", "NUMBER(1", "NUMBER(1))", "(1)", "TEXT--", "1"]
        {
            let told = template.statement([("a", refused, true)].into_iter()).unwrap_err();
            assert!(told.message.contains("is not supported"), "{refused}: {told}");
        }
    }
}
