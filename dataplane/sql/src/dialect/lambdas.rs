//! `TRANSFORM`, `FILTER` and `REDUCE` over variants.
//!
//! What a lambda's parameters are must be known before its body is rewritten, so the other arguments are rewritten
//! first and kept aside meanwhile. Parameters get names of their own: a column of the same name stays a column.

use std::ops::ControlFlow;

use sqlparser::ast::{
    ArrayElemTypeDef, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, LambdaFunction,
    OneOrManyWithParens, VisitorMut,
};

use super::call::{Handler, plain, take_expr, wrong_count};
use super::{Context, compose, meeting, templates};
use crate::ast::error::Error;
use crate::ast::names::ours::ITEM;
use crate::ast::{VisitMut, any_expression, each_expression};
use crate::functions::types::Type;

pub(super) const CALLS: &[(&[&str], Handler)] =
    &[(&["filter"], filter), (&["reduce"], reduce), (&["transform"], transform)];

/// Whether a lambda of this call is over the items of a variant.
pub(super) fn takes_variants(name: &str) -> bool {
    CALLS.iter().any(|(known, _)| known.contains(&name))
}

/// The arguments of a call that are no lambda, with their places.
pub(super) type Aside = Vec<(usize, Expr)>;

/// Whether a call has a lambda, so that its other arguments are aside.
pub(super) fn is_aside(function: &Function) -> bool {
    let FunctionArguments::List(list) = &function.args else {
        return false;
    };
    list.args.iter().any(is_lambda)
}

fn is_lambda(argument: &FunctionArg) -> bool {
    matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Lambda(_))))
}

/// Takes them out of a call that has a lambda; a call that has none is left as it is.
pub(super) fn aside(function: &mut Function) -> Option<Aside> {
    if !is_aside(function) {
        return None;
    }
    let FunctionArguments::List(list) = &mut function.args else {
        return None;
    };
    let others = list.args.iter_mut().enumerate().filter(|(_, arg)| !is_lambda(arg));
    Some(
        others
            .filter_map(|(place, arg)| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some((place, take_expr(expr))),
                _ => None,
            })
            .collect(),
    )
}

/// Puts them back.
pub(super) fn back(function: &mut Function, aside: Aside) {
    for (place, expr) in aside {
        if let FunctionArguments::List(list) = &mut function.args
            && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(hole))) = list.args.get_mut(place)
        {
            *hole = expr;
        }
    }
}

/// What the parameters of the lambda are, the other arguments rewritten.
pub(super) fn parameters(function: &Function, aside: &Aside, context: &Context<'_>) -> Vec<Type> {
    let name = compose::bare_name(&function.name).unwrap_or_default();
    let is_variant = aside.first().is_some_and(|(place, list)| *place == 0 && context.type_of(list) == Type::Json);
    if !is_variant || !takes_variants(&name) {
        return Vec::new();
    }
    if name == "reduce" {
        let start = aside.get(1).map_or(Type::Json, |(_, start)| reduced(context.type_of(start)));
        return vec![start, start];
    }
    vec![Type::Json, Type::Integer]
}

/// What a reduction that starts with this adds up.
fn reduced(start: Type) -> Type {
    match start {
        start if start.is_number() => Type::Double,
        Type::Text => Type::Text,
        _ => Type::Json,
    }
}

/// Gives the parameters names and types of their own.
pub(super) fn rename(lambda: &mut LambdaFunction, types: &[Type], context: &mut Context<'_>) {
    let parameters = match &mut lambda.params {
        OneOrManyWithParens::One(one) => std::slice::from_mut(one),
        OneOrManyWithParens::Many(many) => many.as_mut_slice(),
    };
    for (place, parameter) in parameters.iter_mut().enumerate() {
        let name = Ident::new(context.lambda_parameter(&parameter.name.value));
        context.scopes.parameter(&name.value, types.get(place).copied().unwrap_or(Type::Unknown));
        let old = std::mem::replace(&mut parameter.name, name.clone());
        let mut renamed = Renamed { old, new: name, declared: parameter.data_type.take(), hidden: 0 };
        let ControlFlow::Continue(()) = lambda.body.visit(&mut renamed);
    }
}

struct Renamed {
    old: Ident,
    new: Ident,
    /// The type written with the parameter: each use is a cast to it.
    declared: Option<DataType>,
    /// How many lambdas with a parameter of the same name we are inside of.
    hidden: usize,
}

impl Renamed {
    fn is_hidden_by(&self, expr: &Expr) -> bool {
        let Expr::Lambda(LambdaFunction { params, .. }) = expr else {
            return false;
        };
        params.iter().any(|parameter| parameter.name.value.eq_ignore_ascii_case(&self.old.value))
    }
}

impl VisitorMut for Renamed {
    type Break = std::convert::Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        self.hidden += usize::from(self.is_hidden_by(expr));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        self.hidden -= usize::from(self.is_hidden_by(expr));
        if self.hidden > 0 {
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Identifier(ident) if ident.value.eq_ignore_ascii_case(&self.old.value) => {
                let value = Expr::Identifier(self.new.clone());
                *expr = match &self.declared {
                    None => value,
                    Some(data_type) => compose::cast(value, data_type.clone()),
                };
            }
            Expr::CompoundIdentifier(path) => {
                if let [first, _, ..] = path.as_mut_slice()
                    && first.value.eq_ignore_ascii_case(&self.old.value)
                {
                    *first = self.new.clone();
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn items(array: Expr) -> Expr {
    let json = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(DataType::JSON), None));
    compose::cast(array, json)
}

/// The list a call is over, and whether it is a variant.
fn over(name: &str, function: Function, context: &Context<'_>) -> Result<(bool, Vec<Expr>), Error> {
    let args = plain(function)?;
    let first = args.first().ok_or_else(|| wrong_count(name, 0))?;
    Ok((context.type_of(first) == Type::Json, args))
}

fn transform(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let (is_variant, mut args) = over("transform", function, context)?;
    if !is_variant {
        return Ok(compose::call("list_transform", args));
    }
    if let Some(array) = args.first_mut() {
        *array = items(take_expr(array));
    }
    let is_counted = matches!(args.get(1), Some(Expr::Lambda(lambda)) if context.type_of(&lambda.body) == Type::Double);
    let made = compose::call("to_json", [compose::call("list_transform", args)]);
    // a whole number that was calculated has no fraction: the list holds numbers and nothing else
    if is_counted { templates::fill("_whole_numbers", &mut [made], context) } else { Ok(made) }
}

fn filter(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let (is_variant, mut args) = over("filter", function, context)?;
    if !is_variant {
        return Ok(compose::call("list_filter", args));
    }
    if let Some(array) = args.first_mut() {
        *array = items(take_expr(array));
    }
    if let Some(Expr::Lambda(lambda)) = args.get_mut(1)
        && context.type_of(&lambda.body) == Type::Json
    {
        *lambda.body = meeting::as_type(take_expr(&mut lambda.body), Type::Boolean);
    }
    Ok(compose::call("to_json", [compose::call("list_filter", args)]))
}

/// `REDUCE(list, start, lambda)`; the engine has the lambda second, and one type for start and items.
fn reduce(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let (is_variant, mut args) = over("reduce", function, context)?;
    if args.len() == 3 && matches!(args.last(), Some(Expr::Lambda(_))) {
        args.swap(1, 2);
    }
    if !is_variant {
        return started(args, context);
    }
    if args.get(2).is_some_and(compose::is_null) {
        return Ok(compose::cast(Expr::value(sqlparser::ast::Value::Null), DataType::JSON));
    }
    let wanted = args.get(2).map_or(Type::Json, |start| reduced(context.type_of(start)));
    if let Some(start) = args.get_mut(2) {
        *start = match wanted {
            Type::Double => compose::cast(take_expr(start), super::types::double()),
            Type::Json if context.type_of(start) != Type::Json => {
                return Err(Error::unsupported("REDUCE of a variant with a start that is no number, text or variant"));
            }
            _ => take_expr(start),
        };
    }
    if let Some(array) = args.first_mut() {
        let list = items(take_expr(array));
        *array = if wanted == Type::Json { list } else { typed(list, wanted) };
    }
    started(args, context)
}

/// The reduction of a list by a lambda, from a start. Where the lambda reads columns the engine takes those of another
/// row after the start (duckdb/duckdb#25816), so that the start is the first item of the list there.
fn started(args: Vec<Expr>, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [list, lambda, start] = match <[Expr; 3]>::try_from(args) {
        Ok(all) if reads_columns(&all) => all,
        Ok(all) => return Ok(compose::call("list_reduce", all)),
        Err(args) => return Ok(compose::call("list_reduce", args)),
    };
    if templates::is_volatile(&list) {
        return Err(Error::unsupported("REDUCE of a volatile list by a lambda that reads columns"));
    }
    context.copy(templates::size(&list))?;
    let whole = compose::call("list_concat", [compose::call("list_value", [start]), list.clone()]);
    let made = compose::call("list_reduce", [whole, lambda]);
    Ok(compose::case(None, vec![(Expr::IsNotNull(Box::new(list)), made)], None))
}

/// Whether a lambda among the arguments names something else than parameters.
fn reads_columns(args: &[Expr]) -> bool {
    args.iter().filter(|arg| matches!(arg, Expr::Lambda(_))).any(|lambda| {
        let mut parameters = Vec::new();
        each_expression(lambda, |expr| {
            if let Expr::Lambda(lambda) = expr {
                parameters.extend(lambda.params.iter().map(|parameter| parameter.name.value.clone()));
            }
        });
        let is_column = |ident: Option<&Ident>| ident.is_some_and(|ident| !parameters.contains(&ident.value));
        any_expression(lambda, |expr| match expr {
            Expr::Identifier(ident) => is_column(Some(ident)),
            Expr::CompoundIdentifier(path) => is_column(path.first()),
            _ => false,
        })
    })
}

/// The items of a list of variants as plain values.
fn typed(list: Expr, wanted: Type) -> Expr {
    let item = Ident::new(ITEM);
    let body = meeting::as_type(Expr::Identifier(item.clone()), wanted);
    let parameter = sqlparser::ast::LambdaFunctionParameter { name: item, data_type: None };
    let lambda = Expr::Lambda(LambdaFunction {
        params: OneOrManyWithParens::One(parameter),
        body: Box::new(body),
        syntax: sqlparser::ast::LambdaSyntax::LambdaKeyword,
    });
    compose::call("list_transform", [list, lambda])
}
