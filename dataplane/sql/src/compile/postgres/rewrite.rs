//! PostgreSQL's words for its catalogue, in the engine's.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, Array, ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, Function, Ident, ObjectName,
    ObjectNamePart, Query, Select, SelectItem, Subscript, TableAlias, TableFactor, UnaryOperator, Value, VisitorMut,
};

use super::hidden::{self, SelectScope};
use super::relations::stored;
use super::{CATALOG, INFORMATION, lower, table_function};
use crate::ast::array_text;
use crate::ast::call::{call, literal, sole_argument};
use crate::ast::expression::{self, binary, number, unnested};
use crate::ast::names::column_by_alias;
use crate::dialect::matched;

/// Functions that make rows of one column.
const SETS: [&str; 3] = ["generate_series", "generate_subscripts", "unnest"];

pub(super) struct Rewriter<'a> {
    made: &'a BTreeSet<String>,
    /// Queries that this is in.
    depth: usize,
    scopes: Vec<SelectScope>,
}

impl<'a> Rewriter<'a> {
    /// `made` is what WITH names.
    pub fn new(made: &'a BTreeSet<String>) -> Self {
        Self { made, depth: 0, scopes: Vec::new() }
    }
}

/// The type that names something by its id: `regclass`, `regtype`, ….
pub(super) fn registered(data_type: &DataType) -> Option<&'static str> {
    let name = match data_type {
        DataType::Regclass => return Some("regclass"),
        DataType::Custom(name, _) => lower(name)?.pop()?,
        _ => return None,
    };
    let known = ["regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "regoper", "regconfig"];
    known.into_iter().find(|known| *known == name)
}

impl VisitorMut for Rewriter<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.scopes.push(SelectScope::of(select, self.made));
        hidden::keep_names(select);
        if self.depth == 1 {
            shown(select);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, alias, args: Some(_), .. } => {
                unqualify(name);
                called_by_alias(name, alias);
                table_function::of_one_value(factor);
            }
            TableFactor::Table { name, alias, args: None, .. } => relation(name, alias, self.made),
            TableFactor::UNNEST { array_exprs, .. } if array_exprs.len() > 1 => table_function::of_lists(factor),
            TableFactor::UNNEST { alias: Some(alias), .. } => column_by_alias(alias),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(id) = hidden::table_id(expr, &self.scopes) {
            *expr = id;
        }
        match expr {
            Expr::CompoundIdentifier(path) if path.len() > 2 => {
                let schema = path.first().map(|first| first.value.to_ascii_lowercase());
                if schema.is_some_and(|schema| schema == CATALOG || schema == INFORMATION) {
                    path.remove(0);
                }
            }
            Expr::Function(function) => {
                unqualify(&mut function.name);
                if hidden::counts_in_vector(function) {
                    *expr = less_one(expr.clone());
                    return ControlFlow::Continue(());
                }
                if lower(&function.name).is_some_and(|name| name == ["json_build_object"]) {
                    function.name = name("json_object");
                }
            }
            Expr::Collate { expr: inner, .. } => *expr = inner.as_ref().clone(),
            Expr::Cast { .. } => cast(expr),
            Expr::BinaryOp { .. } => operator(expr),
            // The engine has no outer join on ANY of a column.
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } if is_column(right) => {
                *expr = call("list_contains", [right.as_ref().clone(), left.as_ref().clone()]);
            }
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => {
                listed(right);
                bound(left, right);
            }
            Expr::CompoundFieldAccess { root, access_chain } => from_one(root, access_chain),
            // A backslash escapes unless another character is said to.
            Expr::Like { escape_char: escape @ None, .. } | Expr::ILike { escape_char: escape @ None, .. } => {
                *escape = Some(Box::new(text("\\")));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// `pg_catalog.pg_class` is `pg_class`, and goes by the name it had.
fn relation(name: &mut ObjectName, alias: &mut Option<TableAlias>, made: &BTreeSet<String>) {
    let Some(parts) = lower(name) else { return };
    let (Some(last), schema) = (parts.last(), parts.iter().rev().nth(1)) else { return };
    if schema.is_none() && made.contains(last) {
        return;
    }
    let schema = schema.map_or(CATALOG, String::as_str);
    if schema != CATALOG && alias.is_none() {
        *alias = Some(TableAlias { explicit: true, name: Ident::new(last), columns: Vec::new(), at: None });
    }
    *name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(stored(schema, last)))]);
}

/// Ids of functions that the answer shows are their names, and vectors their numbers; inside it they are what they are.
fn shown(select: &mut Select) {
    for item in &mut select.projection {
        let SelectItem::ExprWithAlias { expr, .. } = item else { continue };
        if hidden::is_proc(expr) {
            *expr = call("regproc_name", [expr.clone()]);
        } else if hidden::is_vector(expr) && !matches!(expr, Expr::Cast { .. }) {
            *expr = written_out(expr);
        }
    }
}

/// `1 2`, the text of a vector.
fn written_out(vector: &Expr) -> Expr {
    call("array_to_string", [vector.clone(), text(" ")])
}

/// The one column of `generate_series(1, 3) s` is `s`.
fn called_by_alias(name: &ObjectName, alias: &mut Option<TableAlias>) {
    let is_one = lower(name).is_some_and(|parts| matches!(parts.as_slice(), [name] if SETS.contains(&name.as_str())));
    if let (true, Some(alias)) = (is_one, alias) {
        column_by_alias(alias);
    }
}

/// `pg_catalog.f` is `f`.
fn unqualify(name: &mut ObjectName) {
    let of_catalog = name.0.first().and_then(ObjectNamePart::as_ident).is_some_and(|first| {
        first.value.eq_ignore_ascii_case(CATALOG) || first.value.eq_ignore_ascii_case(INFORMATION)
    });
    if name.0.len() > 1 && of_catalog {
        name.0.remove(0);
    }
}

fn cast(expr: &mut Expr) {
    let Expr::Cast { expr: inner, data_type, kind, .. } = expr else { return };
    *kind = CastKind::Cast;
    if let Some(registered) = registered(data_type) {
        let function = if spells(unnested(inner)) { format!("{registered}_of") } else { format!("{registered}_name") };
        *expr = call(&function, [inner.as_ref().clone()]);
        return;
    }
    if hidden::is_proc(unnested(inner)) && is_text(data_type) {
        *expr = call("regproc_name", [inner.as_ref().clone()]);
        return;
    }
    if is_text(data_type)
        && let Some(registered) = spelled(inner)
    {
        *expr = call(&format!("{registered}_name"), [inner.as_ref().clone()]);
        return;
    }
    if is_text(data_type) && hidden::is_vector(unnested(inner)) {
        *expr = written_out(inner);
        return;
    }
    if is_number(data_type)
        && let Some(id) = named(inner)
    {
        // `x::regclass::oid` is `x`.
        *expr = id;
        return;
    }
    listed_as(inner, data_type);
    *data_type = engines(data_type);
}

/// Whether it is a text, which names something, and not an id.
fn spells(expr: &Expr) -> bool {
    const TEXTS: [&str; 3] = ["concat", "format", "quote_ident"];
    match expr {
        Expr::Value(value) => matches!(value.value, Value::SingleQuotedString(_) | Value::Placeholder(_)),
        Expr::BinaryOp { op, .. } => *op == BinaryOperator::StringConcat,
        Expr::Cast { data_type, .. } => is_text(data_type),
        Expr::Function(Function { name, .. }) => {
            let called = lower(name).and_then(|mut parts| parts.pop()).unwrap_or_default();
            TEXTS.contains(&called.as_str()) || called.starts_with("reg") && called.ends_with("_name")
        }
        _ => false,
    }
}

/// The type whose name `regtype_of('int')` is spelled as.
fn spelled(expr: &Expr) -> Option<String> {
    let Expr::Function(Function { name, .. }) = unnested(expr) else { return None };
    lower(name)?.pop()?.strip_suffix("_of").filter(|name| name.starts_with("reg")).map(str::to_owned)
}

/// The id inside `regclass_name(id)`.
fn named(expr: &Expr) -> Option<Expr> {
    let Expr::Function(function) = unnested(expr) else { return None };
    let is_name = lower(&function.name)?.pop()?.strip_suffix("_name").is_some_and(|name| name.starts_with("reg"));
    sole_argument(function).filter(|_| is_name).cloned()
}

fn is_number(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int(_) | DataType::Integer(_) | DataType::BigInt(_) | DataType::Int4(_) | DataType::Int8(_)
    ) || word(data_type).is_some_and(|word| word == "oid")
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Text | DataType::Varchar(_))
        || word(data_type).is_some_and(|word| matches!(word.as_str(), "text" | "varchar" | "name"))
}

fn word(data_type: &DataType) -> Option<String> {
    match data_type {
        DataType::Custom(name, _) => lower(name)?.pop(),
        _ => None,
    }
}

/// The engine's name of the type.
fn engines(data_type: &DataType) -> DataType {
    let custom =
        |name: &str| DataType::Custom(ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]), Vec::new());
    let list = |item: &str| DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(custom(item)), None));
    match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, size)) => {
            DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(engines(item)), *size))
        }
        DataType::Char(None) | DataType::Character(None) => custom("varchar"),
        DataType::Custom(name, modifiers) => match word(data_type).unwrap_or_default().as_str() {
            "oid" | "xid" | "cid" | "int8" => custom("bigint"),
            "int4" | "cardinal_number" => custom("integer"),
            "int2" => custom("smallint"),
            "bool" => custom("boolean"),
            "name" | "char" | "bpchar" | "text" | "varchar" | "cstring" | "aclitem" | "pg_node_tree" | "unknown"
            | "sql_identifier" | "character_data" | "yes_or_no" | "information_schema" => custom("varchar"),
            "oidvector" | "int2vector" => list("bigint"),
            "anyarray" => list("varchar"),
            _ => {
                let mut name = name.clone();
                unqualify(&mut name);
                DataType::Custom(name, modifiers.clone())
            }
        },
        other => other.clone(),
    }
}

/// `ANY('{r,v}')` names its list in one text.
fn listed(expr: &mut Expr) {
    if let Some(items) = items(unnested(expr)) {
        *expr = items;
    }
}

/// `relkind = ANY($1)`: the engine asks what the list is of, and the column tells.
fn bound(column: &Expr, list: &mut Expr) {
    let is_bound = matches!(unnested(list), Expr::Value(value) if matches!(value.value, Value::Placeholder(_)));
    if let (true, Some(item)) = (is_bound, hidden::item(unnested(column))) {
        let item = Box::new(DataType::Custom(name(item), Vec::new()));
        *list = expression::cast(list.clone(), DataType::Array(ArrayElemTypeDef::SquareBracket(item, None)));
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(unnested(expr), Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

fn less_one(expr: Expr) -> Expr {
    Expr::Nested(Box::new(binary(expr, BinaryOperator::Minus, number(1))))
}

/// A vector of PostgreSQL counts from 0, a list of the engine from 1.
fn from_one(root: &Expr, chain: &mut [AccessExpr]) {
    let mut is_vector = hidden::is_vector(root);
    for access in chain {
        match access {
            AccessExpr::Dot(name) => is_vector = hidden::is_vector(name),
            AccessExpr::Subscript(Subscript::Index { index }) if is_vector => {
                let before = Expr::Nested(Box::new(index.clone()));
                *index = binary(before, BinaryOperator::Plus, number(1));
            }
            AccessExpr::Subscript(_) => {}
        }
    }
}

fn listed_as(expr: &mut Expr, data_type: &DataType) {
    if matches!(data_type, DataType::Array(_)) {
        listed(expr);
    }
}

/// The items of a text such as `{r,v}`.
fn items(expr: &Expr) -> Option<Expr> {
    let Expr::Array(Array { elem, .. }) = array_text::array(literal(expr)?)? else { return None };
    Some(Expr::Array(Array { elem, named: false }))
}

/// Operators under their full names, and those on patterns.
fn operator(expr: &mut Expr) {
    let Expr::BinaryOp { left, op, right } = expr else { return };
    let sign = match &*op {
        BinaryOperator::PGCustomBinaryOperator(path) => path.last().cloned().unwrap_or_default(),
        other => other.to_string(),
    };
    let is_negated = sign.starts_with('!') && sign != "!=";
    let Some(matched) = matched(left, sign.trim_start_matches('!'), right) else {
        if let BinaryOperator::PGCustomBinaryOperator(_) = op {
            *op = BinaryOperator::Custom(sign);
        }
        return;
    };
    let plain = Expr::Nested(Box::new(matched));
    *expr = if is_negated {
        Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(plain) }))
    } else {
        plain
    };
}

fn text(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}

fn name(name: &str) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))])
}
