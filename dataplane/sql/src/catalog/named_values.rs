//! Values of JSON and Parquet that are loaded by their names: without white space, and NULL where a format says.

use crate::ast::error::Error;
use crate::ast::quote;
use crate::catalog::file_format::OptionValue;
use crate::catalog::table::Column;
use crate::functions::types::Type;

/// White space that is left out around a text.
const WHITE: &str = " \t";

/// Changes to a value that is loaded by its name; records that are loaded or read whole stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedValues {
    /// Texts that stand for NULL.
    nulls: Vec<String>,
    trims: bool,
}

impl NamedValues {
    /// Whether it is an option of them, which is kept then.
    pub(crate) fn takes(&mut self, name: &str, value: &OptionValue) -> bool {
        match (name, value) {
            ("NULL_IF", OptionValue::Texts(texts)) => self.nulls.clone_from(texts),
            ("TRIM_SPACE", OptionValue::Flag(flag)) => self.trims = *flag,
            _ => return false,
        }
        true
    }

    /// Refuses columns whose values are no single text, or numbers that may have more than one.
    pub(crate) fn suit(&self, columns: &[Column]) -> Result<(), Error> {
        let is_plain = self.nulls.is_empty() && !self.trims;
        let has_number = self.nulls.iter().any(|null| null.trim().parse::<f64>().is_ok());
        let is_odd = |column: &&Column| match column.family() {
            Type::Json | Type::List | Type::Struct | Type::Map | Type::Unknown => true,
            Type::Decimal | Type::Double => has_number,
            _ => false,
        };
        match columns.iter().find(is_odd).filter(|_| !is_plain) {
            Some(Column { name, type_name, .. }) => {
                Err(Error::unsupported(format!("NULL_IF or TRIM_SPACE of a file with column {name} of {type_name}")))
            }
            None => Ok(()),
        }
    }

    /// The expression of a value for a column of this type; each value of JSON `is_text`.
    pub fn expression(&self, value: String, type_name: &str, is_text: bool) -> String {
        let has_white = self.trims && (is_text || Type::of_name(type_name) == Type::Text);
        let kept = if has_white { format!("trim(cast({value} as varchar), {})", quote::text(WHITE)) } else { value };
        if self.nulls.is_empty() {
            return kept;
        }
        let nulls: Vec<String> = self.nulls.iter().map(|null| quote::text(null)).collect();
        format!("case when cast({kept} as varchar) in ({}) then null else {kept} end", nulls.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_trimmed_and_null_as_the_format_says() {
        let mut values = NamedValues::default();
        assert_eq!(values.expression("x".to_owned(), "VARCHAR", true), "x");
        assert!(values.takes("TRIM_SPACE", &OptionValue::Flag(true)));
        assert_eq!(values.expression("x".to_owned(), "INTEGER", false), "x");
        assert_eq!(values.expression("x".to_owned(), "INTEGER", true), "trim(cast(x as varchar), ' \t')");
        let mut values = NamedValues::default();
        assert!(values.takes("NULL_IF", &OptionValue::Texts(vec!["a'".to_owned(), String::new()])));
        let told = "case when cast(x as varchar) in ('a''', '') then null else x end";
        assert_eq!(values.expression("x".to_owned(), "DATE", false), told);
    }

    #[test]
    fn columns_that_have_no_single_text_are_refused() {
        let columns = |type_name: &str| [Column::new("a", "INTEGER"), Column::new("b", type_name)];
        let mut values = NamedValues::default();
        assert!(values.suit(&columns("JSON")).is_ok());
        values.takes("NULL_IF", &OptionValue::Texts(vec!["NULL".to_owned()]));
        assert!(values.suit(&columns("DECIMAL(4,2)")).is_ok() && values.suit(&columns("JSON")).is_err());
        values.takes("NULL_IF", &OptionValue::Texts(vec!["2".to_owned()]));
        assert!(values.suit(&columns("VARCHAR")).is_ok() && values.suit(&columns("DOUBLE")).is_err());
    }
}
