//! What type an expression has, as far as the catalog, casts and literals tell.
//!
//! Small on purpose: the dialect asks it where a rewrite depends on a type (`DATE` plus a day stays
//! a `DATE`, `a:b` reads JSON). What it cannot tell is [`Type::Unknown`], never a guess; names are
//! looked up over the whole statement, and a name that means two types in it is unknown.

use std::collections::{HashMap, HashSet};

use sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, TimezoneInfo,
    UnaryOperator, Value,
};

mod certain;
pub mod exact;

use exact::Exact;

/// The families of types the rewrites tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    Boolean,
    /// Every width of integer, signed or not.
    Integer,
    Decimal,
    Double,
    Text,
    Blob,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Interval,
    Json,
    Uuid,
    List,
    Struct,
    Map,
    Unknown,
}

impl Type {
    /// The family of a type as the engine's catalog prints it (`DECIMAL(15,2)`, `INTEGER[]`).
    pub fn of_name(name: &str) -> Self {
        let upper = name.trim().to_ascii_uppercase();
        if upper.ends_with(']') {
            return Self::List;
        }
        let head = upper.split('(').next().unwrap_or_default().trim();
        match head {
            "BOOLEAN" | "BOOL" => Self::Boolean,
            "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" | "HUGEINT" | "UTINYINT" | "USMALLINT" | "UINTEGER"
            | "UBIGINT" | "UHUGEINT" | "INT" => Self::Integer,
            "DECIMAL" | "NUMERIC" => Self::Decimal,
            "DOUBLE" | "FLOAT" | "REAL" => Self::Double,
            "VARCHAR" | "TEXT" | "STRING" | "CHAR" | "BPCHAR" => Self::Text,
            "BLOB" | "BYTEA" | "VARBINARY" | "BINARY" => Self::Blob,
            "DATE" => Self::Date,
            "TIME" => Self::Time,
            "TIMESTAMP" | "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" | "DATETIME" => Self::Timestamp,
            "TIMESTAMP WITH TIME ZONE" | "TIMESTAMPTZ" => Self::TimestampTz,
            "INTERVAL" => Self::Interval,
            "JSON" => Self::Json,
            "UUID" => Self::Uuid,
            "STRUCT" => Self::Struct,
            "MAP" => Self::Map,
            _ => Self::Unknown,
        }
    }

    /// Whether values of it have moments counted in nanoseconds, the first of which the engine cannot write as text.
    pub(crate) fn counts_nanoseconds(type_name: &str) -> bool {
        type_name.to_ascii_uppercase().contains("TIMESTAMP_NS")
    }

    /// The family of a type as the statement spells it, warehouse names included.
    pub fn of_declared(data_type: &DataType) -> Self {
        match data_type {
            DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => Self::TimestampTz,
            DataType::Timestamp(..) | DataType::TimestampNtz(_) | DataType::Datetime(_) => Self::Timestamp,
            DataType::Array(_) => Self::List,
            DataType::Interval { .. } => Self::Interval,
            DataType::Struct(..) => Self::Struct,
            DataType::Map(..) => Self::Map,
            DataType::Custom(name, _) => Self::of_custom(&name.to_string()),
            DataType::Character(_) | DataType::CharacterVarying(_) | DataType::Nvarchar(_) => Self::Text,
            DataType::DoublePrecision | DataType::Float4 | DataType::Float8 | DataType::Float64 => Self::Double,
            DataType::Int2(_) | DataType::Int4(_) | DataType::Int8(_) | DataType::Int64 => Self::Integer,
            other => Self::of_name(&other.to_string()),
        }
    }

    fn of_custom(name: &str) -> Self {
        match name.to_ascii_uppercase().as_str() {
            "NUMBER" => Self::Decimal,
            "VARIANT" | "OBJECT" | "ARRAY" => Self::Json,
            "TIMESTAMP_NTZ" => Self::Timestamp,
            "TIMESTAMP_LTZ" | "TIMESTAMP_TZ" => Self::TimestampTz,
            other => Self::of_name(other),
        }
    }

    /// A point in time or of a day, or a span: nothing that must be read first.
    pub fn is_moment(self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::Timestamp | Self::TimestampTz | Self::Interval)
    }

    pub fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Decimal | Self::Double)
    }
}

/// What is known about the columns a statement can name.
pub trait ColumnTypes {
    /// The type of the column of this name, behind this qualifier (a table or its alias) if one is given.
    fn column(&self, qualifier: Option<&str>, name: &str) -> Type;

    /// What is known of its type beyond the family.
    fn exact(&self, qualifier: Option<&str>, name: &str) -> Option<Exact> {
        let _ = (qualifier, name);
        None
    }

    /// Every known type that a column of this name has somewhere in the statement.
    fn families(&self, name: &str) -> &[Type] {
        let _ = name;
        &[]
    }

    /// Whether anything in the statement is known to have a column of this name.
    fn is_column(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Whether a type is said only where it can be no other; else the likeliest is.
    fn is_certain(&self) -> bool {
        false
    }

    /// Whether what is called so may have columns that are not known, or, without a name, whether anything may.
    fn is_open(&self, qualifier: Option<&str>) -> bool {
        let _ = qualifier;
        false
    }
}

/// The columns in reach of one statement, by name. Built by [`crate::resolve`].
#[derive(Debug, Clone, Default)]
pub struct Known {
    bare: HashMap<String, Type>,
    families: HashMap<String, Vec<Type>>,
    qualified: HashMap<String, HashMap<String, Type>>,
    /// What may have columns that are not known.
    open: HashSet<String>,
}

impl Known {
    /// Adds a column; a name met with two types becomes unknown.
    pub fn add(&mut self, qualifier: &str, name: &str, found: Type) {
        let name = name.to_ascii_lowercase();
        let families = self.families.entry(name.clone()).or_default();
        if found != Type::Unknown && !families.contains(&found) {
            families.push(found);
        }
        let columns = self.qualified.entry(qualifier.to_ascii_lowercase()).or_default();
        columns.entry(name.clone()).and_modify(|known| *known = agree(*known, found)).or_insert(found);
        self.bare.entry(name).and_modify(|known| *known = agree(*known, found)).or_insert(found);
    }

    /// Says that it may have more columns than are added.
    pub fn leave_open(&mut self, qualifier: &str) {
        self.open.insert(qualifier.to_ascii_lowercase());
    }
}

fn agree(one: Type, other: Type) -> Type {
    if one == other { one } else { Type::Unknown }
}

impl ColumnTypes for Known {
    fn is_column(&self, name: &str) -> bool {
        self.bare.contains_key(&name.to_ascii_lowercase())
    }

    fn is_open(&self, qualifier: Option<&str>) -> bool {
        qualifier.map_or(!self.open.is_empty(), |name| self.open.contains(&name.to_ascii_lowercase()))
    }

    fn families(&self, name: &str) -> &[Type] {
        self.families.get(&name.to_ascii_lowercase()).map_or(&[], Vec::as_slice)
    }

    fn column(&self, qualifier: Option<&str>, name: &str) -> Type {
        let name = name.to_ascii_lowercase();
        let columns = match qualifier {
            Some(qualifier) => self.qualified.get(&qualifier.to_ascii_lowercase()),
            None => Some(&self.bare),
        };
        columns.and_then(|columns| columns.get(&name)).copied().unwrap_or(Type::Unknown)
    }
}

/// The type of an expression, or [`Type::Unknown`].
#[recursive::recursive]
pub fn type_of(expr: &Expr, columns: &dyn ColumnTypes) -> Type {
    if columns.is_certain()
        && let Some(certain) = certain::type_of(expr, columns)
    {
        return certain;
    }
    match expr {
        Expr::Identifier(ident) => columns.column(None, &ident.value),
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [.., table, column] => columns.column(Some(&table.value), &column.value),
            _ => Type::Unknown,
        },
        Expr::Value(value) => type_of_literal(&value.value),
        Expr::TypedString(typed) => Type::of_declared(&typed.data_type),
        Expr::Cast { data_type, .. } => Type::of_declared(data_type),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => type_of(inner, columns),
        Expr::Interval(_) => Type::Interval,
        Expr::BinaryOp { left, op, right } => type_of_operator(type_of(left, columns), op, type_of(right, columns)),
        Expr::Case { conditions, else_result, .. } => {
            let branches = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
            common(branches.map(|branch| type_of(branch, columns)))
        }
        Expr::UnaryOp { op: UnaryOperator::Not, .. }
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::RLike { .. }
        | Expr::SimilarTo { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. }
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::Exists { .. }
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..) => Type::Boolean,
        Expr::UnaryOp { expr, .. } => type_of(expr, columns),
        Expr::JsonAccess { .. } => Type::Json,
        Expr::Trim { .. } | Expr::Substring { .. } => Type::Text,
        Expr::Extract { .. } | Expr::Position { .. } => Type::Integer,
        Expr::Function(function) => match type_of_function(&function.name.to_string()) {
            Type::Unknown => type_of_aggregate(function, columns),
            known => known,
        },
        _ => Type::Unknown,
    }
}

/// Of aggregates whose result is of the family of what they are given; in the engine an average is a `DOUBLE`.
fn type_of_aggregate(function: &Function, columns: &dyn ColumnTypes) -> Type {
    let Some(argument) = sole_argument(function) else { return Type::Unknown };
    match function.name.to_string().to_ascii_lowercase().as_str() {
        "min" | "max" | "any_value" => type_of(argument, columns),
        "sum" => Some(type_of(argument, columns)).filter(|found| found.is_number()).unwrap_or(Type::Unknown),
        "avg" if type_of(argument, columns).is_number() => Type::Double,
        _ => Type::Unknown,
    }
}

/// The one argument of a call.
pub(crate) fn sole_argument(function: &Function) -> Option<&Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))] => Some(expr),
        _ => None,
    }
}

/// Digits of the longest literal that is surely no DOUBLE, and of the shortest that surely is one.
const EXACT_DIGITS_MAX: usize = 37;
const DOUBLE_DIGITS_MIN: usize = 41;

fn type_of_literal(value: &Value) -> Type {
    match value {
        Value::Number(written, _) => type_of_number(written),
        Value::SingleQuotedString(_) => Type::Text,
        Value::HexStringLiteral(_) => Type::Blob,
        Value::Boolean(_) => Type::Boolean,
        _ => Type::Unknown,
    }
}

fn type_of_number(written: &str) -> Type {
    let digits = written.bytes().filter(u8::is_ascii_digit).count();
    match digits {
        _ if written.contains(['e', 'E']) => Type::Double,
        DOUBLE_DIGITS_MIN.. => Type::Double,
        ..=EXACT_DIGITS_MAX if written.contains('.') => Type::Decimal,
        ..=EXACT_DIGITS_MAX => Type::Integer,
        _ => Type::Unknown,
    }
}

fn type_of_operator(left: Type, op: &BinaryOperator, right: Type) -> Type {
    use BinaryOperator as B;
    match op {
        B::And | B::Or | B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq | B::PGRegexMatch => Type::Boolean,
        B::StringConcat if left != Type::List && right != Type::List => Type::Text,
        B::LongArrow | B::HashLongArrow => Type::Text,
        B::Arrow | B::HashArrow => Type::Json,
        B::Minus if left == Type::Date && right == Type::Date => Type::Integer,
        B::Plus | B::Minus => type_of_sum(left, right),
        B::Multiply | B::Modulo if left.is_number() && right.is_number() => widest(left, right),
        _ => Type::Unknown,
    }
}

fn type_of_sum(left: Type, right: Type) -> Type {
    match (left, right) {
        (Type::Date, Type::Integer) | (Type::Integer, Type::Date) => Type::Date,
        (Type::Date | Type::Timestamp, Type::Interval) | (Type::Interval, Type::Date | Type::Timestamp) => {
            Type::Timestamp
        }
        (Type::TimestampTz, Type::Interval) | (Type::Interval, Type::TimestampTz) => Type::TimestampTz,
        (one, other) if one.is_number() && other.is_number() => widest(one, other),
        _ => Type::Unknown,
    }
}

fn widest(one: Type, other: Type) -> Type {
    if one == Type::Double || other == Type::Double {
        Type::Double
    } else if one == Type::Decimal || other == Type::Decimal {
        Type::Decimal
    } else {
        Type::Integer
    }
}

fn common(types: impl Iterator<Item = Type>) -> Type {
    types.reduce(agree).unwrap_or(Type::Unknown)
}

/// Only functions whose result does not depend on their arguments' types.
fn type_of_function(name: &str) -> Type {
    match name.to_ascii_lowercase().as_str() {
        "current_date" | "to_date" | "make_date" | "last_day" => Type::Date,
        "current_timestamp" | "now" => Type::TimestampTz,
        "upper" | "lower" | "trim" | "substr" | "substring" | "left" | "right" | "concat" | "replace" | "to_char"
        | "to_varchar" => Type::Text,
        "parse_json" | "object_construct" | "array_construct" => Type::Json,
        "prefix"
        | "suffix"
        | "starts_with"
        | "startswith"
        | "ends_with"
        | "endswith"
        | "contains"
        | "bool_and"
        | "bool_or"
        | "isnan"
        | "isinf"
        | "isfinite"
        | "regexp_matches"
        | "regexp_like"
        | "is_null_value"
        | crate::functions::host::LIKE => Type::Boolean,
        "count" | "length" | "datediff" | "date_diff" | "year" | "month" | "day" => Type::Integer,
        _ => Type::Unknown,
    }
}
