//! Aggregates: `LISTAGG`, `ARRAY_AGG`, `OBJECT_AGG`, and those with another name.
//!
//! OVER, FILTER, DISTINCT and ORDER BY stay with the engine's aggregate; what is wrapped around it
//! (an empty LISTAGG is `''`, an `ARRAY_AGG` is JSON) stands outside.

use sqlparser::ast::{
    BinaryOperator, DataType, DuplicateTreatment, Expr, Function, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, ObjectNamePart, OrderByExpr, OrderBySort,
};

use super::call::{Handler, positional, written_name, wrong_count};
use super::{Context, compose};
use crate::ast::error::Error;
use crate::functions::types::Type;

pub(super) const CALLS: &[(&[&str], Handler)] = &[
    (&["approx_top_k"], approx_top_k),
    (&["array_agg"], array_agg),
    (&["array_union_agg"], array_union_agg),
    (&["array_unique_agg"], array_unique_agg),
    (&["booland_agg"], all_true),
    (&["boolor_agg"], any_true),
    (&["boolxor_agg"], only_one),
    (&["corr", "regr_slope"], of_two_columns),
    (&["count"], count),
    (&["count_if", "countif"], count_if),
    (&["listagg"], listagg),
    (&["max_by", "min_by"], of_extreme_row),
    (&["object_agg"], object_agg),
    (&["percentile_cont", "percentile_disc"], percentile),
];

pub(super) fn rename(function: &mut Function, name: &str) {
    function.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]);
}

/// `BOOLAND_AGG(n)` takes numbers too.
fn all_true(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    of_booleans(function, "bool_and")
}

fn any_true(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    of_booleans(function, "bool_or")
}

fn of_booleans(mut function: Function, engine: &str) -> Result<Expr, Error> {
    let name = function.name.to_string();
    let [value] = arguments::<1>(&name, &mut function)?;
    put(&mut function, [compose::cast(value, DataType::Boolean)]);
    rename(&mut function, engine);
    Ok(Expr::Function(function))
}

/// `BOOLXOR_AGG(x)`: whether it is true of exactly one row.
fn only_one(mut function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    let [value] = arguments::<1>("boolxor_agg", &mut function)?;
    let truth = compose::cast(value, DataType::Boolean);
    put(&mut function, [compose::cast(truth, DataType::Integer(None))]);
    rename(&mut function, "sum");
    Ok(compose::binary(Expr::Function(function), BinaryOperator::Eq, compose::number(1)))
}

/// `MAX_BY(x, key)` is of the row with the greatest key, NULL or not; the engine passes over rows where `x` is NULL.
#[expect(clippy::unnecessary_wraps, reason = "it is a handler like the others")]
fn of_extreme_row(mut function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    if super::call::arity(&function) == 2 {
        let is_max = function.name.to_string().eq_ignore_ascii_case("max_by");
        rename(&mut function, if is_max { "arg_max_null" } else { "arg_min_null" });
    }
    Ok(Expr::Function(function))
}

/// `CORR` and `REGR_SLOPE` of a column that does not vary are NULL; the engine answers NaN.
fn of_two_columns(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    super::templates::fill("_unless_nan", &mut [Expr::Function(function)], context)
}

/// The arguments, taken out.
pub(super) fn arguments<const N: usize>(name: &str, function: &mut Function) -> Result<[Expr; N], Error> {
    let FunctionArguments::List(list) = &mut function.args else {
        return Err(wrong_count(name, 0));
    };
    let args = std::mem::take(&mut list.args);
    let args = args.into_iter().map(|argument| positional(argument, &name)).collect::<Result<Vec<_>, _>>()?;
    super::call::exactly(name, args)
}

pub(super) fn put(function: &mut Function, args: impl IntoIterator<Item = Expr>) {
    if let FunctionArguments::List(list) = &mut function.args {
        list.args = args.into_iter().map(compose::argument).collect();
    }
}

/// WITHIN GROUP (ORDER BY …) becomes ORDER BY among the arguments, which is where the engine has it.
fn order_inside(function: &mut Function) {
    let order: Vec<OrderByExpr> = std::mem::take(&mut function.within_group);
    if let FunctionArguments::List(FunctionArgumentList { clauses, .. }) = &mut function.args
        && !order.is_empty()
    {
        clauses.push(FunctionArgumentClause::OrderBy(order));
    }
}

/// Only rows where the value is there, beside whatever FILTER says.
fn only_present(function: &mut Function, value: &Expr) {
    let present = Expr::IsNotNull(Box::new(value.clone()));
    let filter = match function.filter.take() {
        None => present,
        Some(filter) => compose::binary(*filter, BinaryOperator::And, present),
    };
    function.filter = Some(Box::new(filter));
}

/// `LISTAGG(x[, delimiter]) WITHIN GROUP (ORDER BY …)`; of no rows it is ''.
fn listagg(mut function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let (value, delimiter) = if super::call::arity(&function) == 1 {
        let [value] = arguments::<1>("listagg", &mut function)?;
        (value, compose::text(""))
    } else {
        let [value, delimiter] = arguments::<2>("listagg", &mut function)?;
        (value, delimiter)
    };
    let value = match context.type_of(&value) {
        Type::Text => value,
        Type::Timestamp | Type::TimestampTz => super::moments::shown(value, context),
        _ => compose::cast(value, DataType::Varchar(None)),
    };
    put(&mut function, [value, delimiter]);
    if let FunctionArguments::List(list) = &function.args
        && list.clauses.iter().any(|clause| !matches!(clause, FunctionArgumentClause::OrderBy(_)))
    {
        return Err(Error::unsupported("ON OVERFLOW of LISTAGG"));
    }
    order_inside(&mut function);
    align_distinct_order(&mut function);
    rename(&mut function, "string_agg");
    Ok(compose::call("coalesce", [Expr::Function(function), compose::text("")]))
}

/// `LISTAGG(DISTINCT x) … ORDER BY x`: the engine wants the key to be the argument itself, cast and all.
fn align_distinct_order(function: &mut Function) {
    let FunctionArguments::List(FunctionArgumentList { duplicate_treatment, args, clauses }) = &mut function.args
    else {
        return;
    };
    if *duplicate_treatment != Some(DuplicateTreatment::Distinct) {
        return;
    }
    let Some(sqlparser::ast::FunctionArg::Unnamed(sqlparser::ast::FunctionArgExpr::Expr(value))) = args.first() else {
        return;
    };
    let Expr::Cast { expr: inner, .. } = value else {
        return;
    };
    for clause in clauses {
        if let FunctionArgumentClause::OrderBy(keys) = clause {
            keys.iter_mut().filter(|key| key.expr == **inner).for_each(|key| key.expr = value.clone());
        }
    }
}

/// `ARRAY_AGG(x) WITHIN GROUP (ORDER BY …)`: JSON, NULLs left out, `[]` of no rows.
fn array_agg(mut function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [value] = arguments::<1>("array_agg", &mut function)?;
    context.copy(super::templates::size(&value))?;
    only_present(&mut function, &value);
    put(&mut function, [value]);
    order_inside(&mut function);
    rename(&mut function, "list");
    let empty = Expr::Array(sqlparser::ast::Array { elem: Vec::new(), named: false });
    Ok(compose::call("to_json", [compose::call("coalesce", [Expr::Function(function), empty])]))
}

fn array_unique_agg(mut function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    if let FunctionArguments::List(list) = &mut function.args {
        list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
    }
    array_agg(function, context)
}

/// `OBJECT_AGG(k, v)`: members without a key or a value are left out.
fn object_agg(mut function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [key, value] = arguments::<2>("object_agg", &mut function)?;
    context.copy(super::templates::size(&key) + super::templates::size(&value))?;
    only_present(&mut function, &key);
    only_present(&mut function, &value);
    let pair = [("k", key), ("v", compose::call("to_json", [value]))];
    let field = |(name, value)| sqlparser::ast::DictionaryField { key: Ident::new(name), value: Box::new(value) };
    put(&mut function, [Expr::Dictionary(pair.into_iter().map(field).collect())]);
    rename(&mut function, "list");
    let entries = compose::call("map_from_entries", [Expr::Function(function)]);
    Ok(compose::call("coalesce", [compose::call("to_json", [entries]), compose::call("json_object", [])]))
}

/// `PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x) OVER (…)`, which the engine has as `quantile_cont(x, p) OVER (…)`.
fn percentile(mut function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    if function.over.is_none() {
        return Ok(Expr::Function(function));
    }
    let name = written_name(&function);
    let [fraction] = arguments::<1>(&name, &mut function)?;
    let mut order = std::mem::take(&mut function.within_group);
    let Some(key) = order.pop().filter(|_| order.is_empty()) else {
        return Err(Error::unsupported(format!("{} without one key to order by", name.to_ascii_uppercase())));
    };
    let fraction = match key.options.sort {
        Some(OrderBySort::Desc) => compose::binary(compose::number(1), BinaryOperator::Minus, fraction),
        _ => fraction,
    };
    put(&mut function, [key.expr, fraction]);
    rename(&mut function, if name == "percentile_cont" { "quantile_cont" } else { "quantile_disc" });
    Ok(Expr::Function(function))
}

/// The engine answers the values alone, where the warehouse answers their counts too.
fn approx_top_k(_: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    Err(Error::unsupported("APPROX_TOP_K"))
}

/// `COUNT_IF(c)`: of no rows it is 0, where the engine answers NULL.
#[expect(clippy::unnecessary_wraps, reason = "it is a handler like the others")]
fn count_if(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    Ok(compose::call("coalesce", [Expr::Function(function), compose::number(0)]))
}

/// `COUNT(DISTINCT a, b)`: rows where none is NULL.
fn count(mut function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    if super::call::arity(&function) < 2 {
        return Ok(Expr::Function(function));
    }
    let FunctionArguments::List(list) = &mut function.args else {
        return Ok(Expr::Function(function));
    };
    let args = std::mem::take(&mut list.args);
    let args = args.into_iter().map(|argument| positional(argument, &"count")).collect::<Result<Vec<_>, _>>()?;
    context.copy(args.iter().map(super::templates::size).sum())?;
    let present = args.iter().map(|arg| Expr::IsNotNull(Box::new(arg.clone())));
    let present = present.reduce(|one, next| compose::binary(one, BinaryOperator::And, next));
    let row = compose::call("row", args);
    let counted = match present {
        Some(present) => compose::case(None, vec![(present, row)], None),
        None => row,
    };
    put(&mut function, [counted]);
    Ok(Expr::Function(function))
}

/// `ARRAY_UNION_AGG(array)`: what any of the arrays holds, as often as the one that has most of it.
fn array_union_agg(mut function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [value] = arguments::<1>("array_union_agg", &mut function)?;
    if context.type_of(&value) != Type::Json {
        return Err(Error::unsupported("ARRAY_UNION_AGG of something other than an array"));
    }
    let numbered = super::templates::fill("_numbered_items", &mut [value], context)?;
    put(&mut function, [numbered]);
    rename(&mut function, "list");
    let all = compose::call("flatten", [Expr::Function(function)]);
    let empty = Expr::Array(sqlparser::ast::Array { elem: Vec::new(), named: false });
    super::templates::fill("_each_number_once", &mut [compose::call("coalesce", [all, empty])], context)
}
