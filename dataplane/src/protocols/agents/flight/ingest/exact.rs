//! Decimals that a table's columns hold: INSERT rounds what has more of them, an ingest refuses it, as COPY does.

use engine::Value;

use crate::encode::pg_rows::PgType;
use crate::{Column, Error};

/// The columns that are written, by the places of their fields; none of a table that the ingest makes for them.
#[derive(Debug, Default)]
pub struct ExactColumns(Vec<Option<ExactColumn>>);

#[derive(Debug)]
struct ExactColumn {
    column: Column,
    kind: PgType,
}

impl ExactColumns {
    /// The fields find their columns by name.
    pub fn of<'f>(fields: impl Iterator<Item = &'f str>, columns: &[Column]) -> Self {
        let exact = |name: &str| {
            let column = columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))?.clone();
            let kind = PgType::from_engine(&column.type_name);
            Some(ExactColumn { column, kind })
        };
        Self(fields.map(exact).collect())
    }

    /// Refuses a value that its column would round.
    pub fn check(&self, place: usize, value: &Value) -> Result<(), Error> {
        match (self.0.get(place), value) {
            (Some(Some(ExactColumn { column, kind })), Value::Decimal(digits)) if !kind.holds(digits) => {
                let (column, holds) = (column.name.clone(), column.type_name.clone());
                Err(Error::Rounded { digits: digits.clone(), column, holds })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_more_decimals_than_its_column_is_refused() {
        let column = |name: &str, type_name: &str| Column {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            masked: false,
        };
        let columns = [column("a", "DECIMAL(38,0)"), column("n", "INTEGER"), column("f", "DOUBLE")];
        let exact = ExactColumns::of(["A", "n", "f", "other"].into_iter(), &columns);
        for (place, digits, fits) in [
            (0, "1.25", false),
            (0, "1.00", true),
            (1, "1.5", false),
            (2, "1.25", true),
            (3, "1.25", true),
            (4, "1.25", true),
        ] {
            assert_eq!(exact.check(place, &Value::Decimal(digits.to_owned())).is_ok(), fits, "{place} {digits}");
        }
        let error = exact.check(0, &Value::Decimal("1.25".to_owned())).unwrap_err();
        assert_eq!(error.code().sqlstate(), "22003");
    }
}
