//! Columns of a function in FROM: those it is known to answer, under the names that its alias gives them.

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, TableAlias, TableFactor,
};

use super::from::alias_of;
use super::{Base, FromItem, Output};
use crate::ast::names;
use crate::functions::catalogue::{self, Answered};
use crate::functions::types::Type;
use crate::govern::leaks::indistinct_values;

/// What is known of it; one whose columns are not known may have any.
pub(super) fn of(factor: &TableFactor, alias: Option<&TableAlias>, reached: &[Base]) -> FromItem {
    let made_of = |output: Output| Output { reached: reached.to_vec(), ..output };
    let renamed: Vec<&Ident> = alias.iter().flat_map(|alias| &alias.columns).map(|column| &column.name).collect();
    let known = called(factor).and_then(|name| catalogue::answered(&name.value));
    let Some(Answered { shown, hidden }) = known else {
        let outputs = renamed.iter().map(|name| made_of(Output::unknown(&name.value))).collect();
        return FromItem::new(alias_of(alias), outputs, Some(reached.to_vec()));
    };
    let mut outputs: Vec<Output> = shown
        .iter()
        .map(|&(name, kind)| {
            made_of(Output { kind, has_indistinct_values: indistinct_values::of_kind(kind), ..Output::unknown(name) })
        })
        .chain(numbers_rows(factor).then(|| Output::unknown("ordinality")))
        .collect();
    for (output, name) in outputs.iter_mut().zip(renamed) {
        output.name.clone_from(&name.value);
    }
    outputs.extend(hidden.iter().map(|name| made_of(Output::unknown(name))));
    let hidden = hidden.iter().map(|name| (*name).to_owned()).collect();
    FromItem { hidden, ..FromItem::new(alias_of(alias), outputs, None) }
}

/// Whether it may fail by what it is given: what is written out fails for every row, or for none.
pub(super) fn can_fail(factor: &TableFactor, type_of: &dyn Fn(&Expr) -> Type) -> bool {
    let arguments = match factor {
        TableFactor::UNNEST { .. } => return false,
        TableFactor::Table { args: Some(arguments), .. } => arguments.args.as_slice(),
        TableFactor::Function { args, .. } => args.as_slice(),
        TableFactor::TableFunction { expr: Expr::Function(function), .. } => match &function.args {
            FunctionArguments::List(list) => list.args.as_slice(),
            _ => return true,
        },
        _ => return true,
    };
    let name = called(factor).map_or("", |name| name.value.as_str());
    let hands_out = ["flatten", "unnest"].iter().any(|known| name.eq_ignore_ascii_case(known));
    let is_certain = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(expr), .. } => {
            matches!(expr, Expr::Value(_))
                || hands_out && matches!(type_of(expr), Type::Json | Type::List | Type::Map | Type::Struct)
        }
        _ => false,
    };
    !arguments.iter().all(is_certain)
}

/// The name of the function in FROM.
pub(in crate::govern) fn called(factor: &TableFactor) -> Option<&Ident> {
    let name: &ObjectName = match factor {
        TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => name,
        TableFactor::TableFunction { expr: Expr::Function(function), .. } => &function.name,
        _ => return None,
    };
    names::last(name)
}

/// WITH ORDINALITY is one column more.
fn numbers_rows(factor: &TableFactor) -> bool {
    matches!(
        factor,
        TableFactor::Table { with_ordinality: true, .. } | TableFactor::Function { with_ordinality: true, .. }
    )
}
