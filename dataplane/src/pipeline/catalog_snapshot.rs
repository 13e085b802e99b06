//! The tables there are, as a statement is judged by them, and as its transaction sees them.
//!
//! A table can be made anew between stage 3 and the snapshot of stage 9: with other columns, or of rows that the caller
//! may not see. So a statement runs in a transaction that sees the tables it was judged by, or it is judged again.

use std::sync::{Arc, Mutex, PoisonError};

use contract::Governance;
use contract::policy::TableRef;
use engine::{Engine, Session, Snapshot};
use sql::catalog::column_comment::SpelledType;

use super::authorization::stage_locations::ExternalStages;
use super::stages::tables::StatementInfo;
use super::{Query, Result, runtime};
use crate::Error;
use crate::governance::table_path::table_ref;
use crate::storage::attached::{AttachedDatabases, AttachedTables};

/// The tables that are known beside the environment's own.
#[derive(Debug, Clone, Default)]
pub(super) struct BesideTables {
    /// With the runtime's tables.
    runtime: bool,
    /// Those of attached databases.
    attached: Arc<AttachedTables>,
}

impl BesideTables {
    fn is_the_same(&self, other: &Self) -> bool {
        self.runtime == other.runtime && Arc::ptr_eq(&self.attached, &other.attached)
    }
}

/// The engine's catalog at one moment.
#[derive(Debug, Clone)]
pub(super) struct CatalogSnapshot {
    pub engine: Engine,
    read: Arc<engine::Catalog>,
    beside: BesideTables,
    /// As the parser wants it.
    pub known: Arc<sql::Catalog>,
    /// The external stages among it.
    pub stages: Arc<ExternalStages>,
}

impl CatalogSnapshot {
    fn new(engine: Engine, read: Arc<engine::Catalog>, beside: BesideTables) -> Self {
        let known = Arc::new(as_known(&read, &beside));
        let stages = Arc::new(ExternalStages::of(&known));
        Self { engine, read, beside, known, stages }
    }

    /// The tables of attached databases.
    pub fn attached(&self) -> &AttachedTables {
        &self.beside.attached
    }

    /// Whether the schema is that of an attached database: one of the environment's own comes before it.
    pub fn is_attached(&self, schema: &str) -> bool {
        self.beside.attached.has(schema) && !has_schema(&self.read, schema)
    }

    /// As the engine said it.
    pub fn read(&self) -> &engine::Catalog {
        &self.read
    }

    /// As a session sees it in its transaction.
    pub async fn by(&self, session: &mut Session) -> Result<Self> {
        Ok(Self::of(&self.engine, session).await?.beside(self.beside.clone()))
    }

    /// The same, where nothing was seen before.
    pub async fn of(engine: &Engine, session: &mut Session) -> Result<Self> {
        Ok(Self::new(engine.clone(), Arc::new(session.catalog().await?), BesideTables::default()))
    }

    /// The same beside these tables.
    pub fn beside(self, beside: BesideTables) -> Self {
        if self.beside.is_the_same(&beside) { self } else { Self::new(self.engine, self.read, beside) }
    }

    pub fn is_the_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.read, &other.read)
    }

    /// The same for all that is the same.
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.read).addr()
    }

    /// Is it sure to be what a transaction sees that has begun before this is asked?
    pub fn is_current(&self) -> bool {
        self.engine.is_current(&self.read)
    }

    /// A new session in a transaction that sees these tables as they are here.
    pub async fn session<'a>(&self, paths: impl Iterator<Item = &'a str>) -> Result<(Session, Snapshot)> {
        let mut session = self.engine.session().await?;
        let snapshot = self.begin(&mut session, paths).await?;
        Ok((session, snapshot))
    }

    /// The same with a session that there is.
    pub async fn begin<'a>(&self, session: &mut Session, paths: impl Iterator<Item = &'a str>) -> Result<Snapshot> {
        let snapshot = session.begin().await?;
        if !self.is_current() {
            let now = session.catalog().await?;
            for path in paths {
                if shape(&self.read, path) != shape(&now, path) {
                    return Err(Error::Redefined);
                }
            }
        }
        Ok(snapshot)
    }
}

/// The tables that a statement names, and those that are read or written for it, as `schema.table`.
pub(super) fn paths<'a>(about: &'a StatementInfo, sql: &'a sql::EngineSql) -> impl Iterator<Item = &'a str> {
    let emitted = sql.before.iter().flat_map(|step| &step.tables).chain(&sql.tables);
    let within = |name: &'a String| name.split_once('.').map(|(_, path)| path);
    about.tables.iter().map(String::as_str).chain(emitted.filter_map(within))
}

/// The shape of a table by which a statement is judged: its columns with their lengths, keys and checks, and where
/// its rows are from.
#[derive(PartialEq)]
struct TableShape<'a> {
    columns: &'a [engine::Column],
    primary_key: &'a [String],
    unique: &'a [Vec<String>],
    checks: &'a [Vec<String>],
    comment: Option<&'a str>,
    column_comments: &'a [engine::ColumnComment],
}

fn shape<'a>(catalog: &'a engine::Catalog, path: &str) -> Option<TableShape<'a>> {
    let TableRef { schema, name } = table_ref(path);
    let table = catalog.table(schema, name)?;
    Some(TableShape {
        columns: &table.columns,
        primary_key: &table.primary_key,
        unique: &table.unique,
        checks: &table.checks,
        comment: table.comment.as_deref(),
        column_comments: &table.column_comments,
    })
}

/// The last snapshot, read again only when the engine's catalog changes.
#[derive(Debug, Default)]
pub(super) struct LatestCatalog {
    seen: Mutex<Option<CatalogSnapshot>>,
    pub attached: AttachedDatabases,
}

impl LatestCatalog {
    /// As this query sees it: as its own transaction does, and with the runtime's tables where there is one.
    pub(super) async fn of(&self, engine: &Engine, query: &Query, rules: &Governance) -> Result<CatalogSnapshot> {
        if let Some(seen) = &query.judged_by {
            return Ok(seen.clone());
        }
        if let Some(mut transaction) = query.transaction().await?
            && let Some(seen) = transaction.seen(self.beside(rules)).await?
        {
            return Ok(seen);
        }
        self.now(engine, rules).await
    }

    /// As nobody's transaction sees it.
    pub(super) async fn now(&self, engine: &Engine, rules: &Governance) -> Result<CatalogSnapshot> {
        let (read, beside) = (engine.catalog().await?, self.beside(rules));
        let mut latest = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = latest.as_ref()
            && Arc::ptr_eq(&seen.read, &read)
            && seen.beside.is_the_same(&beside)
        {
            return Ok(seen.clone());
        }
        let mut seen = CatalogSnapshot::new(engine.clone(), read, beside);
        // it is read anew for its estimates of rows too, of which the parser knows none: what is kept by it stays
        if let Some(before) = latest.as_ref().filter(|before| before.known == seen.known) {
            seen.known = Arc::clone(&before.known);
        }
        *latest = Some(seen.clone());
        Ok(seen)
    }

    fn beside(&self, rules: &Governance) -> BesideTables {
        BesideTables { runtime: rules.runtime, attached: self.attached.tables(rules) }
    }
}

/// Whether the environment has a schema of this name itself.
fn has_schema(read: &engine::Catalog, schema: &str) -> bool {
    let is_it = |other: &str| other.eq_ignore_ascii_case(schema);
    read.schemas.iter().any(|other| is_it(other)) || read.tables.iter().any(|table| is_it(&table.schema))
}

fn as_known(read: &engine::Catalog, beside: &BesideTables) -> sql::Catalog {
    let has_runtime = beside.runtime;
    let column = |c: &engine::Column| sql::Column {
        name: c.name.clone(),
        type_name: c.type_name.clone(),
        nullable: c.nullable,
        spelled: None,
        comment: None,
        default: None,
    };
    let comment = |kept: Option<&str>| kept.map(sql::Comment::read).unwrap_or_default();
    let is_listed =
        |schema: &str, name: &str| !sql::is_kept(schema, name) && (!has_runtime || !runtime::is_its_schema(schema));
    let tables = read.tables.iter().filter(|table| is_listed(&table.schema, &table.name)).map(|table| {
        let said = |name: &str| table.column_comments.iter().find(|said| said.name == name);
        let described = |c: &engine::Column| {
            let kept = said(&c.name).map(|said| sql::ColumnComment::read(&said.comment)).unwrap_or_default();
            let type_name = kept.declared(&c.type_name);
            let (spelled, default) = (kept.spelled, default(table, &c.name));
            sql::Column { type_name, spelled, comment: kept.words, default, ..column(c) }
        };
        let columns = table.columns.iter().map(described).collect();
        let known = sql::Table::new(&table.schema, &table.name, columns).with_primary_key(&table.primary_key);
        let known = known.with_unique(&table.unique).with_checks(&table.checks);
        let known = known.with_comment(comment(table.comment.as_deref()));
        let counters = table.counters.iter().map(|c| sql::Counter {
            column: c.column.clone(),
            schema: c.schema.clone(),
            sequence: c.sequence.clone(),
        });
        let known = known.with_counters(counters.collect());
        if table.schema == sql::ast::names::TEMPORARY_SCHEMA { known.temporary() } else { known }
    });
    let mut known = sql::Catalog::new(tables);
    if has_runtime {
        runtime::tables().for_each(|table| known.add(table));
    }
    read.schemas.iter().for_each(|schema| known.add_schema(schema));
    let own: Vec<&str> = beside.attached.schemas().filter(|schema| !has_schema(read, schema)).collect();
    for schema in &own {
        known.add_schema(schema);
    }
    let is_shown = |table: &sql::Table| own.contains(&table.schema.as_str());
    beside.attached.known().filter(is_shown).for_each(|table| known.add(table));
    for entry in &read.definitions {
        let kind = match entry.kind {
            engine::DefinitionKind::View => sql::catalog::definition::DefinitionKind::View,
            engine::DefinitionKind::Function => sql::catalog::definition::DefinitionKind::Function,
            engine::DefinitionKind::Sequence => sql::catalog::definition::DefinitionKind::Sequence,
        };
        let columns = entry.columns.iter().map(column).collect();
        let comment = comment(entry.comment.as_deref());
        let definition = sql::Definition::read(kind, &entry.schema, &entry.name, columns, comment);
        let external = definition.as_ref().and_then(sql::Table::of_external);
        match (external, definition) {
            (Some(table), _) => known.add(table),
            (None, Some(definition)) => known.define(definition),
            (None, None) => {}
        }
    }
    for view in views_of_jsonb(&known) {
        known.define(view);
    }
    known
}

/// The views that answer columns of JSONB, with these told: the engine has them as JSON.
fn views_of_jsonb(known: &sql::Catalog) -> Vec<sql::Definition> {
    let may_answer = |one: &&Arc<sql::Definition>| {
        let is_view = one.kind == sql::catalog::definition::DefinitionKind::View;
        is_view && one.columns.iter().any(|column| column.type_name == "JSON")
    };
    let told = |view: &Arc<sql::Definition>| {
        let mut view = sql::Definition::clone(view);
        for place in jsonb_outputs(&view, known).ok()? {
            view.columns.get_mut(place)?.spelled = Some(SpelledType::Jsonb);
        }
        Some(view)
    };
    known.definitions().into_iter().filter(may_answer).filter_map(told).collect()
}

/// As whoever reads the view would be told of its columns.
fn jsonb_outputs(view: &sql::Definition, known: &sql::Catalog) -> std::result::Result<Vec<usize>, sql::Error> {
    let (schema, name) = (sql::ast::quote::name(&view.schema), sql::ast::quote::name(&view.name));
    let statement = sql::parse(&format!("SELECT * FROM {schema}.{name}"))?;
    let resolved = sql::resolve(statement, known, &sql::SessionNames::new(String::new()))?;
    Ok(sql::transpile(sql::govern(resolved, &sql::Rules::default())?.embedded()?)?.jsonb_outputs)
}

/// What a column has that no value is given for, in PostgreSQL's words.
fn default(table: &engine::Table, column: &str) -> Option<sql::DefaultValue> {
    if table.counters.iter().any(|counter| counter.column == column) {
        return Some(sql::DefaultValue::Counted);
    }
    let found = table.column_defaults.iter().find(|default| default.name == column)?;
    let text = match found.text.as_str() {
        "get_current_timestamp()" | "now()" => "CURRENT_TIMESTAMP",
        "current_date()" | "today()" => "CURRENT_DATE",
        other => other,
    };
    Some(sql::DefaultValue::Expression(text.to_owned()))
}
