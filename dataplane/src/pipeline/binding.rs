//! Whether what the rules of policies name is there, and whether their filters evaluate. The control plane asks before
//! it keeps a rule, and now and then: a rule that names nothing rules nothing, and nobody would notice.
//!
//! A filter is tried as it would hold: put into a statement of ours by the code that governs every statement, checked
//! by both parsers, and run on no rows. Nothing of the filter's own text is passed on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::binding::{BYTES_MAX, BindBody, Binding, Bound, Missing, NAMES_MAX, Named, RULES_MAX};
use contract::policy::abac::{Operation, names_table};
use contract::policy::{Policies, TableRef};
use contract::{Governance, own_tables};
use engine::{Engine, Kind, Outcome, Session, Statement};
use sql::catalog::definition;
use tokio_util::sync::CancellationToken;

use super::catalog_snapshot::CatalogSnapshot;
use super::stages::snapshot;
use super::stages::tables::StatementInfo;
use super::stages::transpile::bound as values;
use super::{Pipeline, Result, attached, runtime};
use crate::Error;

/// One question; whoever asks waits a little longer than this.
const WITHIN: Duration = Duration::from_secs(4);

impl Pipeline {
    /// What there is of what each rule names. One question at a time: a filter makes the engine work.
    pub async fn bindings(&self, asked: &BindBody, cancel: &CancellationToken) -> Result<Bound> {
        within_bounds(asked)?;
        let deadline = Instant::now() + WITHIN;
        let turn = tokio::time::timeout_at(deadline.into(), self.remembered.binding.lock());
        let _turn = turn.await.map_err(|_| Error::Timeout(WITHIN))?;
        let (rules, engine) = (self.rules()?, self.engine()?);
        attached::looked(self, &rules, deadline).await;
        let seen = self.remembered.tables.now(&engine, &rules).await?;
        let mut trial = Trial { engine, session: None, database: &rules.environment.slug, deadline, cancel };
        let mut told = Vec::with_capacity(asked.rules.len());
        for rule in &asked.rules {
            told.push(match rule {
                Named::Mask { table, column } => found(&seen, table, &[column.to_ascii_lowercase()]),
                Named::Filter { table, filter } => Box::pin(self.tried(&mut trial, &seen, table, filter)).await,
                Named::Pattern { pattern } => matched(&seen, pattern),
            });
        }
        Ok(Bound { rules: told })
    }

    async fn tried(&self, trial: &mut Trial<'_>, seen: &CatalogSnapshot, table: &str, filter: &str) -> Binding {
        let fails = |error: Error| Binding::Fails { message: error.to_string() };
        let template = match self.remembered.filters.of(filter) {
            Ok(template) => template,
            Err(error) => return fails(error),
        };
        if let Some(read) = template.facts().tables.iter().find(|read| !is_there(seen, read)) {
            return missing_table(seen, read);
        }
        // Whatever a caller carries is text; what it says decides of rows alone.
        let bound = match template.bind(&|_| Some(String::new()), &seen.known) {
            Ok(bound) => bound,
            Err(error) => return fails(error.into()),
        };
        let columns: Vec<String> = bound.columns().iter().cloned().collect();
        match found(seen, table, &columns) {
            Binding::Bound => {}
            missing => return missing,
        }
        match trial.of(seen, table, bound).await {
            Ok(()) => Binding::Bound,
            Err(Error::Engine(error)) if is_the_engines(error.kind) => Binding::Unknown,
            Err(error) => fails(error),
        }
    }
}

/// That rules rule nothing from now on, because the statement takes away the tables that they name.
pub(super) fn unbinds(rules: &Governance, about: &StatementInfo) -> Option<String> {
    let policies = Policies { standard: &rules.policies, abac: &rules.abac_policies };
    let known = &about.seen.as_ref()?.known;
    let made: Vec<&str> = done(about, Operation::Create).collect();
    let is_lost = |path: &&str| {
        let table = crate::governance::table_path::table_ref(path);
        !made.contains(path) && known.get(table.schema, table.name).is_some() && policies.name(table)
    };
    let lost: Vec<&str> = done(about, Operation::Drop).filter(is_lost).collect();
    let named = lost.get(..NAMES_MAX.min(lost.len()))?.join(", ");
    let more = if lost.len() > NAMES_MAX { " and others" } else { "" };
    (!lost.is_empty())
        .then(|| format!("the policies on {named}{more} rule nothing now; they hold for the next table of that name"))
}

fn done(about: &StatementInfo, operation: Operation) -> impl Iterator<Item = &str> {
    about.written.iter().filter(move |(_, done)| *done == operation).map(|(path, _)| path.as_str())
}

fn within_bounds(asked: &BindBody) -> Result<()> {
    let bytes: usize = asked.rules.iter().map(Named::bytes).sum();
    if asked.rules.len() > RULES_MAX || bytes > BYTES_MAX {
        let message = format!("a question is of {RULES_MAX} rules and {BYTES_MAX} bytes at most");
        return Err(Error::InvalidParams { field: "rules", message });
    }
    Ok(())
}

/// What the engine failed of, and not what it was asked.
const fn is_the_engines(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Timeout
            | Kind::Interrupted
            | Kind::OutOfMemory
            | Kind::TempSpace
            | Kind::Crashed
            | Kind::Starved
            | Kind::Unavailable
            | Kind::Internal
            | Kind::Fatal
            | Kind::CatalogMissing // dropped since it was looked at
    )
}

/// Where filters are tried, once there is one to try.
struct Trial<'a> {
    engine: Engine,
    session: Option<Session>,
    database: &'a str,
    deadline: Instant,
    cancel: &'a CancellationToken,
}

impl Trial<'_> {
    /// The filter on no rows of the table.
    async fn of(&mut self, seen: &CatalogSnapshot, table: &str, filter: sql::govern::Filter) -> Result<()> {
        let TableRef { schema, name } = table_ref(table);
        let Some(table) = seen.known.get(schema, name) else {
            return Ok(()); // a view: whoever reads it is refused, whatever the filter says
        };
        let (schema, name) = (sql::ast::quote::name(&table.schema), sql::ast::quote::name(&table.name));
        let statement = sql::parse(&format!("SELECT 1 FROM {schema}.{name} LIMIT 0"))?;
        let names = sql::SessionNames::new(self.database);
        let resolved = if table.is_external() {
            let without_files = sql::Table::clone(table).without_files();
            sql::resolve(statement, &sql::Catalog::new([without_files]), &names)?
        } else {
            sql::resolve(statement, &seen.known, &names)?
        };
        let mut rules = sql::Rules::default();
        rules.filter(&table.schema, &table.name, filter);
        let made = sql::transpile(sql::govern(resolved, &rules)?.embedded()?)?;
        if runtime::is_read(&made.tables) {
            return Ok(()); // its rows are in another database, which knows the types of its columns
        }
        if !made.before.is_empty() {
            return Err(Error::Unverified { why: "a filter on no rows takes several steps".to_owned() });
        }
        let (deadline, cancel) = (self.deadline, self.cancel);
        let attached = made.attached();
        for read in &attached {
            let statement = Statement { sql: read.made(), params: Vec::new(), writes: true };
            self.session().await?.keep(statement, deadline, cancel).await?;
        }
        let parsed = if attached.is_empty() {
            self.engine.parsed(&made.sql, deadline, cancel).await?
        } else {
            self.session().await?.parsed(&made.sql, deadline, cancel).await?
        };
        snapshot::compare(&parsed, &made.tables, false)?;
        let statement = Statement { sql: made.sql, params: values(&made.binds, &[])?, writes: false };
        match self.session().await?.run(statement, deadline, cancel).await? {
            Outcome::Rows(rows) => rows.finish().await,
            Outcome::Changed { .. } => return Err(Error::Unverified { why: "a filter changed something".to_owned() }),
        }
        Ok(())
    }

    async fn session(&mut self) -> Result<&mut Session> {
        let session = match self.session.take() {
            Some(session) => session,
            None => self.engine.session().await?,
        };
        Ok(self.session.insert(session))
    }
}

/// As rules name tables.
fn table_ref(rule: &str) -> TableRef<'_> {
    let (schema, name) = rule.rsplit_once('.').unwrap_or(("main", rule));
    TableRef { schema, name }
}

fn view<'s>(seen: &'s CatalogSnapshot, wanted: TableRef<'_>) -> Option<&'s Arc<sql::Definition>> {
    let named = |one: &&Arc<sql::Definition>| {
        let is_it = one.schema.eq_ignore_ascii_case(wanted.schema) && one.name.eq_ignore_ascii_case(wanted.name);
        one.kind == definition::DefinitionKind::View && is_it
    };
    seen.known.definitions().into_iter().find(named)
}

/// The columns of a table or view.
fn columns<'s>(seen: &'s CatalogSnapshot, table: &str) -> Option<&'s [sql::Column]> {
    let wanted = table_ref(table);
    match seen.known.get(wanted.schema, wanted.name) {
        Some(table) => Some(&table.columns),
        None => view(seen, wanted).map(|view| view.columns.as_slice()),
    }
}

fn is_there(seen: &CatalogSnapshot, table: &str) -> bool {
    columns(seen, table).is_some()
}

/// Whether a table has these columns, given in lower case.
fn found(seen: &CatalogSnapshot, table: &str, wanted: &[String]) -> Binding {
    let Some(there) = columns(seen, table) else {
        return missing_table(seen, table);
    };
    let has = |name: &String| there.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    match wanted.iter().find(|name| !has(name)) {
        None => Binding::Bound,
        Some(name) => {
            let names = there.iter().map(|column| column.name.as_str());
            let TableRef { schema, name: table } = table_ref(table);
            let path = format!("{schema}.{table}.{name}");
            Binding::Missing { what: Missing::Column, name: path, there: nearest(name, names) }
        }
    }
}

fn missing_table(seen: &CatalogSnapshot, table: &str) -> Binding {
    let TableRef { schema, name } = table_ref(table);
    let mut paths: Vec<String> = seen.known.tables().map(|table| table.path()).collect();
    paths.sort_unstable();
    let path = format!("{schema}.{name}");
    let there = nearest(&path, paths.iter().map(String::as_str));
    Binding::Missing { what: Missing::Table, name: path, there }
}

fn matched(seen: &CatalogSnapshot, pattern: &str) -> Binding {
    let tables = seen.known.tables().map(|table| table.path());
    let others = seen.known.definitions().into_iter().map(|one| one.path());
    let own = [own_tables::MEMORIES, own_tables::STEPS].into_iter().map(str::to_owned);
    let mut all = tables.chain(others).chain(own);
    if all.any(|path| names_table(pattern, crate::governance::table_path::table_ref(&path))) {
        Binding::Bound
    } else {
        missing_table(seen, pattern)
    }
}

/// The names most like the wanted one, nearest first.
fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let wanted = wanted.to_ascii_lowercase();
    let likeness = |name: &str| strsim::jaro_winkler(&wanted, &name.to_ascii_lowercase());
    let mut all: Vec<(f64, &str)> = names.map(|name| (likeness(name), name)).collect();
    all.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1)));
    all.into_iter().take(NAMES_MAX).map(|(_, name)| name.to_owned()).collect()
}
