//! Ruled tables and columns that a transaction has renamed away, and what COMMIT must find in their place.

use std::collections::BTreeSet;

use contract::policy::TableRef;
use engine::Session;

use super::Result;
use crate::Error;
use crate::governance::table_path::table_ref;

/// Tables and columns that one transaction renames away.
const AWAY_MAX: usize = 100;

/// A ruled table that has another name now, or a column of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Away {
    pub table: String,
    /// The ruled columns that it has, in lower case.
    pub columns: BTreeSet<String>,
    /// What a ruled column of it is called now, in lower case, where no rule names that.
    pub renamed: Option<String>,
}

/// The tables and columns that a transaction has renamed away.
#[derive(Debug, Default)]
pub(super) struct Swaps(Vec<Away>);

impl Swaps {
    pub fn add(&mut self, away: Away) -> Result<()> {
        if self.0.len() >= AWAY_MAX {
            let what = format!("a transaction that renames more than {AWAY_MAX} ruled tables and columns");
            return Err(Error::Unsupported { what });
        }
        self.0.push(away);
        Ok(())
    }

    /// Whether each has another in its place, as the transaction sees it.
    pub async fn are_whole(&self, session: &mut Session) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let there = session.catalog().await?;
        for Away { table, columns, renamed } in &self.0 {
            let TableRef { schema, name } = table_ref(table);
            let now = there.table(schema, name).map_or(&[][..], |now| now.columns.as_slice());
            let has = |wanted: &String| now.iter().any(|column| column.name.eq_ignore_ascii_case(wanted));
            let is_whole = there.table(schema, name).is_some() && columns.iter().all(has);
            if !is_whole || renamed.as_ref().is_some_and(has) {
                return Err(Error::Governed { table: table.clone() });
            }
        }
        Ok(())
    }
}
