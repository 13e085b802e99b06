//! The compiler's answers to the control plane, which knows it by a trait of `contract`.

use std::collections::BTreeSet;

use contract::SqlAnalyzer;
use contract::analyzer::{FilterError, NamedTable, StatementUse};

use crate::ast::error::{Error, ErrorKind};
use crate::govern::filter;
use crate::{STACK_BYTES, TableUse, layout, parse};

/// Reads texts of the dialect for the control plane.
#[derive(Debug, Clone, Copy, Default)]
pub struct Analyzer;

impl SqlAnalyzer for Analyzer {
    fn statement(&self, text: &str) -> Result<StatementUse, String> {
        let statement = parse(text).map_err(|error| error.message)?;
        Ok(StatementUse {
            tables: statement.tables().iter().map(named).collect(),
            operations: statement.operations().iter().copied().collect(),
            is_write: statement.is_write(),
        })
    }

    fn layout(&self, text: &str) -> Result<String, String> {
        layout(text).map_err(|error| error.message)
    }

    fn filter(&self, text: &str, known: &dyn Fn(&str) -> bool) -> Result<BTreeSet<String>, FilterError> {
        filter::admit(text, known).map(|facts| facts.placeholders).map_err(refusal)
    }

    fn stack_bytes(&self) -> usize {
        STACK_BYTES
    }
}

fn named(table: &TableUse) -> NamedTable {
    NamedTable { schema: table.schema.clone(), name: table.name.clone() }
}

fn refusal(error: Error) -> FilterError {
    match error.kind {
        ErrorKind::Syntax => FilterError::Syntax(error.message),
        _ => FilterError::Refused(error.message),
    }
}
