//! Values of the catalogue's rows.

use sql::ast::quote;

/// A value of a row, as SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogueCell {
    Null,
    Number(i64),
    Bool(bool),
    Text(String),
    Numbers(Vec<i64>),
}

impl CatalogueCell {
    pub fn sql(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Bool(truth) => truth.to_string(),
            Self::Text(text) => quote::text(text),
            Self::Numbers(numbers) => {
                format!("[{}]", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl From<u32> for CatalogueCell {
    fn from(id: u32) -> Self {
        Self::Number(id.into())
    }
}

impl From<i32> for CatalogueCell {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for CatalogueCell {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<&str> for CatalogueCell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
