//! Functions that are one expression of the engine: `templates.txt`, read once.
//!
//! A line is `name(parameters) = expression`, the expression in the engine's language. An argument
//! takes the place of each parameter; one that stands more than once is repeated, so it must not be
//! volatile, and the sum of repetitions is bounded.

mod substitution;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use sqlparser::ast::{Expr, Ident, OneOrManyWithParens};
use sqlparser::dialect::DuckDbDialect;
use sqlparser::parser::Parser;
use substitution::ArgumentSubstitution;

use super::{Context, aliases, compose, drawn};
use crate::ast::error::Error;
use crate::ast::names::{self, ours::WITHIN};
use crate::ast::{any_expression, change_expressions, each_expression};
use crate::functions::catalogue::{self, Class};
use crate::functions::index::NameIndex;
use crate::functions::types::Type;

/// One line.
struct FunctionTemplate {
    parameters: Vec<String>,
    /// How often each of them stands in the body.
    uses: Vec<usize>,
    /// Whether `to_json` is called in it, which a variant does not need.
    makes_variants: bool,
    /// As in the context of a statement.
    draws: bool,
    repeats: bool,
    body: Expr,
}

impl FunctionTemplate {
    fn new(parameters: Vec<String>, body: Expr) -> Self {
        let uses = vec![0; parameters.len()];
        let mut read = Self { parameters, uses, makes_variants: false, draws: false, repeats: false, body };
        each_expression(&read.body, |expr| {
            read.draws |= drawn::is_draw(expr);
            read.repeats |= aliases::is_repeatable(expr);
            match expr {
                Expr::Identifier(name) => {
                    for (used, parameter) in read.uses.iter_mut().zip(&read.parameters) {
                        *used += usize::from(*parameter == name.value);
                    }
                }
                Expr::Function(function) => read.makes_variants |= compose::is_call_of(function, "to_json"),
                _ => {}
            }
        });
        read
    }
}

static TEMPLATES: LazyLock<NameIndex<Vec<FunctionTemplate>>> = LazyLock::new(|| {
    let mut templates: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (name, template) in include_str!("templates.txt").lines().filter_map(read) {
        templates.entry(name).or_default().push(template);
    }
    templates.into_iter().collect()
});

/// The name, if a statement may call one by it; names of our own begin with `_`.
pub(super) fn known(name: &str) -> Option<&'static str> {
    TEMPLATES.entry(name).map(|(known, _)| known).filter(|known| !known.starts_with('_'))
}

pub(super) fn is_known(name: &str) -> bool {
    known(name).is_some()
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TEMPLATES.entries().map(|(name, _)| name).filter(|name| !name.starts_with('_'))
}

/// Whether one of them has so many parameters.
pub(super) fn takes(name: &str, arity: usize) -> bool {
    TEMPLATES.get(name).is_some_and(|all| all.iter().any(|template| template.parameters.len() == arity))
}

/// The template of this name over these arguments, which it takes.
pub(super) fn fill(name: &str, args: &mut [Expr], context: &mut Context<'_>) -> Result<Expr, Error> {
    let template = TEMPLATES
        .get(name)
        .and_then(|arities| arities.iter().find(|template| template.parameters.len() == args.len()))
        .ok_or_else(|| Error::unsupported(format!("{name} with {} arguments", args.len())))?;
    for (uses, arg) in template.uses.iter().zip(args.iter()) {
        if *uses > 1 {
            let (size, is_volatile) = measured(arg);
            if is_volatile {
                let name = name.trim_start_matches('_');
                return Err(Error::unsupported(format!("{name} over a volatile argument")));
            }
            context.copy(size * (uses - 1))?;
        }
    }
    context.draws |= template.draws;
    context.repeats |= template.repeats;
    let is_variant = |arg: &Expr| context.type_of(arg) == Type::Json;
    let variants = if template.makes_variants { args.iter().map(is_variant).collect() } else { Vec::new() };
    Ok(ArgumentSubstitution { template, args, variants }.filled(&template.body))
}

/// An expression of the engine, made for the case, with the argument where it says `x`, which it does once.
pub(super) fn around(text: &str, arg: Expr) -> Result<Expr, Error> {
    let unreadable = || Error::unsupported("this expression");
    let mut parser = Parser::new(&DuckDbDialect {}).try_with_sql(text).map_err(|_| unreadable())?;
    let mut body = parser.parse_expr().map_err(|_| unreadable())?;
    let mut arg = Some(arg);
    change_expressions(&mut body, |expr| {
        if matches!(expr, Expr::Identifier(name) if name.value == "x")
            && let Some(arg) = arg.take()
        {
            *expr = arg;
        }
    });
    Ok(body)
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

/// Whether no other expression stands in it.
fn is_leaf(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_))
}

/// How many expressions stand in it.
pub(super) fn size(expr: &Expr) -> usize {
    measured(expr).0
}

/// How many expressions stand in it, and whether it may be something else when it is evaluated again.
fn measured(expr: &Expr) -> (usize, bool) {
    if is_leaf(expr) {
        return (1, false);
    }
    let (mut count, mut is_volatile) = (0, false);
    each_expression(expr, |expr| {
        count += 1;
        is_volatile |= changes(expr);
    });
    (count, is_volatile)
}

/// Whether it is a call that answers something else each time.
fn changes(expr: &Expr) -> bool {
    let known = match expr {
        Expr::Function(function) => names::single(&function.name).and_then(|name| catalogue::find(&name.value)),
        _ => None,
    };
    known.is_some_and(|known| matches!(known.class, Class::Volatile | Class::Write))
}

/// Whether it may be something else when it is evaluated again. What has one answer in a statement is not: repeating it
/// is harmless.
pub(super) fn is_volatile(expr: &Expr) -> bool {
    !is_leaf(expr) && any_expression(expr, changes)
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
    Some((name, FunctionTemplate::new(parameters, body)))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::ast::VisitMut;
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
            assert!(template.uses.iter().all(|used| *used > 0), "{name}");
        }
    }

    /// Both with arguments that are variants and with others.
    #[test]
    fn a_body_is_filled_while_it_is_copied_as_a_copy_of_it_is_filled() {
        for (name, template) in
            TEMPLATES.entries().flat_map(|(name, all)| all.iter().map(move |template| (name, template)))
        {
            let given = |parameter: &String| Expr::Identifier(Ident::new(format!("given_{parameter}")));
            for variants in [Vec::new(), vec![true; template.parameters.len()]] {
                let mut args: Vec<Expr> = template.parameters.iter().map(given).collect();
                let mut again = args.clone();
                let variants_again = variants.clone();
                let made = ArgumentSubstitution { template, args: &mut args, variants }.filled(&template.body);
                let mut body = template.body.clone();
                let mut hole = ArgumentSubstitution { template, args: &mut again, variants: variants_again };
                let ControlFlow::Continue(()) = VisitMut::visit(&mut body, &mut hole);
                assert_eq!(made, body, "{name}");
            }
        }
    }
}
