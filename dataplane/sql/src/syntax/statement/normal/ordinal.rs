//! `SELECT $1, v.$2 FROM VALUES … v`: a column by its place. Anywhere else `$1` is a parameter.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Select, SetExpr, TableFactor, Value};

use crate::ast::outside::Outside;
use crate::ast::{VisitMut, outer_first};

/// Names the columns of VALUES: behind its alias, and alone if the select reads nothing else.
pub(super) fn rewrite(select: &mut Select) {
    let factors = select
        .from
        .iter()
        .flat_map(|table| std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)));
    let (mut count, mut found) = (0, Vec::new());
    for factor in factors {
        count += 1;
        found.extend(ValuesColumns::of(factor));
    }
    if found.is_empty() {
        return;
    }
    let is_alone = count == 1;
    let mut columns = outer_first(|expr| {
        by_name(expr, &found, is_alone);
        ControlFlow::Continue(())
    });
    let columns = &mut Outside::of(&mut columns);
    let _: ControlFlow<()> = columns.of_select(select);
    for join in select.from.iter_mut().flat_map(|table| &mut table.joins) {
        let _: ControlFlow<()> = join.join_operator.visit(columns);
    }
}

/// The names of a VALUES in FROM.
struct ValuesColumns {
    alias: Option<Ident>,
    named: Vec<Ident>,
}

impl ValuesColumns {
    fn of(factor: &TableFactor) -> Option<Self> {
        let TableFactor::Derived { subquery, alias, .. } = factor else { return None };
        matches!(subquery.body.as_ref(), SetExpr::Values(_)).then(|| Self {
            alias: alias.as_ref().map(|alias| alias.name.clone()),
            named: alias.iter().flat_map(|alias| &alias.columns).map(|column| column.name.clone()).collect(),
        })
    }

    fn column(&self, number: usize) -> Ident {
        match self.named.get(number - 1) {
            Some(name) => name.clone(),
            None => Ident::new(format!("column{number}")),
        }
    }
}

fn ordinal(name: &str) -> Option<usize> {
    name.strip_prefix('$').and_then(super::number)
}

fn by_name(expr: &mut Expr, found: &[ValuesColumns], is_alone: bool) {
    match expr {
        Expr::Value(value) => {
            if let Value::Placeholder(name) = &value.value
                && let (Some(number), [only], true) = (ordinal(name), found, is_alone)
            {
                *expr = Expr::Identifier(only.column(number));
            }
        }
        Expr::CompoundIdentifier(path) => {
            if let [table, column] = path.as_mut_slice()
                && column.quote_style.is_none()
                && let Some(number) = ordinal(&column.value)
                && let Some(of) = found
                    .iter()
                    .find(|of| of.alias.as_ref().is_some_and(|alias| alias.value.eq_ignore_ascii_case(&table.value)))
            {
                *column = of.column(number);
            }
        }
        _ => {}
    }
}
