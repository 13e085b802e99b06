//! The governed statement in the engine's dialect, as text with bound values.

use std::sync::Arc;

use sqlparser::ast::Statement;

use crate::dialect;
use crate::error::Error;
use crate::govern::{Governed, Scan};
use crate::print::{self, Bind, Printed};
use crate::steps::{self, Numbered, Step};

/// What the engine runs. Made by [`transpile`] alone.
#[derive(Debug, Clone)]
pub struct EngineSql {
    /// Run first, in the same transaction, in this order.
    pub before: Vec<Before>,
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

/// A statement that prepares the last one.
#[derive(Debug, Clone)]
pub struct Before {
    pub sql: String,
    pub binds: Vec<Bind>,
    /// `catalog.schema.table` of every table in the text.
    pub tables: Vec<String>,
    /// The rows it changes are rows of the caller's statement.
    pub counts: bool,
}

#[derive(Debug)]
struct Source {
    steps: Vec<Numbered>,
    scans: Vec<Scan>,
}

impl Source {
    /// The steps as text, and the last of them.
    fn printed(&self, barriers: bool) -> Result<(Vec<Before>, Printed), Error> {
        let mut before = Vec::new();
        let mut last = None;
        for Numbered { step, counts } in &self.steps {
            let printed = match step {
                Step::Tree(tree) => print::engine(tree, &self.scans, barriers)?,
                Step::Text(sql) => Printed { sql: sql.clone(), binds: Vec::new(), tables: Vec::new() },
                Step::Keep(query) => {
                    let query = Statement::Query(query.clone());
                    let made = print::engine(&query, &self.scans, barriers)?;
                    Printed { sql: format!("{}{}", steps::keeping(), made.sql), ..made }
                }
            };
            if let Some((Printed { sql, binds, tables }, counts)) = last.replace((printed, *counts)) {
                before.push(Before { sql, binds, tables, counts });
            }
        }
        let (last, _) = last.ok_or_else(|| Error::unsupported("a statement of no steps"))?;
        Ok((before, last))
    }
}

impl EngineSql {
    /// The same statement with a barrier in every filtered table: no expression of the caller is
    /// evaluated on a row before the filter has let it pass.
    pub fn with_barriers(&self) -> Result<Self, Error> {
        let (before, printed) = self.source.printed(true)?;
        Ok(Self { before, sql: printed.sql, binds: printed.binds, ..self.clone() })
    }
}

/// From the warehouse's dialect to the engine's. What a policy put in stays as it is.
pub fn transpile(governed: Governed) -> Result<EngineSql, Error> {
    let strict = governed.is_strict();
    let masked_outputs = governed.masked_outputs().to_vec();
    let mut warnings = governed.warnings().to_vec();
    let Governed { mut tree, scans, known, comment, .. } = governed;
    warnings.extend(dialect::to_engine(&mut tree, &known)?);
    let source = Source { steps: steps::of(tree, comment.as_deref())?, scans };
    let (before, printed) = source.printed(strict)?;
    let mut tables = printed.tables;
    tables.sort();
    tables.dedup();
    Ok(EngineSql {
        before,
        sql: printed.sql,
        binds: printed.binds,
        tables,
        warnings,
        masked_outputs,
        source: Arc::new(source),
    })
}
