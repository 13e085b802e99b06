//! The governed statement in the engine's dialect, as text with bound values.

use std::sync::Arc;

use sqlparser::ast::{Expr, Select, SelectItem, SetExpr, Statement};

use crate::dialect;
use crate::error::Error;
use crate::govern::{Governed, Scan};
use crate::names;
use crate::print::{self, Bind};

/// What the engine runs. Made by [`transpile`] alone.
#[derive(Debug, Clone)]
pub struct EngineSql {
    pub sql: String,
    /// Values of `$1`, `$2` … in this order.
    pub binds: Vec<Bind>,
    /// `catalog.schema.table` of every table in the text, each once, sorted.
    pub tables: Vec<String>,
    pub warnings: Vec<String>,
    /// Places of the columns that are a masked column: text in the answer.
    pub masked_outputs: Vec<usize>,
    source: Arc<Source>,
}

#[derive(Debug)]
struct Source {
    tree: Statement,
    scans: Vec<Scan>,
}

impl EngineSql {
    /// The same statement with a barrier in every filtered table: no expression of the caller is
    /// evaluated on a row before the filter has let it pass.
    pub fn with_barriers(&self) -> Result<Self, Error> {
        let printed = print::engine(&self.source.tree, &self.source.scans, true)?;
        Ok(Self { sql: printed.sql, binds: printed.binds, ..self.clone() })
    }
}

/// From the warehouse's dialect to the engine's. What a policy put in stays as it is.
pub fn transpile(governed: Governed) -> Result<EngineSql, Error> {
    let strict = governed.is_strict();
    let masked_outputs = governed.masked_outputs().to_vec();
    let mut warnings = governed.warnings().to_vec();
    let Governed { mut tree, scans, known, .. } = governed;
    label(&mut tree)?;
    warnings.extend(dialect::to_engine(&mut tree, &known)?);
    let printed = print::engine(&tree, &scans, strict)?;
    let mut tables = printed.tables;
    tables.sort();
    tables.dedup();
    Ok(EngineSql { sql: printed.sql, binds: printed.binds, tables, warnings, masked_outputs, source: Arc::new(Source { tree, scans }) })
}

/// Columns of the answer are called as the statement spells them, whatever becomes of their expressions.
fn label(tree: &mut Statement) -> Result<(), Error> {
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
            SetExpr::Select(select) => return label_select(select),
            SetExpr::SetOperation { left, .. } => left.as_mut(),
            SetExpr::Query(inner) => inner.body.as_mut(),
            _ => return Ok(()),
        };
    }
}

fn label_select(select: &mut Select) -> Result<(), Error> {
    /// Longest label, in characters.
    const LABEL_CHARS_MAX: usize = 120;
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) || spreads(expr) {
            continue;
        }
        let label: String = print::label(expr)?.chars().take(LABEL_CHARS_MAX).collect();
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: names::quoted(&label) };
    }
    Ok(())
}

/// `unnest(struct)` is several columns, which keep their names.
fn spreads(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if names::single(&function.name).is_some_and(|name| name.value.eq_ignore_ascii_case("unnest")))
}
