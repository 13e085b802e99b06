//! Texts of files that become values by a format: dates, times and moments by theirs, bytes as they are written.

use crate::ast::error::Error;
use crate::ast::quote;
use crate::catalog::file_format::OptionValue;
use crate::functions::types::Type;

/// The name that stands for the text in an expression around it.
pub(crate) const TEXT_PLACE: &str = "_sluice_text";

/// Makes the engine's expression of [`TEXT_PLACE`] as a value of a type by a format, which is NULL of any other text.
pub(crate) type FormatReading = fn(Type, &str) -> Result<String, Error>;

const AUTO: &str = "AUTO";
/// How bytes are written unless a format says else.
const DIGITS: &str = "HEX";

/// The formats of texts in a file, by the type of their column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormattedTexts {
    expressions: Vec<(Type, String)>,
    /// The first option that is other than its default.
    pub said: Option<&'static str>,
}

impl FormattedTexts {
    /// Whether it is an option of them, which is kept then.
    pub(crate) fn takes(
        &mut self,
        name: &'static str,
        value: &OptionValue,
        reading: FormatReading,
    ) -> Result<bool, Error> {
        let types: &[Type] = match name {
            "DATE_FORMAT" => &[Type::Date],
            "TIME_FORMAT" => &[Type::Time],
            "TIMESTAMP_FORMAT" => &[Type::Timestamp, Type::TimestampTz],
            "BINARY_FORMAT" => &[Type::Blob],
            _ => return Ok(false),
        };
        let OptionValue::Text(format) = value else { return Ok(false) };
        if format.eq_ignore_ascii_case(AUTO) {
            return Ok(true);
        }
        if format.trim().is_empty() {
            return Err(Error::syntax(format!("{name} is a format, or AUTO")));
        }
        if format != DIGITS && self.said.is_none() {
            self.said = Some(name);
        }
        for kind in types {
            self.expressions.push((*kind, reading(*kind, format)?));
        }
        Ok(true)
    }

    /// The expression of a text as a value of this type, NULL of any other; nothing where the engine's cast reads it.
    pub fn expression(&self, text: &str, type_name: &str) -> Option<String> {
        let wanted = Type::of_name(type_name);
        let (_, expression) = self.expressions.iter().find(|(kind, _)| *kind == wanted)?;
        Some(expression.replace(&quote::name(TEXT_PLACE), text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_by_the_format_that_its_type_has() {
        let reading: FormatReading = |kind, format| Ok(format!("{kind:?}(\"_sluice_text\", '{format}')"));
        let mut texts = FormattedTexts::default();
        for (name, format) in
            [("BINARY_FORMAT", "HEX"), ("DATE_FORMAT", "auto"), ("TIME_FORMAT", "HH24"), ("TIMESTAMP_FORMAT", "YYYY")]
        {
            assert_eq!(texts.takes(name, &OptionValue::Text(format.to_owned()), reading), Ok(true), "{name}");
        }
        assert_eq!(texts.takes("ENCODING", &OptionValue::Text("UTF8".to_owned()), reading), Ok(false));
        assert!(texts.takes("DATE_FORMAT", &OptionValue::Text(" ".to_owned()), reading).is_err());
        assert_eq!(texts.said, Some("TIME_FORMAT"));
        for (type_name, expression) in [
            ("DATE", None),
            ("TIME", Some("Time(\"$1\", 'HH24')")),
            ("TIMESTAMP", Some("Timestamp(\"$1\", 'YYYY')")),
            ("TIMESTAMP WITH TIME ZONE", Some("TimestampTz(\"$1\", 'YYYY')")),
            ("BLOB", Some("Blob(\"$1\", 'HEX')")),
            ("VARCHAR", None),
        ] {
            assert_eq!(texts.expression("\"$1\"", type_name).as_deref(), expression, "{type_name}");
        }
    }
}
