//! Functions that are one expression of the engine: `templates.txt`, read once.
//!
//! A line is `name(parameters) = expression`, the expression in the engine's language. An argument
//! takes the place of each parameter; one that stands more than once is repeated, so it must not be
//! volatile, and the sum of repetitions is bounded.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use sqlparser::ast::{Expr, Ident, OneOrManyWithParens, VisitorMut};
use sqlparser::dialect::DuckDbDialect;
use sqlparser::parser::Parser;

use super::{Context, compose};
use crate::ast::call::arguments;
use crate::ast::error::Error;
use crate::ast::names::ours::WITHIN;
use crate::ast::{VisitMut, any_expression, change_expressions, each_expression};
use crate::functions::catalogue::{self, Class};
use crate::functions::index::NameIndex;
use crate::functions::types::Type;

/// One line.
struct FunctionTemplate {
    parameters: Vec<String>,
    body: Expr,
}

static TEMPLATES: LazyLock<NameIndex<Vec<FunctionTemplate>>> = LazyLock::new(|| {
    let mut templates: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (name, template) in include_str!("templates.txt").lines().filter_map(read) {
        templates.entry(name).or_default().push(template);
    }
    templates.into_iter().collect()
});

/// Whether a statement may call it by this name; names of our own begin with `_`.
pub(super) fn is_known(name: &str) -> bool {
    !name.starts_with('_') && TEMPLATES.get(name).is_some()
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TEMPLATES.entries().map(|(name, _)| name).filter(|name| !name.starts_with('_'))
}

/// Whether one of them has so many parameters.
pub(super) fn takes(name: &str, arity: usize) -> bool {
    TEMPLATES.get(name).is_some_and(|all| all.iter().any(|template| template.parameters.len() == arity))
}

/// The template of this name over these arguments.
pub(super) fn fill(name: &str, args: &[Expr], context: &mut Context<'_>) -> Result<Expr, Error> {
    let template = TEMPLATES
        .get(name)
        .and_then(|arities| arities.iter().find(|template| template.parameters.len() == args.len()))
        .ok_or_else(|| Error::unsupported(format!("{name} with {} arguments", args.len())))?;
    let mut body = template.body.clone();
    let variants = args.iter().map(|arg| context.type_of(arg) == Type::Json).collect();
    let mut hole = ArgumentSubstitution { template, args, uses: vec![0; args.len()], variants };
    let ControlFlow::Continue(()) = VisitMut::visit(&mut body, &mut hole);
    for (used, arg) in hole.uses.iter().zip(args) {
        if *used > 1 {
            if is_volatile(arg) {
                let name = name.trim_start_matches('_');
                return Err(Error::unsupported(format!("{name} over a volatile argument")));
            }
            context.copy(size(arg) * (used - 1))?;
        }
    }
    Ok(body)
}

/// An expression of the engine, made for the case, with the argument where it says `x`.
pub(super) fn around(text: &str, arg: Expr) -> Result<Expr, Error> {
    let unreadable = || Error::unsupported("this expression");
    let mut parser = Parser::new(&DuckDbDialect {}).try_with_sql(text).map_err(|_| unreadable())?;
    let mut body = parser.parse_expr().map_err(|_| unreadable())?;
    let template = FunctionTemplate { parameters: vec!["x".to_owned()], body: body.clone() };
    let args = [arg];
    let mut hole = ArgumentSubstitution { template: &template, args: &args, uses: vec![0], variants: Vec::new() };
    let ControlFlow::Continue(()) = VisitMut::visit(&mut body, &mut hole);
    Ok(body)
}

struct ArgumentSubstitution<'a> {
    template: &'a FunctionTemplate,
    args: &'a [Expr],
    uses: Vec<usize>,
    /// Which arguments are variants, so need no `to_json`.
    variants: Vec<bool>,
}

impl ArgumentSubstitution<'_> {
    fn parameter(&self, expr: &Expr) -> Option<usize> {
        let Expr::Identifier(Ident { value, .. }) = expr else {
            return None;
        };
        self.template.parameters.iter().position(|parameter| parameter == value)
    }

    /// `to_json(parameter)` of a variant is the variant.
    fn needless(&self, expr: &Expr) -> Option<Expr> {
        let Expr::Function(function) = expr else {
            return None;
        };
        if compose::bare_name(&function.name).as_deref() != Some("to_json") {
            return None;
        }
        let inner = arguments(function).next()?;
        let at = self.parameter(inner)?;
        self.variants.get(at).copied().unwrap_or(false).then(|| inner.clone())
    }
}

impl VisitorMut for ArgumentSubstitution<'_> {
    type Break = std::convert::Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Some(inner) = self.needless(expr) {
            *expr = inner;
        }
        ControlFlow::Continue(())
    }

    /// Leaves first, so that what was put in is not looked through again.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Some(at) = self.parameter(expr) else {
            return ControlFlow::Continue(());
        };
        if let (Some(arg), Some(used)) = (self.args.get(at), self.uses.get_mut(at)) {
            *used += 1;
            *expr = arg.clone();
        }
        ControlFlow::Continue(())
    }
}

fn lambdas(body: &Expr) -> Vec<String> {
    let mut parameters = Vec::new();
    each_expression(body, |expr| {
        if let Expr::Lambda(lambda) = expr {
            parameters.extend(lambda.params.iter().map(|parameter| parameter.name.value.clone()));
        }
    });
    parameters
}

/// Gives the lambdas' parameters names that no column, table or argument has. In a lateral subquery the engine takes
/// the name of a table beside it for that table's row, although the lambda is nearer.
fn set_apart(body: &mut Expr) {
    let lambdas = lambdas(body);
    let set = |ident: &mut Ident| {
        if lambdas.contains(&ident.value) {
            ident.value = format!("{WITHIN}{}", ident.value);
        }
    };
    change_expressions(body, |expr| match expr {
        Expr::Identifier(ident) => set(ident),
        Expr::CompoundIdentifier(path) => path.iter_mut().take(1).for_each(set),
        Expr::Lambda(lambda) => match &mut lambda.params {
            OneOrManyWithParens::One(one) => set(&mut one.name),
            OneOrManyWithParens::Many(many) => many.iter_mut().for_each(|each| set(&mut each.name)),
        },
        _ => {}
    });
}

/// How many expressions stand in it.
pub(super) fn size(expr: &Expr) -> usize {
    let mut count = 0;
    each_expression(expr, |_| count += 1);
    count
}

/// Whether it may be something else when it is evaluated again. What has one answer in a statement is not: repeating it
/// is harmless.
pub(super) fn is_volatile(expr: &Expr) -> bool {
    any_expression(expr, |expr| match expr {
        Expr::Function(function) => compose::bare_name(&function.name)
            .and_then(|name| catalogue::find(&name))
            .is_some_and(|known| matches!(known.class, Class::Volatile | Class::Write)),
        _ => false,
    })
}

/// `name(a, b) = expression`; comments and blank lines are none.
fn read(line: &'static str) -> Option<(&'static str, FunctionTemplate)> {
    let (head, body) = line.split_once(" = ")?;
    if line.starts_with('#') {
        return None;
    }
    let (name, parameters) = head.trim().strip_suffix(')')?.split_once('(')?;
    let parameters = parameters.split(',').map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect();
    let mut body = Parser::new(&DuckDbDialect {}).try_with_sql(body).ok()?.parse_expr().ok()?;
    set_apart(&mut body);
    Some((name, FunctionTemplate { parameters, body }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::catalogue::FunctionKind;

    #[test]
    fn every_line_is_read_and_no_name_and_arity_stands_twice() {
        let lines: Vec<_> =
            include_str!("templates.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        for line in &lines {
            assert!(read(line).is_some(), "{line}");
        }
        assert_eq!(TEMPLATES.entries().map(|(_, arities)| arities.len()).sum::<usize>(), lines.len());
        for (name, arities) in TEMPLATES.entries() {
            let mut counts: Vec<_> = arities.iter().map(|template| template.parameters.len()).collect();
            counts.sort_unstable();
            counts.dedup();
            assert_eq!(counts.len(), arities.len(), "{name}");
        }
    }

    /// A template without a row is one value of one row, and the same each time.
    #[test]
    fn a_template_of_an_aggregate_or_of_chance_has_a_row_that_says_so() {
        for (name, template) in
            TEMPLATES.entries().flat_map(|(name, all)| all.iter().map(move |template| (name, template)))
        {
            let row = catalogue::find(name).cloned().unwrap_or_default();
            let is_unsaid = any_expression(&template.body, |expr| {
                let called = match expr {
                    Expr::Function(function) => compose::bare_name(&function.name),
                    _ => None,
                };
                called.and_then(|called| catalogue::find(&called)).is_some_and(|called| {
                    called.changes() && !row.changes()
                        || called.is(FunctionKind::Aggregate) && !row.is(FunctionKind::Aggregate)
                })
            });
            // what is ours and called by a row's function only has no row
            assert!(name.starts_with('_') || !is_unsaid, "{name}");
        }
    }

    #[test]
    fn every_parameter_of_a_template_is_used() {
        for (name, template) in
            TEMPLATES.entries().flat_map(|(name, all)| all.iter().map(move |template| (name, template)))
        {
            let args = vec![Expr::value(sqlparser::ast::Value::Null); template.parameters.len()];
            let mut body = template.body.clone();
            let mut fill =
                ArgumentSubstitution { template, args: &args, uses: vec![0; args.len()], variants: Vec::new() };
            let ControlFlow::Continue(()) = VisitMut::visit(&mut body, &mut fill);
            assert!(fill.uses.iter().all(|used| *used > 0), "{name}");
        }
    }
}
