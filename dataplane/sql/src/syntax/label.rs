//! Labels of the columns of an answer.

use sqlparser::ast::{Expr, Ident, Select, SelectItem, SetExpr, Statement};

use crate::ast::call::take_expr;
use crate::ast::error::Error;
use crate::ast::names;
use crate::print;

/// Columns of the answer are called as the statement spells them, whatever becomes of the expressions that this is true
/// of.
pub(crate) fn label(tree: &mut Statement, changes: fn(&Expr) -> bool) -> Result<(), Error> {
    let query = match tree {
        Statement::Query(query) => query,
        Statement::CreateTable(create) => match &mut create.query {
            Some(query) => query,
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    let mut body = query.body.as_mut();
    loop {
        body = match body {
            SetExpr::Select(select) => return label_select(select, changes),
            SetExpr::SetOperation { left, .. } => left.as_mut(),
            SetExpr::Query(inner) => inner.body.as_mut(),
            _ => return Ok(()),
        };
    }
}

fn label_select(select: &mut Select, changes: fn(&Expr) -> bool) -> Result<(), Error> {
    /// Longest label, in characters.
    const LABEL_CHARS_MAX: usize = 120;
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = item else {
            continue;
        };
        if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) && !is_replaced(expr)
            || spreads(expr)
            || !changes(expr)
        {
            continue;
        }
        let mut label = print::label(expr)?;
        if let Some((end, _)) = label.char_indices().nth(LABEL_CHARS_MAX) {
            label.truncate(end);
        }
        let alias = Ident::with_quote('"', label);
        *item = SelectItem::ExprWithAlias { expr: take_expr(expr), alias };
    }
    Ok(())
}

/// Words that another expression will stand for: their column keeps the word.
fn is_replaced(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(ident) => names::is_session_word(ident),
        Expr::CompoundIdentifier(path) => path.last().is_some_and(|last| last.value.eq_ignore_ascii_case("nextval")),
        _ => false,
    }
}

/// `unnest(struct)` is several columns, which keep their names.
fn spreads(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if names::single(&function.name).is_some_and(|name| name.value.eq_ignore_ascii_case("unnest")))
}
