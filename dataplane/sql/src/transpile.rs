//! The governed statement in the engine's dialect, as text with bound values.

use std::sync::Arc;

use sqlparser::ast::Statement;

use crate::dialect;
use crate::error::Error;
use crate::govern::{Governed, Scan};
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
    warnings.extend(dialect::to_engine(&mut tree, &known)?);
    let printed = print::engine(&tree, &scans, strict)?;
    let mut tables = printed.tables;
    tables.sort();
    tables.dedup();
    Ok(EngineSql {
        sql: printed.sql,
        binds: printed.binds,
        tables,
        warnings,
        masked_outputs,
        source: Arc::new(Source { tree, scans }),
    })
}
