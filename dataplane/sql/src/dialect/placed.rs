//! Rows of a query that are written as other values of them: a query over it, which knows its columns by their places.

use std::sync::LazyLock;

use sqlparser::ast::{
    ExcludeSelectItem, Expr, ObjectName, Query, SelectItem, SetExpr, TableAliasColumnDef, TableFactor,
    WildcardAdditionalOptions,
};

use crate::ast::error::Error;
use crate::ast::names::{self, ours};

/// A query over a query.
static PLACED: LazyLock<Result<Box<Query>, Error>> =
    LazyLock::new(|| crate::syntax::parse::query(&format!("SELECT * FROM (SELECT 1) AS \"{}\"", ours::ROWS)));

/// The column of this place.
pub(super) fn column(place: usize) -> Expr {
    Expr::Identifier(names::quoted(&ours::place(place)))
}

/// `SELECT <values>, … FROM (query)`, a value for each of its first columns. What it has beyond them goes along, for the
/// engine to refuse.
pub(super) fn over(source: &mut Query, values: Vec<Expr>) -> Result<(), Error> {
    let mut query = *PLACED.clone()?;
    let places = || (0..values.len()).map(|place| names::quoted(&ours::place(place)));
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(TableFactor::Derived { subquery, alias: Some(rows), .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
    {
        rows.columns = places().map(|name| TableAliasColumnDef { name, data_type: None }).collect();
        let excluded = places().map(|name| ObjectName::from(vec![name])).collect();
        let opt_exclude = Some(ExcludeSelectItem::Multiple(excluded));
        let others = SelectItem::Wildcard(WildcardAdditionalOptions { opt_exclude, ..Default::default() });
        select.projection = values.into_iter().map(SelectItem::UnnamedExpr).chain([others]).collect();
        std::mem::swap(subquery.as_mut(), source);
    }
    *source = query;
    Ok(())
}
