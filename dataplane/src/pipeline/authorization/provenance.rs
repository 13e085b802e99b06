//! Where the rows of a table are from, if who made it saw more than others do.
//!
//! "A table made from governed ones by an exempt role is open only to roles exempt there, until a policy names it."
//! What its maker was exempt from is written down with the table, in the transaction that makes it, and goes with it
//! when it is renamed or altered. Who is bound there does not read it, change it, or find it in a catalogue. The
//! policies are those of now: what is no longer hidden in a source is no longer hidden in what was made of it.
//!
//! It is the same with a table that was there: INSERT, UPDATE and MERGE of what an exempt role reads elsewhere close it
//! in their transaction (stage 11), whoever's rows were in it before, unless a policy names it. What a statement says
//! itself, VALUES and COPY, is of no origin, and neither is what DELETE leaves.
//!
//! The rows of an external table are those of its stage, so a filter or mask of the stage closes it in the same way,
//! also one that is newer than the table.

use contract::policy::{Policies, Rules};
use contract::{Governance, Role};
use serde::{Deserialize, Serialize};

use super::stage_locations::ExternalStages;
use crate::Error;
use crate::governance::table_path::table_ref;
use crate::pipeline::Result;

/// A source, and the role that read it: what that role was exempt from is in the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ProvenanceSource {
    table: String,
    read_by: Role,
}

fn policies(rules: &Governance) -> Policies<'_> {
    Policies { standard: &rules.policies, abac: &rules.abac_policies }
}

/// The policies that hide rows and values from some. An attribute policy of a stage says nothing of a table over it.
fn hiding(rules: &Governance) -> Policies<'_> {
    Policies { standard: &rules.policies, abac: &[] }
}

/// The stages that have the files of an external table, where a filter or mask is of a stage and no policy names the table.
fn stages_below(rules: &Governance, known: &sql::Catalog, path: &str) -> Vec<String> {
    let is_stage = |table: &String| table.contains('@');
    let is_of_stage = |rules: &Rules| match rules {
        Rules::RowLevelSecurity(rules) => rules.iter().any(|rule| is_stage(&rule.table)),
        Rules::ColumnMasking(rules) => rules.iter().any(|rule| is_stage(&rule.table)),
    };
    let is_any = rules.policies.iter().any(|policy| policy.enabled && is_of_stage(&policy.rules));
    if !is_any || policies(rules).name(table_ref(path)) {
        return Vec::new();
    }
    let table = known.tables().find(|table| table.is_external() && table.is_at(path));
    let stage = table.and_then(|table| sql::stage_of_external(known, table));
    stage.map(|stage| with_sharing(known, vec![stage])).unwrap_or_default()
}

/// What is written down with a table; none for a table of no such origin, or one that a policy names.
fn sources(rules: &Governance, known: &sql::Catalog, path: &str) -> Result<Vec<ProvenanceSource>> {
    let table = known.tables().find(|table| table.is_at(path));
    written_down(rules, path, table.and_then(|table| table.origin.as_deref()))
}

fn written_down(rules: &Governance, path: &str, origin: Option<&str>) -> Result<Vec<ProvenanceSource>> {
    match origin {
        Some(_) if policies(rules).name(table_ref(path)) => Ok(Vec::new()),
        // what cannot be read could say anything
        Some(written) => serde_json::from_str(written).map_err(|_| Error::TableDenied { table: path.to_owned() }),
        None => Ok(Vec::new()),
    }
}

/// What a role was exempt from in the tables of a catalogue, under these rules.
pub(in crate::pipeline) struct TableProvenance<'a> {
    pub rules: &'a Governance,
    pub role: Role,
    pub known: &'a sql::Catalog,
}

impl TableProvenance<'_> {
    /// May this role read what was made so?
    pub(super) fn admits(&self, path: &str) -> bool {
        let Self { rules, role, known } = *self;
        let hides = |stage: &String| hiding(rules).bind(table_ref(stage), role);
        let admits = sources(rules, known, path).is_ok_and(|sources| admits_to(rules, role, &sources));
        admits && !stages_below(rules, known, path).iter().any(hides)
    }

    pub(in crate::pipeline) fn permitted(&self, tables: &[String]) -> Result<()> {
        match tables.iter().find(|path| !self.admits(path)) {
            Some(path) => Err(Error::TableDenied { table: path.clone() }),
            None => Ok(()),
        }
    }

    /// Has a statement that makes a table write down what this role was exempt from, and what its sources have down.
    pub(in crate::pipeline) fn write_down(&self, statement: &mut sql::Resolved) -> Result<()> {
        let all = self.of_what_is_read(statement.made_from(self.known))?;
        if !all.is_empty() {
            statement.keep_origin(written(&all)?);
        }
        Ok(())
    }

    /// Refuses to unload rows that have an origin, or would get one in a table: a file has none, and whoever may read the
    /// stage would read them.
    pub(in crate::pipeline) fn unloaded(&self, read: Vec<String>) -> Result<()> {
        if self.of_what_is_read(read)?.is_empty() {
            return Ok(());
        }
        let message = "the rows are under rules that your role is exempt from, and a file would show them to everybody \
                       who reads the stage: let somebody whom the rules bind unload them, or make a table of them, \
                       which stays closed";
        Err(Error::PolicyDenied { message: message.to_owned() })
    }

    /// Refuses an external table over a stage that has rules for others: it would show them what those hide.
    pub(in crate::pipeline) fn made_external(&self, stage: &str) -> Result<()> {
        if self.of_what_is_read(vec![stage.to_owned()])?.is_empty() {
            return Ok(());
        }
        let message = "the stage is under rules that your role is exempt from, and an external table would show its rows \
                       to everybody who reads it: make one over a stage without rules, and rules on the table";
        Err(Error::PolicyDenied { message: message.to_owned() })
    }

    /// What a statement adds to the origin of the tables that it fills; nothing where they have it down already, or where
    /// a policy names them.
    pub(in crate::pipeline) fn marks(&self, statement: &sql::Resolved) -> Result<Vec<ProvenanceRecord>> {
        let rules = self.rules;
        let (filled, read) = statement.fills();
        let found = self.of_what_is_read(read)?;
        let mut marks: Vec<ProvenanceRecord> = Vec::new();
        for target in filled {
            let table = target.path();
            if policies(rules).name(table_ref(&table)) || marks.iter().any(|mark| mark.table == table) {
                continue;
            }
            let mut all = written_down(rules, &table, target.origin.as_deref())?;
            let before = all.len();
            let others = found.iter().filter(|source| source.table != table);
            let new: Vec<_> = others.filter(|source| !all.contains(source)).cloned().collect();
            all.extend(new);
            if all.len() > before {
                marks.push(ProvenanceRecord { table, sql: sql::catalog::table::keeping(target, &written(&all)?) });
            }
        }
        Ok(marks)
    }

    /// What this role is exempt from in these tables, and what they have down.
    fn of_what_is_read(&self, read: Vec<String>) -> Result<Vec<ProvenanceSource>> {
        let Self { rules, role, known } = *self;
        let read = with_sharing(known, read);
        let mut all: Vec<ProvenanceSource> = Vec::new();
        // the files of a table's own stage are rows of the table
        for table in sql::with_tables_of_stages(read) {
            let mut found = sources(rules, known, &table)?;
            let stages = stages_below(rules, known, &table).into_iter();
            let stages = stages.filter(|stage| hiding(rules).exempt(table_ref(stage), role));
            found.extend(stages.map(|table| ProvenanceSource { table, read_by: role }));
            if policies(rules).exempt(table_ref(&table), role) {
                found.push(ProvenanceSource { table, read_by: role });
            }
            for source in found {
                if !all.contains(&source) {
                    all.push(source);
                }
            }
        }
        Ok(all)
    }
}

/// May this role read a copy of a table that was of this origin?
pub(in crate::pipeline) fn admits_copy(rules: &Governance, role: Role, path: &str, origin: Option<&str>) -> bool {
    written_down(rules, path, origin).is_ok_and(|sources| admits_to(rules, role, &sources))
}

fn admits_to(rules: &Governance, role: Role, sources: &[ProvenanceSource]) -> bool {
    !sources.iter().any(|source| policies(rules).bind_more(table_ref(&source.table), role, source.read_by))
}

/// The provenance that is recorded with tables that a statement puts such rows or values into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pipeline) struct ProvenanceRecord {
    pub table: String,
    /// As the engine is told.
    pub sql: String,
}

/// What is to be written down with a ruled table that this role, from which its rules hide nothing, renames.
pub(in crate::pipeline) fn mark_of_renamed(role: Role, table: &sql::Table, new: &str) -> Result<ProvenanceRecord> {
    let unreadable = |_| Error::TableDenied { table: table.path() };
    let mut all: Vec<ProvenanceSource> = match &table.origin {
        Some(written) => serde_json::from_str(written).map_err(unreadable)?,
        None => Vec::new(),
    };
    let own = ProvenanceSource { table: table.path(), read_by: role };
    if !all.contains(&own) {
        all.push(own);
    }
    let renamed = table.renamed(table_ref(new).name);
    Ok(ProvenanceRecord { table: new.to_owned(), sql: sql::catalog::table::keeping(&renamed, &written(&all)?) })
}

/// The same, with the stages whose files are also those of an external stage among it: their rules are of the same rows.
fn with_sharing(known: &sql::Catalog, mut read: Vec<String>) -> Vec<String> {
    if !read.iter().any(|path| table_ref(path).stage().is_some()) {
        return read;
    }
    let stages = ExternalStages::of(known);
    let others: Vec<String> = stages.sharing(&read).map(str::to_owned).collect();
    read.extend(others);
    read
}

fn written(sources: &[ProvenanceSource]) -> Result<String> {
    serde_json::to_string(sources).map_err(|_| Error::Unsupported { what: "a table of this origin".to_owned() })
}
