//! The tables a caller may see, as the data plane read them from the engine. Case does not matter.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::ast::error::{Error, ErrorKind};
use crate::ast::names::{self, MAIN_SCHEMA, TableName};
use sqlparser::ast::ObjectName;

use crate::catalog::definition::{self, Definition, FoundDefinition};
use crate::catalog::lower_case::lowered;
use crate::catalog::past_load::PastLoad;
use crate::catalog::stage::FileEntry;
use crate::catalog::table::{Column, Table};

/// All tables in reach of one caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    schemas: HashMap<String, HashMap<String, Arc<Table>>>,
    /// So many of the tables are external.
    external: usize,
    /// By kind, schema and name.
    definitions: HashMap<definition::DefinitionKind, HashMap<String, HashMap<String, Arc<Definition>>>>,
}

impl Catalog {
    pub fn new(tables: impl IntoIterator<Item = Table>) -> Self {
        let mut catalog = Self::default();
        for table in tables {
            catalog.add(table);
        }
        catalog
    }

    /// One whose path would be another's is as if it were not there: no policy could name it.
    pub fn add(&mut self, table: Table) {
        if !names::fits_a_path(&table.schema) || !names::fits_a_path(&table.name) {
            return;
        }
        self.external += usize::from(table.is_external());
        let tables = self.schemas.entry(table.schema.to_ascii_lowercase()).or_default();
        let replaced = tables.insert(table.name.to_ascii_lowercase(), Arc::new(table));
        self.external -= usize::from(replaced.is_some_and(|table| table.is_external()));
    }

    pub fn define(&mut self, definition: Definition) {
        if !names::fits_a_path(&definition.schema) || !names::fits_a_path(&definition.name) {
            return;
        }
        self.add_schema(&definition.schema);
        self.put(Arc::new(definition));
    }

    fn put(&mut self, definition: Arc<Definition>) {
        let (schema, name) = (definition.schema.to_ascii_lowercase(), definition.name.to_ascii_lowercase());
        let of_kind = self.definitions.entry(definition.kind).or_default();
        of_kind.entry(schema).or_default().insert(name, definition);
    }

    /// Views, functions and sequences, by kind, schema and name.
    pub fn definitions(&self) -> Vec<&Arc<Definition>> {
        let of_schemas = self.definitions.values().flat_map(HashMap::values);
        let mut all: Vec<_> = of_schemas.flat_map(HashMap::values).collect();
        all.sort_by_key(|definition| (definition.kind as u8, definition.schema.clone(), definition.name.clone()));
        all
    }

    /// The view, function or sequence a name means in this session.
    pub(crate) fn defined(
        &self,
        kind: definition::DefinitionKind,
        name: &TableName,
        session: &SessionNames,
    ) -> FoundDefinition {
        let of_kind = self.definitions.get(&kind)?;
        let wanted = lowered(&name.name);
        let mut schemas = session.schemas_of(self, name)?;
        schemas.find_map(|schema| of_kind.get(&*lowered(schema))?.get(&*wanted)).cloned()
    }

    /// The stage or file format of this kind that a name means in this session.
    pub(crate) fn staged(
        &self,
        kind: definition::DefinitionKind,
        name: &ObjectName,
        session: &SessionNames,
    ) -> Result<Arc<Definition>, Error> {
        let written = TableName::of(name).ok_or_else(|| Error::unsupported("this form of name"))?;
        if kind == definition::DefinitionKind::Stage
            && let Some(own) = self.own_stage(&written, session)?
        {
            return Ok(own);
        }
        self.defined(kind, &written, session).ok_or_else(|| {
            let called = written.name.strip_prefix(kind.sign()).unwrap_or(&written.name);
            let word = if kind == definition::DefinitionKind::Stage { "stage" } else { "file format" };
            let message = format!("{word} {called} does not exist");
            Error { message, ..self.missing(&written) }
        })
    }

    /// Keeps what a caller may see, by its path.
    #[must_use]
    pub fn seen(&self, may_see: impl Fn(&str) -> bool) -> Self {
        let mut seen = Self::default();
        for (schema, tables) in &self.schemas {
            let kept = tables.iter().filter(|(_, table)| may_see(&table.path()));
            seen.schemas.insert(schema.clone(), kept.map(|(name, table)| (name.clone(), Arc::clone(table))).collect());
        }
        let of_schemas = self.definitions.values().flat_map(HashMap::values);
        let kept = of_schemas.flat_map(HashMap::values).filter(|definition| may_see(&definition.path()));
        kept.for_each(|definition| seen.put(Arc::clone(definition)));
        seen.external = seen.tables().filter(|table| table.is_external()).count();
        seen
    }

    /// These tables in place of all others; views, functions and external tables stay, and views are made of these.
    #[must_use]
    pub fn with_tables(&self, tables: impl IntoIterator<Item = Table>) -> Self {
        let mut changed = Self::new(tables);
        changed.definitions.clone_from(&self.definitions);
        self.tables().filter(|table| table.is_external()).for_each(|table| changed.add(Table::clone(table)));
        self.definitions.values().flat_map(HashMap::keys).for_each(|schema| changed.add_schema(schema));
        changed
    }

    /// A schema without tables.
    pub fn add_schema(&mut self, schema: &str) {
        if names::fits_a_path(schema) {
            self.schemas.entry(schema.to_ascii_lowercase()).or_default();
        }
    }

    pub fn has_schema(&self, schema: &str) -> bool {
        schema.eq_ignore_ascii_case(MAIN_SCHEMA) || self.schemas.contains_key(&*lowered(schema))
    }

    /// Their names; the main schema is there without a table.
    pub fn schemas(&self) -> impl Iterator<Item = String> {
        let main = (!self.schemas.contains_key(MAIN_SCHEMA)).then(|| MAIN_SCHEMA.to_owned());
        self.schemas.keys().cloned().chain(main)
    }

    pub fn get(&self, schema: &str, name: &str) -> Option<&Arc<Table>> {
        self.schemas.get(&*lowered(schema))?.get(&*lowered(name))
    }

    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.schemas.values().flat_map(HashMap::values)
    }

    pub(crate) fn has_external_tables(&self) -> bool {
        self.external > 0
    }

    /// The temporary table that a name without a path means.
    pub(crate) fn temporary(&self, name: &TableName) -> Option<&Arc<Table>> {
        let is_bare = name.schema.is_none() && name.database.is_none();
        is_bare.then(|| self.get(names::TEMPORARY_SCHEMA, &name.name)).flatten()
    }

    /// The table a name means in this session, if there is one.
    pub(crate) fn table(&self, name: &TableName, session: &SessionNames) -> Option<&Arc<Table>> {
        if name.is_reserved() {
            return None;
        }
        let mut schemas = session.schemas_of(self, name)?;
        // of the first schema that has a table or a view of the name
        let found = schemas.find_map(|schema| {
            let table = self.get(schema, &name.name);
            (table.is_some() || self.has_definition(schema, &name.name)).then_some(table)
        });
        found.flatten()
    }

    /// The same, or an error that names what is alike.
    pub(crate) fn find(&self, name: &TableName, session: &SessionNames) -> Result<&Arc<Table>, Error> {
        self.table(name, session).ok_or_else(|| self.missing(name))
    }

    /// Whether a table or a view of the name is in the schema.
    pub fn has_relation(&self, schema: &str, name: &str) -> bool {
        self.get(schema, name).is_some() || self.has_definition(schema, name)
    }

    /// Whether a view of the name is in the schema, or what stands where a table may.
    fn has_definition(&self, schema: &str, name: &str) -> bool {
        use definition::DefinitionKind as Kind;
        let (schema, name) = (lowered(schema), lowered(name));
        [Kind::View, Kind::Stage, Kind::FileFormat].iter().any(|kind| {
            let defined = self.definitions.get(kind).and_then(|of_kind| of_kind.get(&*schema));
            defined.is_some_and(|defined| defined.contains_key(&*name))
        })
    }

    /// Names only what the caller may see.
    pub(crate) fn missing(&self, name: &TableName) -> Error {
        let near = self.nearest(name);
        let path = match &name.schema {
            Some(schema) => format!("{schema}.{}", name.name),
            None => name.name.clone(),
        };
        let hint = near.as_ref().map_or_else(String::new, |near| format!("; did you mean {near}?"));
        let kind =
            ErrorKind::TableNotFound { schema: name.schema.clone(), name: name.name.clone(), did_you_mean: near };
        Error::new(kind, format!("table {path} does not exist{hint}"))
    }

    /// The same of a name that was written without a database.
    pub fn not_found(&self, schema: Option<&str>, name: &str) -> Error {
        self.missing(&TableName { database: None, schema: schema.map(str::to_owned), name: name.to_owned() })
    }

    fn nearest(&self, name: &TableName) -> Option<String> {
        const LIKENESS_MIN: f64 = 0.8;
        let wanted = name.name.to_ascii_lowercase();
        let likeness = |table: &Arc<Table>| strsim::jaro_winkler(&wanted, &table.name.to_ascii_lowercase());
        self.tables()
            .map(|table| (likeness(table), table))
            .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
            .map(|(likeness, table)| (likeness, table.path()))
            .max_by(|one, other| one.0.total_cmp(&other.0).then_with(|| other.1.cmp(&one.1)))
            .map(|(_, path)| path)
    }
}

/// The meaning of names without a path in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionNames {
    /// The one database the caller sees, named as the environment's slug.
    pub database: String,
    /// Schemas searched in order.
    pub search_path: Vec<String>,
    /// Who asks, for `CURRENT_USER` and `CURRENT_ROLE`.
    pub user: Option<String>,
    pub role: Option<String>,
    /// Of this statement alone: a stage that it makes keeps its files by it.
    pub statement_id: String,
    /// The id of the own stage of whoever asks.
    pub user_stage: Option<String>,
    /// Schema, table and column, in lower case, of what is masked for the caller: the catalogue shows text there.
    pub masked: Arc<BTreeSet<(String, String, String)>>,
    /// The same of what is denied to the agent behind the caller: the catalogue does not list it.
    pub denied: Arc<BTreeSet<(String, String, String)>>,
    /// The files that this statement lists or removes.
    pub files: Arc<Vec<FileEntry>>,
    /// Schema and table, in lower case, with about how many rows it has: only where none is hidden from the caller.
    pub rows: Arc<BTreeMap<(String, String), u64>>,
    /// The earlier load that this statement asks for.
    pub past_load: Option<Arc<PastLoad>>,
}

impl SessionNames {
    pub fn new(database: impl Into<String>) -> Self {
        Self { database: database.into(), search_path: vec![MAIN_SCHEMA.to_owned()], ..Self::default() }
    }

    /// Columns as their reader sees them.
    pub fn shown(&self, schema: &str, table: &str, columns: &[Column]) -> Vec<Column> {
        let shown = |column: &Column| {
            let [schema, table, name] = [schema, table, column.name.as_str()].map(str::to_ascii_lowercase);
            if self.masked.contains(&(schema, table, name)) {
                let type_name = "VARCHAR".to_owned();
                return Column { type_name, spelled: None, default: None, ..column.clone() };
            }
            column.clone()
        };
        columns.iter().filter(|column| !self.denies(schema, table, &column.name)).map(shown).collect()
    }

    /// About how many rows the table has, where the caller may know.
    pub(crate) fn rows_of(&self, schema: &str, table: &str) -> Option<u64> {
        self.rows.get(&(schema.to_ascii_lowercase(), table.to_ascii_lowercase())).copied()
    }

    /// Those of a table's columns whose names may be told.
    pub fn told(&self, schema: &str, table: &str, columns: &[String]) -> Vec<String> {
        columns.iter().filter(|column| !self.denies(schema, table, column)).cloned().collect()
    }

    fn denies(&self, schema: &str, table: &str, column: &str) -> bool {
        let [schema, table, column] = [schema, table, column].map(str::to_ascii_lowercase);
        self.denied.contains(&(schema, table, column))
    }

    /// Is any column of the table denied?
    pub(crate) fn denies_of(&self, schema: &str, table: &str) -> bool {
        let is_its = |(in_schema, in_table, _): &(String, String, String)| {
            in_schema.eq_ignore_ascii_case(schema) && in_table.eq_ignore_ascii_case(table)
        };
        self.denied.iter().any(is_its)
    }

    /// Where to look for the table; none when the path names another database.
    fn schemas_of<'a>(&'a self, catalog: &Catalog, name: &'a TableName) -> Option<impl Iterator<Item = &'a str>> {
        if name.database.as_ref().is_some_and(|database| !database.eq_ignore_ascii_case(&self.database)) {
            return None;
        }
        let written = name.schema.as_deref();
        // `database.table` stands for `database.main.table` unless there is a schema of that name.
        let is_database = written.is_some_and(|written| {
            name.database.is_none() && written.eq_ignore_ascii_case(&self.database) && !catalog.has_schema(written)
        });
        let written = written.filter(|_| !is_database);
        let path = self.search_path.iter().map(String::as_str).filter(move |_| written.is_none());
        Some(written.into_iter().chain(path))
    }

    /// The schema a new table goes to.
    pub(crate) fn home<'a>(&'a self, catalog: &Catalog, name: &'a TableName) -> Option<&'a str> {
        self.schemas_of(catalog, name)?.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::external_table::KeptExternalTable;

    #[test]
    fn external_tables_are_there_until_the_last_is_replaced_or_hidden() {
        let kept = KeptExternalTable::written("q1", "q0", "CREATE EXTERNAL TABLE e LOCATION = @s");
        let kept = KeptExternalTable::read(&kept, ["main"].into_iter()).map(Arc::new);
        let plain = || Table::new("main", "e", Vec::new());
        let mut catalog = Catalog::new([plain()]);
        assert!(!catalog.has_external_tables());
        for _ in 0..2 {
            let mut external = plain();
            external.external.clone_from(&kept);
            catalog.add(external);
            assert!(catalog.has_external_tables() && catalog.with_tables([]).has_external_tables());
        }
        assert!(catalog.seen(|path| path == "main.e").has_external_tables());
        assert!(!catalog.seen(|_| false).has_external_tables());
        catalog.add(plain());
        assert_eq!((catalog.has_external_tables(), catalog), (false, Catalog::new([plain()])));
    }
}
