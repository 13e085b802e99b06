//! The warehouse's types, and the engine's; any other is refused by name.
//!
//! VARIANT, OBJECT and ARRAY are JSON, never the engine's own VARIANT, which no client can read. NUMBER
//! without precision is DECIMAL(38,0), FLOAT and REAL are DOUBLE. Texts are held to the length of
//! their column, and a cast cuts to it. A TIMESTAMP of more than microseconds is `TIMESTAMP_NS`;
//! `TIMESTAMP_LTZ` and `_TZ` are TIMESTAMPTZ, which keeps the instant; the offset of `_TZ` is kept beside it (`offsets`).

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ArrayElemTypeDef, CastKind, CreateTable, DataType,
    ExactNumberInfo, Expr, Ident, MapBracketKind, ObjectName, ObjectNamePart, Statement, StructField, TimezoneInfo,
    TypedString, UnaryOperator, Value,
};
use sqlparser::dialect::SnowflakeDialect;
use sqlparser::parser::Parser;

use super::call::take_expr;
use super::compose::PRECISION_MAX;
use super::{Context, Done, OFFSET, bytes, compose, conversions, moments, offsets, templates, variants};
use crate::ast::error::Error;
use crate::ast::names;
use crate::catalog::column_comment::{SpelledType, length, varchar};
use crate::functions::types::Type;
use crate::print::asked::parameter;

/// Digits of a second the engine's TIMESTAMP keeps.
const MICROSECONDS: u64 = 6;
/// Elements of a VECTOR, as in the warehouse.
const VECTOR_MAX: u64 = 4_096;

/// The columns a statement declares.
pub(super) fn declared(statement: &mut Statement) -> Result<(), Error> {
    match statement {
        Statement::CreateTable(CreateTable { columns, .. }) => {
            columns.iter_mut().try_for_each(|column| settle_column(&mut column.data_type))
        }
        Statement::AlterTable(AlterTable { operations, .. }) => operations.iter_mut().try_for_each(altered),
        _ => Ok(()),
    }
}

fn altered(operation: &mut AlterTableOperation) -> Result<(), Error> {
    match operation {
        AlterTableOperation::AddColumn { column_def, .. } => settle_column(&mut column_def.data_type),
        AlterTableOperation::AlterColumn { op: AlterColumnOperation::SetDataType { data_type, .. }, .. } => {
            settle_column(data_type)
        }
        _ => Ok(()),
    }
}

/// The engine takes a length of text and forgets it, VARCHAR is TEXT to it and JSONB is JSON; all is kept beside the column
/// (`steps`).
fn settle_column(data_type: &mut DataType) -> Result<(), Error> {
    let (length, spelled) = (length(data_type), SpelledType::of(data_type));
    settle(data_type)?;
    match (length, spelled) {
        (Some(length), _) => *data_type = varchar(length),
        (None, Some(SpelledType::Jsonb)) => *data_type = DataType::JSONB,
        (None, None) if *data_type == DataType::Varchar(None) => *data_type = DataType::Text,
        (None, _) => {}
    }
    Ok(())
}

fn settle(data_type: &mut DataType) -> Result<(), Error> {
    *data_type = of_engine(data_type)?;
    Ok(())
}

/// Casts and typed literals.
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    match expr {
        Expr::TypedString(TypedString { data_type, value, .. }) => {
            let keeps_offset = warn_of_offset(data_type, context);
            settle(data_type)?;
            if keeps_offset {
                let text = Expr::value(value.value.clone());
                *expr = compose::cast(text, data_type.clone());
                return with_offset(expr, context).map(|()| Done::Yes);
            }
            if matches!(Type::of_declared(data_type), Type::Date | Type::Timestamp) {
                moments::typed(&mut value.value);
            }
        }
        Expr::Cast { kind, expr: value, data_type, .. } => {
            let is_try = !matches!(kind, CastKind::Cast | CastKind::DoubleColon);
            if !is_try && is_number(data_type) && parameter(value).is_some() {
                // it says what the parameter is, and rounds nothing; the printer knows it by this type
                *data_type = DataType::Numeric(ExactNumberInfo::None);
                return Ok(Done::Yes);
            }
            let (to_variant, to_array) = (is_variant(data_type), is_array(data_type));
            let unit = truncated(data_type)?;
            let length = length(data_type).filter(|_| !is_try);
            let reads_digits = matches!(data_type, DataType::Binary(_) | DataType::Varbinary(_));
            let keeps_offset = warn_of_offset(data_type, context);
            settle(data_type)?;
            if keeps_offset {
                return with_offset(expr, context).map(|()| Done::Yes);
            }
            if matches!(Type::of_declared(data_type), Type::Date | Type::Time | Type::Timestamp) {
                **value = offsets::clock(take_expr(value), context);
            }
            if is_beyond(value, data_type) {
                *data_type = DataType::Decimal(decimal(ExactNumberInfo::None)?);
            }
            if Type::of_declared(data_type) == Type::Integer && context.type_of(value) == Type::Double {
                // half goes away from zero in the warehouse, to the even number in the engine
                **value = compose::call("round", [take_expr(value)]);
            }
            if reads_digits && context.type_of(value) == Type::Text {
                // digits, as the warehouse shows bytes; BYTEA is PostgreSQL's
                let bytes = bytes::of_digits(take_expr(value), context)?;
                *expr = if is_try { compose::call("try", [bytes]) } else { bytes };
            } else if to_array && !makes_array(value, context) {
                *expr = templates::fill("to_array", &mut [take_expr(value)], context)?;
            } else if to_variant && context.type_of(value) != Type::Json {
                *expr = compose::call("to_json", [take_expr(value)]);
            } else if !is_try && Type::of_declared(data_type) == Type::Timestamp && conversions::counts(value, context)
            {
                *expr = conversions::since_1970(take_expr(value), context)?;
            } else {
                variants::settle_cast(expr, context)?;
            }
            if let Some(unit) = unit {
                *expr = compose::call("date_trunc", [compose::text(unit), take_expr(expr)]);
            }
            if let Some(length) = length {
                *expr = beginning(take_expr(expr), length);
            }
        }
        _ => return Ok(Done::No),
    }
    Ok(Done::Yes)
}

/// Whether a whole number is written out that the engine's type does not hold; the warehouse's have 38 digits.
fn is_beyond(value: &Expr, data_type: &DataType) -> bool {
    let digits = match value {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => return is_beyond(expr, data_type),
        Expr::Nested(inner) => return is_beyond(inner, data_type),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits,
            _ => return false,
        },
        _ => return false,
    };
    match data_type {
        DataType::Integer(_) => digits.parse::<i32>().is_err(),
        DataType::BigInt(_) => digits.parse::<i64>().is_err(),
        _ => false,
    }
}

/// The unit a cast to a timestamp of few digits cuts to; the engine's TIMESTAMP keeps all of them.
fn truncated(data_type: &DataType) -> Result<Option<&'static str>, Error> {
    let digits = match data_type {
        DataType::Datetime(digits)
        | DataType::TimestampNtz(digits)
        | DataType::Timestamp(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => *digits,
        DataType::Custom(name, sizes) if is_one_of(name, &["TIMESTAMP_NTZ", "TIMESTAMPNTZ"]) => {
            sizes.first().and_then(|digits| digits.parse().ok())
        }
        _ => None,
    };
    match digits {
        Some(0) => Ok(Some("second")),
        Some(3) => Ok(Some("millisecond")),
        Some(digits) if digits < MICROSECONDS => Err(Error::unsupported_type(format!("TIMESTAMP({digits}) in a cast"))),
        _ => Ok(None),
    }
}

fn beginning(text: Expr, length: u64) -> Expr {
    let number = |digits: u64| Some(Box::new(Expr::value(Value::Number(digits.to_string(), false))));
    Expr::Substring {
        expr: Box::new(text),
        substring_from: number(1),
        substring_for: number(length),
        special: true,
        shorthand: false,
    }
}

/// A number without a precision.
fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Numeric(size) | DataType::Decimal(size) | DataType::Dec(size) => *size == ExactNumberInfo::None,
        DataType::Custom(name, sizes) => sizes.is_empty() && is_one_of(name, &["NUMBER"]),
        _ => false,
    }
}

fn is_variant(data_type: &DataType) -> bool {
    match data_type {
        DataType::Array(ArrayElemTypeDef::None) => true,
        DataType::Custom(name, _) => is_one_of(name, &["VARIANT", "OBJECT", "ARRAY"]),
        _ => false,
    }
}

fn is_array(data_type: &DataType) -> bool {
    match data_type {
        DataType::Array(ArrayElemTypeDef::None) => true,
        DataType::Custom(name, _) => is_one_of(name, &["ARRAY"]),
        _ => false,
    }
}

/// What is an array already; of anything else a cast makes one that holds it.
fn makes_array(value: &Expr, context: &Context<'_>) -> bool {
    let is_call = matches!(value, Expr::Function(function) if compose::is_call_of(function, "json_array"));
    is_call || compose::is_null(value) || context.type_of(value) == Type::List
}

/// Whether the type keeps an offset; `TIMESTAMPTZ` is PostgreSQL's too, where it never kept one.
fn warn_of_offset(data_type: &DataType, context: &mut Context<'_>) -> bool {
    let keeps_offset = matches!(data_type, DataType::Custom(name, _) if is_one_of(name, &["TIMESTAMP_TZ"]));
    if keeps_offset {
        context.warn(OFFSET);
    }
    keeps_offset
}

/// A cast to `TIMESTAMP_TZ`, with what is told of the offset.
fn with_offset(expr: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    let Expr::Cast { kind, expr: value, .. } = &*expr else { return Ok(()) };
    let is_try = !matches!(kind, CastKind::Cast | CastKind::DoubleColon);
    let told = offsets::told(value, is_try, context);
    variants::settle_cast(expr, context)?;
    *expr = offsets::noted(take_expr(expr), told, context)?;
    Ok(())
}

/// Whether a type is called by one of these words, in whatever case.
fn is_one_of(name: &ObjectName, words: &[&str]) -> bool {
    names::single(name).is_some_and(|name| words.iter().any(|word| name.value.eq_ignore_ascii_case(word)))
}

/// The engine's type.
fn of_engine(data_type: &DataType) -> Result<DataType, Error> {
    use DataType as D;
    Ok(match data_type {
        D::Character(_)
        | D::Char(_)
        | D::CharacterVarying(_)
        | D::CharVarying(_)
        | D::Varchar(_)
        | D::Nvarchar(_)
        | D::Text
        | D::TinyText
        | D::MediumText
        | D::LongText
        | D::String(_) => D::Varchar(None),
        D::Binary(_) | D::Varbinary(_) | D::Blob(_) | D::Bytea | D::Bytes(_) => D::Blob(None),
        D::Numeric(size) | D::Decimal(size) | D::Dec(size) => D::Decimal(decimal(*size)?),
        D::Float(_) | D::Float4 | D::Float8 | D::Float32 | D::Float64 | D::Real | D::Double(_) | D::DoublePrecision => {
            D::Double(ExactNumberInfo::None)
        }
        D::TinyInt(_) => D::TinyInt(None),
        D::SmallInt(_) | D::Int2(_) => D::SmallInt(None),
        D::Int(_) | D::Integer(_) | D::Int4(_) | D::MediumInt(_) => D::Integer(None),
        D::BigInt(_) | D::Int8(_) | D::Int64 => D::BigInt(None),
        D::HugeInt
        | D::UHugeInt
        | D::UTinyInt
        | D::USmallInt
        | D::UBigInt
        | D::Uuid
        | D::Interval { fields: None, precision: None } => data_type.clone(),
        D::Bool | D::Boolean => D::Boolean,
        D::Date => D::Date,
        D::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => D::Time(None, TimezoneInfo::None),
        D::Datetime(digits)
        | D::TimestampNtz(digits)
        | D::Timestamp(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => timestamp(*digits),
        D::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
            D::Timestamp(None, TimezoneInfo::WithTimeZone)
        }
        D::JSON | D::JSONB | D::Array(ArrayElemTypeDef::None) => D::JSON,
        D::Array(ArrayElemTypeDef::SquareBracket(element, size)) => {
            D::Array(ArrayElemTypeDef::SquareBracket(Box::new(element_type(element, *size)?), *size))
        }
        D::Map(key, value, bracket) => D::Map(Box::new(of_engine(key)?), Box::new(of_engine(value)?), *bracket),
        D::Struct(fields, bracket) => D::Struct(fields.iter().map(field).collect::<Result<_, _>>()?, *bracket),
        D::Custom(name, sizes) => custom(name, sizes)?,
        other => return Err(Error::unsupported_type(other.to_string())),
    })
}

/// `FLOAT[n]`, the type of embeddings, stays one of single precision.
fn element_type(element: &DataType, size: Option<u64>) -> Result<DataType, Error> {
    match element {
        DataType::Float(ExactNumberInfo::None) | DataType::Real | DataType::Float4 if size.is_some() => {
            Ok(DataType::Float(ExactNumberInfo::None))
        }
        other => of_engine(other),
    }
}

fn field(field: &StructField) -> Result<StructField, Error> {
    Ok(StructField { field_type: of_engine(&field.field_type)?, ..field.clone() })
}

pub(super) fn double() -> DataType {
    DataType::Double(ExactNumberInfo::None)
}

fn timestamp(digits: Option<u64>) -> DataType {
    match digits {
        Some(digits) if digits > MICROSECONDS => timestamp_ns(),
        _ => DataType::Timestamp(None, TimezoneInfo::None),
    }
}

pub(super) fn timestamp_ns() -> DataType {
    named("TIMESTAMP_NS")
}

fn named(name: &str) -> DataType {
    DataType::Custom(ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]), Vec::new())
}

fn decimal(size: ExactNumberInfo) -> Result<ExactNumberInfo, Error> {
    let (precision, scale) = match size {
        ExactNumberInfo::None => (PRECISION_MAX, 0),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    let fits = u64::try_from(scale).is_ok_and(|scale| scale <= precision);
    if !(1..=PRECISION_MAX).contains(&precision) || !fits {
        return Err(Error::unsupported_type(format!("DECIMAL({precision},{scale})")));
    }
    Ok(ExactNumberInfo::PrecisionAndScale(precision, scale))
}

/// `VECTOR(FLOAT, n)` and `VECTOR(INT, n)`: an array of so many.
fn vector(sizes: &[String]) -> Option<DataType> {
    let [element, size] = sizes else { return None };
    let element = match element.to_ascii_uppercase().as_str() {
        "FLOAT" => DataType::Float(ExactNumberInfo::None),
        "INT" => DataType::Integer(None),
        _ => return None,
    };
    let size = size.parse().ok().filter(|size| (1..=VECTOR_MAX).contains(size))?;
    Some(DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(element), Some(size))))
}

/// `MAP(VARCHAR, INT)`, whose types the parser takes for sizes.
fn map(sizes: &[String]) -> Option<DataType> {
    let [key, value] = sizes else { return None };
    let read = |word: &str| {
        let declared = Parser::new(&SnowflakeDialect).try_with_sql(word).ok()?.parse_data_type().ok()?;
        of_engine(&declared).ok().map(Box::new)
    };
    Some(DataType::Map(read(key)?, read(value)?, MapBracketKind::Parentheses))
}

/// Types the parser knows by no other name.
fn custom(name: &ObjectName, sizes: &[String]) -> Result<DataType, Error> {
    let refused = || Error::unsupported_type(name.to_string());
    let word = names::single(name).map(|name| name.value.to_ascii_uppercase()).unwrap_or_default();
    if word == "VECTOR" {
        return vector(sizes).ok_or_else(refused);
    }
    if word == "MAP" {
        return map(sizes).ok_or_else(refused);
    }
    let first = sizes.first().map(|digits| digits.parse::<u64>().map_err(|_| refused())).transpose()?;
    Ok(match word.as_str() {
        "NUMBER" => {
            let scale = sizes.get(1).map(|digits| digits.parse::<i64>().map_err(|_| refused())).transpose()?;
            let size = match (first, scale) {
                (Some(precision), Some(scale)) => ExactNumberInfo::PrecisionAndScale(precision, scale),
                (Some(precision), None) => ExactNumberInfo::Precision(precision),
                (None, _) => ExactNumberInfo::None,
            };
            DataType::Decimal(decimal(size)?)
        }
        "VARIANT" | "OBJECT" | "ARRAY" => DataType::JSON,
        "TIMESTAMP_NTZ" | "TIMESTAMPNTZ" => timestamp(first),
        "TIMESTAMP_LTZ" | "TIMESTAMP_TZ" | "TIMESTAMPLTZ" | "TIMESTAMPTZ" => {
            DataType::Timestamp(None, TimezoneInfo::WithTimeZone)
        }
        "BYTEINT" => DataType::BigInt(None),
        "NAME" | "BPCHAR" => DataType::Varchar(None),
        "UINTEGER" | "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" if sizes.is_empty() => named(&word),
        _ => return Err(refused()),
    })
}
