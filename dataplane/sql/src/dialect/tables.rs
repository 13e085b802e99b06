//! Selects and tables: samples, VALUES with the warehouse's column names, and clauses without a
//! counterpart, refused by name.

use sqlparser::ast::{
    Expr, ExprWithAlias, Ident, PivotValueSource, Select, SetExpr, TableAlias, TableAliasColumnDef, TableFactor,
    TableSampleKind, TableSampleMethod, TableSampleUnit,
};

use super::{compose, sums};
use crate::ast::error::Error;
use crate::ast::{any_expression, change_expressions};

/// Clauses of a select the engine does not have.
pub(super) fn refuse(select: &Select) -> Result<(), Error> {
    if !select.connect_by.is_empty() {
        return Err(Error::unsupported("CONNECT BY"));
    }
    if calls_nextval(select) {
        return Err(Error::unsupported("NEXTVAL in QUALIFY"));
    }
    if !select.lateral_views.is_empty() {
        return Err(Error::unsupported("LATERAL VIEW"));
    }
    Ok(())
}

/// The engine asks a condition of windows for the rows of VALUES twice (duckdb/duckdb#24829).
fn calls_nextval(select: &Select) -> bool {
    let Some(condition) = &select.qualify else { return false };
    any_expression(
        condition,
        |expr| matches!(expr, Expr::Function(function) if compose::is_call_of(function, "nextval")),
    )
}

/// One table of FROM.
pub(super) fn rewrite(factor: &mut TableFactor) -> Result<(), Error> {
    match factor {
        TableFactor::MatchRecognize { .. } => Err(Error::unsupported("MATCH_RECOGNIZE")),
        TableFactor::Table { version: Some(_), .. } => Err(Error::unsupported("time travel (AT, BEFORE)")),
        TableFactor::Table { sample: Some(sample), .. } => settle_sample(sample),
        TableFactor::Unpivot { columns, .. } => {
            columns.iter_mut().for_each(upper);
            Ok(())
        }
        TableFactor::Pivot { aggregate_functions, value_column, value_source, .. } => {
            for aggregate in aggregate_functions.iter_mut() {
                sums::unchecked(&mut aggregate.expr);
            }
            for expr in aggregate_functions.iter_mut().map(|aggregate| &mut aggregate.expr).chain(value_column) {
                bare(expr);
            }
            if let PivotValueSource::List(values) = value_source {
                values.iter_mut().for_each(labelled);
            }
            Ok(())
        }
        TableFactor::Derived { subquery, alias, sample, .. } => {
            if let SetExpr::Values(values) = subquery.body.as_ref()
                && let Some(width) = values.rows.first().map(|row| row.content.len())
            {
                name_columns(alias, width);
            }
            sample.as_mut().map_or(Ok(()), settle_sample)
        }
        _ => Ok(()),
    }
}

/// The columns of a PIVOT are those of the one table in front of it; the engine wants no path to them.
fn bare(expr: &mut Expr) {
    change_expressions(expr, |expr| {
        if let Expr::CompoundIdentifier(path) = expr
            && let Some(column) = path.last()
        {
            *expr = Expr::Identifier(column.clone());
        }
    });
}

/// The column that PIVOT makes of a text is called by its literal, quotes and all: `"'Q1'"`.
fn labelled(value: &mut ExprWithAlias) {
    if let (None, Some(text)) = (&value.alias, compose::literal(&value.expr)) {
        value.alias = Some(Ident::with_quote('"', format!("'{text}'")));
    }
}

/// The names that UNPIVOT answers are upper case, as the warehouse folds them; quoted ones as they are.
fn upper(column: &mut ExprWithAlias) {
    if let (None, Expr::Identifier(name)) = (&column.alias, &column.expr)
        && name.quote_style.is_none()
    {
        column.alias = Some(Ident::with_quote('"', name.value.to_ascii_uppercase()));
    }
}

/// `SAMPLE (p)` takes rows one by one; the engine would take blocks. A count of rows is a reservoir.
fn settle_sample(sample: &mut TableSampleKind) -> Result<(), Error> {
    let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) = sample;
    let counts_rows = sample.quantity.as_ref().is_some_and(|quantity| quantity.unit == Some(TableSampleUnit::Rows));
    sample.name = match (&sample.name, counts_rows) {
        (Some(TableSampleMethod::System | TableSampleMethod::Block), true) => {
            return Err(Error::unsupported("SAMPLE SYSTEM of a number of rows"));
        }
        (_, true) => Some(TableSampleMethod::Row),
        (None | Some(TableSampleMethod::Row), false) => Some(TableSampleMethod::Bernoulli),
        (Some(method), false) => Some(*method),
    };
    Ok(())
}

/// The columns of VALUES are `column1`, `column2` …; the engine's are `col0`, `col1` ….
fn name_columns(alias: &mut Option<TableAlias>, width: usize) {
    let alias = alias.get_or_insert_with(|| TableAlias {
        explicit: true,
        name: Ident::new("values"),
        columns: Vec::new(),
        at: None,
    });
    if alias.columns.is_empty() {
        let column = |number| TableAliasColumnDef { name: Ident::new(format!("column{number}")), data_type: None };
        alias.columns = (1..=width).map(column).collect();
    }
}
