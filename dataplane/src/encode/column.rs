//! A column of rows that are encoded.

/// A column as the caller sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// The engine's name of the type: `BIGINT`, `DECIMAL(12,2)`; `VARCHAR` when masked.
    pub type_name: String,
    pub masked: bool,
}
