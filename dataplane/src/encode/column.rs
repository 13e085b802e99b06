//! A column of rows that are encoded.

/// What a column is called that is declared as JSONB, which the engine has as JSON.
const JSONB: &str = "JSONB";
const JSON: &str = "JSON";

/// A column as the caller sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// The engine's name of the type: `BIGINT`, `DECIMAL(12,2)`; `VARCHAR` when masked, `JSONB` when declared so.
    pub type_name: String,
    pub masked: bool,
}

impl Column {
    /// Of a type of the engine, masked or declared as JSONB.
    pub(crate) fn shown(name: String, type_name: String, masked: bool, is_jsonb: bool) -> Self {
        let told = if masked {
            "VARCHAR".to_owned()
        } else if is_jsonb && type_name == JSON {
            JSONB.to_owned()
        } else {
            type_name
        };
        Self { name, type_name: told, masked }
    }
}

/// Whether texts of a type are JSON.
pub(crate) fn is_json(type_name: &str) -> bool {
    matches!(type_name, JSON | JSONB)
}
