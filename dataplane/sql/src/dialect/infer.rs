//! Types of expressions while they are rewritten: columns of the catalog, aliases of inner selects, and
//! what the calls we emit answer.

use std::collections::{HashMap, HashSet};

use sqlparser::ast::{BinaryOperator, Expr, Function, Query, SelectItem, SetExpr, TableAliasColumnDef};

use super::compose;
use crate::ast::call::arguments;
use crate::ast::error::Error;
use crate::functions::types::{self, ColumnTypes, Type};

/// The catalog's columns, and the names the statement itself gives.
pub(super) struct InferredColumns<'a> {
    catalog: &'a dyn ColumnTypes,
    given: HashMap<String, Type>,
    /// Names given to a variant in one place and to something else in another.
    mixed: HashSet<String>,
}

impl<'a> InferredColumns<'a> {
    pub(super) fn new(catalog: &'a dyn ColumnTypes) -> Self {
        Self { catalog, given: HashMap::new(), mixed: HashSet::new() }
    }

    /// Remembers the aliases of a select that is done, for the selects around it.
    pub(super) fn add_projection(&mut self, projection: &[SelectItem]) {
        for item in projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item {
                let found = type_of(expr, self);
                self.add(&alias.value, found);
            }
        }
    }

    /// A name given twice with two types is not known.
    pub(super) fn add(&mut self, name: &str, found: Type) {
        let name = name.to_ascii_lowercase();
        let known = self.given.entry(name.clone()).or_insert(found);
        if *known != found {
            if *known == Type::Json || found == Type::Json {
                self.mixed.insert(name);
            }
            *known = Type::Unknown;
        }
    }

    /// Refuses a column that may be a variant and may not: reading it as either could be wrong.
    pub(super) fn certain(&self, expr: &Expr) -> Result<(), Error> {
        let name = match expr {
            Expr::Nested(inner) => return self.certain(inner),
            Expr::Identifier(ident) => ident,
            _ => return Ok(()),
        };
        let lower = name.value.to_ascii_lowercase();
        let families = self.catalog.families(&name.value);
        let given = self.given.get(&lower).copied().filter(|given| *given != Type::Unknown);
        let mut types = families.iter().copied().chain(given);
        let is_doubtful = types.clone().any(|found| found == Type::Json) && types.any(|found| found != Type::Json);
        if is_doubtful || self.mixed.contains(&lower) {
            return Err(Error::unsupported(format!(
                "the name {} for a variant and for another column in one statement",
                name.value
            )));
        }
        Ok(())
    }

    /// `AS t(a, b)` over a query: the types are those of its columns.
    pub(super) fn rename(&mut self, columns: &[TableAliasColumnDef], query: &Query) {
        for (place, column) in columns.iter().enumerate() {
            let found = projected(query, place, self);
            self.add(&column.name.value, found);
        }
    }
}

/// The type of a query's column, when it is spelled out.
pub(super) fn projected(query: &Query, place: usize, columns: &dyn ColumnTypes) -> Type {
    match query.body.as_ref() {
        SetExpr::Select(select) if !select.projection.iter().any(is_star) => match select.projection.get(place) {
            Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => type_of(expr, columns),
            _ => Type::Unknown,
        },
        SetExpr::Values(values) => {
            let first = values.rows.first().and_then(|row| row.content.get(place));
            first.map_or(Type::Unknown, |expr| type_of(expr, columns))
        }
        _ => Type::Unknown,
    }
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

impl ColumnTypes for InferredColumns<'_> {
    fn is_column(&self, name: &str) -> bool {
        self.catalog.is_column(name) || self.given.contains_key(&name.to_ascii_lowercase())
    }

    fn is_open(&self, qualifier: Option<&str>) -> bool {
        self.catalog.is_open(qualifier)
    }

    fn column(&self, qualifier: Option<&str>, name: &str) -> Type {
        let stored = self.catalog.column(qualifier, name);
        match self.given.get(&name.to_ascii_lowercase()) {
            None => stored,
            // a column of another family has the name too
            Some(given) if qualifier.is_none() && self.catalog.families(name).iter().any(|one| one != given) => {
                Type::Unknown
            }
            Some(given) if stored == Type::Unknown || stored == *given => *given,
            Some(_) if qualifier.is_some() => stored,
            Some(_) => Type::Unknown,
        }
    }
}

/// The type of an expression in the engine's form.
pub(super) fn type_of(expr: &Expr, columns: &dyn ColumnTypes) -> Type {
    match expr {
        Expr::Nested(inner) => type_of(inner, columns),
        Expr::Function(function) => type_of_call(function, columns),
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|arm| &arm.result).chain(else_result.as_deref());
            common(results, columns)
        }
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply, right } => {
            match (type_of(left, columns), type_of(right, columns)) {
                (one, other) if one.is_number() && other.is_number() => widest(one, other),
                (moment @ (Type::Timestamp | Type::TimestampTz), Type::Interval) => moment,
                (Type::Date, Type::Interval) => Type::Timestamp,
                _ => types::type_of(expr, columns),
            }
        }
        Expr::BinaryOp { left, op: BinaryOperator::Divide, .. } if type_of(left, columns).is_number() => Type::Double,
        Expr::BinaryOp { op: BinaryOperator::Arrow, .. } => Type::Json,
        Expr::BinaryOp { op: BinaryOperator::LongArrow, .. } => Type::Text,
        Expr::Subquery(query) => projected(query, 0, columns),
        Expr::Dictionary(_) => Type::Struct,
        Expr::Array(_) => Type::List,
        other => types::type_of(other, columns),
    }
}

fn widest(one: Type, other: Type) -> Type {
    [Type::Double, Type::Decimal].into_iter().find(|wide| one == *wide || other == *wide).unwrap_or(Type::Integer)
}

fn common<'e>(exprs: impl Iterator<Item = &'e Expr>, columns: &dyn ColumnTypes) -> Type {
    let mut types = exprs.filter(|expr| !compose::is_null(expr) && !raises(expr)).map(|expr| type_of(expr, columns));
    let Some(first) = types.next() else {
        return Type::Unknown;
    };
    if types.all(|found| found == first) { first } else { Type::Unknown }
}

/// A branch that answers nothing.
fn raises(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if compose::bare_name(&function.name).as_deref() == Some("error"))
}

/// What the engine's functions answer, as far as the rewrites care.
fn type_of_call(function: &Function, columns: &dyn ColumnTypes) -> Type {
    let Some(name) = compose::bare_name(&function.name) else {
        return Type::Unknown;
    };
    let args = || arguments(function);
    match name.as_str() {
        "json_object" | "json_array" | "to_json" | "json_extract" | "json_merge_patch" | "json_group_array"
        | "json_group_object" | "json" | "row_to_json" => Type::Json,
        "unhex" | "from_base64" | "encode" => Type::Blob,
        "strptime" | "try_strptime" | "make_timestamp" | "localtimestamp" | "current_localtimestamp" => Type::Timestamp,
        "timezone" => args().nth(1).map_or(Type::Unknown, |moment| match type_of(moment, columns) {
            Type::TimestampTz => Type::Timestamp,
            Type::Timestamp => Type::TimestampTz,
            _ => Type::Unknown,
        }),
        "make_date" | "last_day" | "current_date" | "today" => Type::Date,
        "now" | "current_timestamp" | "get_current_timestamp" | "transaction_timestamp" => Type::TimestampTz,
        "date_diff" | "date_part" | "strpos" | "len" | "length" | "count" | "epoch_ms" | "levenshtein"
        | "row_number" | "rank" | "dense_rank" | "json_array_length" | "year" | "month" | "day" | "hour" | "minute"
        | "quarter" | "week" | "isodow" | "isoyear" | "dayofweek" | "dayofyear" => Type::Integer,
        "strftime"
        | "upper"
        | "lower"
        | "substr"
        | "left"
        | "right"
        | "replace"
        | "split_part"
        | "string_agg"
        | "typeof"
        | "json_type"
        | "json_extract_string"
        | "sha256"
        | "md5"
        | "array_to_string"
        | "regexp_replace"
        | "trim"
        | "ltrim"
        | "rtrim"
        | "lpad"
        | "rpad"
        | "repeat"
        | "reverse"
        | "hex"
        | "to_base64"
        | "chr" => Type::Text,
        "avg" | "cbrt" | "corr" | "covar_pop" | "covar_samp" | "exp" | "ln" | "log" | "pow" | "power" | "sqrt"
        | "stddev" | "stddev_pop" | "stddev_samp" | "var_pop" | "var_samp" | "variance" => Type::Double,
        "to_days" | "to_weeks" | "to_months" | "to_quarters" | "to_years" | "to_hours" | "to_minutes"
        | "to_seconds" | "to_milliseconds" | "to_microseconds" => Type::Interval,
        "list" | "string_split" | "list_transform" | "list_filter" | "list_value" | "range" | "json_keys"
        | "regexp_extract_all" => Type::List,
        "date_trunc" => args().nth(1).map_or(Type::Unknown, |date| match type_of(date, columns) {
            Type::Date => Type::Timestamp,
            known => known,
        }),
        "cast_to_type" => args().nth(1).map_or(Type::Unknown, |model| type_of(model, columns)),
        "coalesce" | "ifnull" | "greatest" | "least" => common(args(), columns),
        "min" | "max" | "any_value" | "try" | "first" | "last" | "first_value" | "last_value" | "lag" | "lead"
        | "nullif" | "arg_max" | "arg_min" | "arg_max_null" | "arg_min_null" | "abs" | "ceil" | "floor" | "round"
        | "sum" | "trunc" => args().next().map_or(Type::Unknown, |value| type_of(value, columns)),
        _ => Type::Unknown,
    }
}
