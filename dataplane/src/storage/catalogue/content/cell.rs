//! Values of the catalogue's rows.

use sql::ast::quote;

/// A value of a row, as SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    Null,
    Number(i64),
    Bool(bool),
    Text(String),
    Numbers(Vec<i64>),
}

impl Cell {
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

impl From<u32> for Cell {
    fn from(id: u32) -> Self {
        Self::Number(id.into())
    }
}

impl From<i32> for Cell {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for Cell {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
