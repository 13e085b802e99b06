//! The columns of an ingest: what Arrow calls their types, and what the engine does.

use arrow::datatypes::{DataType, Field, Schema};

use crate::Error;
use crate::limits::invalid;

/// As many as a table has.
const FIELDS_MAX: usize = 1_600;
const DIGITS_MAX: u8 = 38;

pub struct IngestFields(Vec<IngestColumn>);

struct IngestColumn {
    name: String,
    /// None for a column of nothing but NULL: it has no type of its own.
    declared: Option<String>,
}

impl IngestFields {
    pub fn of(schema: &Schema) -> Result<Self, Error> {
        let fields = schema.fields();
        if fields.is_empty() || fields.len() > FIELDS_MAX {
            return Err(invalid("schema", format!("an ingest has 1 to {FIELDS_MAX} columns")));
        }
        let column = |field: &Field| {
            let declared = match field.data_type() {
                DataType::Null => None,
                kind => Some(declared(kind).ok_or_else(|| unread(field))?),
            };
            Ok(IngestColumn { name: field.name().clone(), declared })
        };
        fields.iter().map(|field| column(field)).collect::<Result<_, _>>().map(Self)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|column| column.name.as_str())
    }

    /// As `CREATE TABLE` wants them.
    pub fn declared(&self) -> Result<String, Error> {
        let one = |column: &IngestColumn| {
            let open = || invalid(&column.name, format!("column {} has no type to make a table of", column.name));
            let declared = column.declared.as_deref().ok_or_else(open)?;
            Ok(format!("{} {declared}", sql::ast::quote::name(&column.name)))
        };
        Ok(self.0.iter().map(one).collect::<Result<Vec<_>, Error>>()?.join(", "))
    }

    /// Writes rows whose values are one list a column. Each list says its type: values that are all NULL have none.
    pub fn insert(&self, table: &str) -> String {
        let names: Vec<_> = self.0.iter().map(|column| sql::ast::quote::name(&column.name)).collect();
        let list = |(column, number): (&IngestColumn, usize)| {
            let declared = column.declared.as_deref().unwrap_or("varchar");
            format!("unnest(cast(${number} as {declared}[]))")
        };
        let lists: Vec<_> = self.0.iter().zip(1..).map(list).collect();
        format!("insert into {table} ({}) select {}", names.join(", "), lists.join(", "))
    }
}

/// A column whose type cannot be, or one of whose values is none of its type.
pub fn unread(field: &Field) -> Error {
    invalid(field.name(), format!("column {} of type {} cannot be written", field.name(), field.data_type()))
}

/// The type that holds every value of an Arrow type.
fn declared(kind: &DataType) -> Option<String> {
    Some(match kind {
        DataType::List(item) | DataType::LargeList(item) => format!("{}[]", listed(item)?),
        DataType::FixedSizeList(item, size) => format!("{}[{size}]", listed(item)?),
        DataType::Dictionary(_, value) if !value.is_nested() => declared(value)?,
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale)
        | DataType::Decimal256(digits, scale) => {
            let scale = u8::try_from(*scale).ok().filter(|scale| scale <= digits && *digits <= DIGITS_MAX)?;
            format!("decimal({digits}, {scale})")
        }
        plain => simple(plain)?.to_owned(),
    })
}

/// The type of items that a list can be written of.
fn listed(item: &Field) -> Option<String> {
    let kind = item.data_type();
    let is_written = kind.is_numeric() || matches!(kind, DataType::Boolean) || is_text(kind);
    if is_written { declared(kind) } else { None }
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn simple(kind: &DataType) -> Option<&'static str> {
    Some(match kind {
        DataType::Boolean => "boolean",
        DataType::Int8 => "tinyint",
        DataType::Int16 => "smallint",
        DataType::Int32 => "integer",
        DataType::Int64 => "bigint",
        DataType::UInt8 => "utinyint",
        DataType::UInt16 => "usmallint",
        DataType::UInt32 => "uinteger",
        DataType::UInt64 => "ubigint",
        DataType::Float16 | DataType::Float32 => "float",
        DataType::Float64 => "double",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "varchar",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => "blob",
        DataType::Date32 | DataType::Date64 => "date",
        DataType::Time32(_) | DataType::Time64(_) => "time",
        DataType::Timestamp(_, None) => "timestamp",
        DataType::Timestamp(_, Some(_)) => "timestamptz",
        DataType::Duration(_) | DataType::Interval(_) => "interval",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn fields(kinds: &[DataType]) -> Result<IngestFields, Error> {
        let fields: Vec<_> =
            kinds.iter().zip(0..).map(|(kind, at)| Field::new(format!("c{at}"), kind.clone(), true)).collect();
        IngestFields::of(&Schema::new(fields))
    }

    fn list(item: DataType) -> DataType {
        DataType::List(Arc::new(Field::new("item", item, true)))
    }

    #[test]
    fn columns_are_declared_and_written_by_their_types() {
        let keyed = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
        let fields = fields(&[DataType::Int32, DataType::Decimal128(10, 2), list(DataType::Float64), keyed]).unwrap();
        assert_eq!(fields.declared().unwrap(), r#""c0" integer, "c1" decimal(10, 2), "c2" double[], "c3" varchar"#);
        assert_eq!(
            fields.insert("t"),
            "insert into t (\"c0\", \"c1\", \"c2\", \"c3\") select unnest(cast($1 as integer[])), \
             unnest(cast($2 as decimal(10, 2)[])), unnest(cast($3 as double[][])), unnest(cast($4 as varchar[]))"
        );
    }

    #[test]
    fn a_type_that_cannot_be_written_is_refused_by_its_column() {
        let structs = DataType::Struct(vec![Field::new("a", DataType::Int32, true)].into());
        for kind in [structs, list(list(DataType::Int32)), list(DataType::Date32), DataType::Decimal256(60, 2)] {
            let error = fields(&[DataType::Int32, kind.clone()]).map(|_| ()).unwrap_err();
            assert_eq!(error.problem().details["field"], "c1", "{kind}");
        }
        assert!(fields(&[]).is_err());
        let nothing = fields(&[DataType::Null]).unwrap();
        assert!(nothing.insert("t").ends_with("select unnest(cast($1 as varchar[]))"));
        assert_eq!(nothing.declared().unwrap_err().problem().details["field"], "c0");
    }
}
