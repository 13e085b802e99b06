//! Functions that callers define in SQL: `CREATE FUNCTION f(x INT) RETURNS INT AS 'x + 1'`.
//!
//! The body is one expression of its parameters. It is put in where the function is called, each argument cast to its
//! declared type and the result to the returned one, before anything is bound: so it is governed like what the
//! caller wrote. One that is STRICT is NULL where an argument is. A body that reads tables, and any language but SQL,
//! is refused.

use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CreateFunction, CreateFunctionBody, DataType, Expr, Function, FunctionArguments,
    FunctionCalledOnNull, FunctionReturnType, Ident, Query, Statement, Value, VisitorMut,
};

use crate::ast::call::plain;
use crate::ast::error::{Error, ErrorKind};
use crate::ast::expression::cast;
use crate::ast::{VisitMut, any_expression, each_expression, names, result_of};
use crate::catalog::definition::Definition;
use crate::dialect;
use crate::functions::catalogue;
use crate::syntax::{lex, parse, statement};

/// Whether it can be called later.
pub(crate) fn check(create: &CreateFunction) -> Result<(), Error> {
    read(create).map(|_| ())
}

/// The body that stands for a call.
pub(crate) struct FunctionBody {
    pub expr: Expr,
    /// How many levels deeper than the call it is, but for what the arguments hold.
    pub levels: usize,
}

/// What stands around a body and its arguments: brackets, casts, a condition.
const LEVELS_AROUND: usize = 6;

/// The call with the function's text in its place. What that adds to the statement is taken off `left`, in expressions.
pub(crate) fn called(definition: &Definition, function: &Function, left: &mut usize) -> Result<FunctionBody, Error> {
    let Statement::CreateFunction(create) = definition.statement()? else {
        return Err(Error::unsupported_function(&definition.name));
    };
    let Read { parameters, returns, mut body, is_strict, levels } = read(&create)?;
    let args = positional(function)?;
    if args.len() != parameters.len() {
        let message = format!("{} with {} arguments", definition.name, args.len());
        return Err(Error::unsupported(message));
    }
    let grown = grown(&parameters, &args, &body) + if is_strict { args.iter().map(dialect::size).sum() } else { 0 };
    *left = left.checked_sub(grown).ok_or_else(|| {
        Error::new(ErrorKind::TooDeep, format!("calls of {} repeat their arguments too often", definition.name))
    })?;
    if is_strict && args.iter().any(dialect::is_volatile) {
        let message = format!("an argument of {}, which is strict, that has another value each time", definition.name);
        return Err(Error::unsupported(message));
    }
    let given = parameters.into_iter().zip(args).map(|((name, data_type), arg)| (name, cast(arg, data_type)));
    let mut fill = ParameterSubstitution { given: given.collect() };
    result_of(body.visit(&mut fill))?;
    let body = Expr::Nested(Box::new(body));
    let body = if is_strict { unless_null(fill.given, body) } else { body };
    Ok(FunctionBody { expr: Expr::Nested(Box::new(cast(body, returns))), levels: levels + LEVELS_AROUND })
}

/// NULL where any argument is, and there the body is not evaluated.
fn unless_null(given: Vec<(Ident, Expr)>, body: Expr) -> Expr {
    let is_null = given.into_iter().map(|(_, value)| Expr::IsNull(Box::new(value)));
    let asked = is_null.reduce(|one, next| Expr::BinaryOp {
        left: Box::new(one),
        op: BinaryOperator::Or,
        right: Box::new(next),
    });
    let Some(condition) = asked else { return body };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result: Expr::value(Value::Null) }],
        else_result: Some(Box::new(body)),
    }
}

/// How many expressions a body has with these arguments in it.
fn grown(parameters: &[(Ident, DataType)], args: &[Expr], body: &Expr) -> usize {
    let sizes: Vec<usize> = args.iter().map(dialect::size).collect();
    let mut grown = 0_usize;
    each_expression(body, |expr| {
        let size = match expr {
            Expr::Identifier(ident) => {
                let mut given = parameters.iter().zip(&sizes);
                given.find(|((name, _), _)| name.value.eq_ignore_ascii_case(&ident.value)).map_or(1, |(_, size)| *size)
            }
            _ => 1,
        };
        grown = grown.saturating_add(size);
    });
    grown
}

struct Read {
    parameters: Vec<(Ident, DataType)>,
    returns: DataType,
    body: Expr,
    /// `STRICT`, `RETURNS NULL ON NULL INPUT`.
    is_strict: bool,
    /// How deep the body is.
    levels: usize,
}

/// Whether it is named as functions are that the engine's process adds.
fn starts_with_ours(name: &str) -> bool {
    const OURS: &str = "sluice_";
    name.get(..OURS.len()).is_some_and(|start| start.eq_ignore_ascii_case(OURS))
}

fn read(create: &CreateFunction) -> Result<Read, Error> {
    let CreateFunction {
        temporary,
        name,
        args,
        return_type,
        function_body,
        language,
        using,
        remote_connection,
        called_on_null,
        ..
    } = create;
    let is_strict =
        matches!(called_on_null, Some(FunctionCalledOnNull::ReturnsNullOnNullInput | FunctionCalledOnNull::Strict));
    let is_sql = language.as_ref().is_none_or(|language| language.value.eq_ignore_ascii_case("sql"));
    if !is_sql || *temporary || using.is_some() || remote_connection.is_some() {
        return Err(Error::unsupported("a function of a language other than SQL"));
    }
    // in the place of one of ours it would fail for whoever asks that
    let is_taken = |name: &str| dialect::is_known(name) || starts_with_ours(name);
    if names::last(name).is_none_or(|name| is_taken(&name.value)) {
        return Err(Error::unsupported("a function with the name of a built-in one"));
    }
    let returns = match return_type {
        Some(FunctionReturnType::DataType(returns)) if !matches!(returns, DataType::Table(_)) => returns,
        _ => return Err(Error::unsupported("a function that returns a table")),
    };
    let parameters = args.iter().flatten().map(|argument| match (&argument.name, &argument.default_expr) {
        (Some(name), None) => Ok((name.clone(), argument.data_type.clone())),
        _ => Err(Error::unsupported("a parameter without a name or with a default")),
    });
    let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
    let Some(
        CreateFunctionBody::AsBeforeOptions { body, link_symbol: None } | CreateFunctionBody::AsAfterOptions(body),
    ) = function_body
    else {
        return Err(Error::unsupported("a function without a body"));
    };
    let Expr::Value(text) = body else {
        return Err(Error::unsupported("a function whose body is not a string"));
    };
    let Value::SingleQuotedString(text) = &text.value else {
        return Err(Error::unsupported("a function whose body is not a string"));
    };
    let mut body = parse::expression(text).map_err(|error| Error { position: None, snippet: None, ..error })?;
    statement::expression(&mut body)?;
    let given = parameters.iter().map(|(name, _)| (name.clone(), Expr::Identifier(name.clone()))).collect();
    result_of(body.visit(&mut ParameterSubstitution { given }))?;
    if calls_outside(&body) {
        return Err(Error::unsupported("a function that calls what may not be called"));
    }
    Ok(Read { parameters, returns: returns.clone(), body, is_strict, levels: lex::levels(text)? })
}

/// Whether a call in it is denied: said when the function is made, not only when it is called.
fn calls_outside(body: &Expr) -> bool {
    any_expression(body, |expr| match expr {
        Expr::Function(function) => {
            let name = names::last(&function.name).map_or("", |name| name.value.as_str());
            matches!(dialect::class(name), Some(catalogue::Class::Denied | catalogue::Class::Write))
        }
        _ => false,
    })
}

/// Puts arguments in for parameters; anything else that is named is no part of the body.
struct ParameterSubstitution {
    given: Vec<(Ident, Expr)>,
}

impl VisitorMut for ParameterSubstitution {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        ControlFlow::Break(Error::unsupported("a function that reads tables"))
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        match expr {
            Expr::Identifier(ident) => {
                let given = self.given.iter().find(|(name, _)| name.value.eq_ignore_ascii_case(&ident.value));
                match given {
                    Some((_, given)) => *expr = given.clone(),
                    None if is_word(ident) => {}
                    None => {
                        let message = format!("{} in a function, which is none of its parameters,", ident.value);
                        return ControlFlow::Break(Error::unsupported(message));
                    }
                }
            }
            Expr::CompoundIdentifier(_) => {
                return ControlFlow::Break(Error::unsupported("a column in a function"));
            }
            Expr::Lambda(_) => return ControlFlow::Break(Error::unsupported("a lambda in a function")),
            Expr::Value(value) if matches!(value.value, Value::Placeholder(_)) => {
                return ControlFlow::Break(Error::unsupported("a parameter of the statement in a function"));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Units of DATEADD and its like are words, not columns.
fn is_word(ident: &Ident) -> bool {
    crate::dialect::is_unit_word(&ident.value)
}

fn positional(function: &Function) -> Result<Vec<Expr>, Error> {
    let odd = || Error::unsupported("this form of call of a function in SQL");
    let Function { args: FunctionArguments::List(list), filter: None, null_treatment: None, over: None, .. } = function
    else {
        return Err(odd());
    };
    if list.duplicate_treatment.is_some() || !list.clauses.is_empty() || !function.within_group.is_empty() {
        return Err(odd());
    }
    list.args.iter().map(|argument| plain(argument).cloned().ok_or_else(odd)).collect()
}

#[cfg(test)]
mod tests {
    use crate::Rules;
    use crate::testing::engine_with_definitions;

    fn made(sql: &str) -> Result<String, crate::Error> {
        engine_with_definitions(sql, &Rules::default()).map(|made| made.sql)
    }

    #[test]
    fn a_strict_function_is_null_where_an_argument_is_and_evaluates_nothing_there() {
        let sql = made("SELECT or_none(id, bonus) FROM payroll").expect("engine SQL");
        let case = sql.split_once("CASE WHEN ").expect("a condition").1;
        let (asked, body) = case.split_once(" THEN NULL ELSE ").expect("NULL");
        assert_eq!(asked.matches("IS NULL").count(), 2, "{sql}");
        assert!(asked.contains(r#""id""#) && asked.contains(r#""bonus""#), "{sql}");
        assert!(body.contains('/'), "{sql}");
        assert!(!made("SELECT plus_one(id) FROM payroll").expect("engine SQL").contains("IS NULL"));
    }

    #[test]
    fn what_changes_is_no_argument_of_a_strict_function() {
        let error = made("SELECT or_none(random(), 1)").expect_err("volatile");
        assert!(error.message.contains("or_none"), "{error}");
        assert!(made("SELECT plus_one(random())").is_ok());
    }
}
