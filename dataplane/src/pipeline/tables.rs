//! Stage 2. "Table extraction: find the tables referenced in the parsed statement."
//!
//! One statement, parsed by us and classified by its whole tree. Whether the tables exist is not
//! asked yet: a name that a policy denies answers alike whether or not there is such a table.

use std::sync::{Arc, Mutex, PoisonError};

use contract::Governance;
use contract::policy::abac::Operation;

use super::{Query, Result, runtime};
use crate::Command;
use crate::branches::Open;
use crate::trail::Trail;

/// A statement and what it touches, by the caller's own words.
#[derive(Debug)]
pub(super) struct Extracted {
    pub statement: sql::Statement,
    pub about: About,
}

/// What later stages want to know of a statement that has been taken apart.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub command: Command,
    /// What it does most of all: the name it has in audit and billing.
    pub operation: Operation,
    pub writes: bool,
    /// `schema.table` once bound.
    pub tables: Vec<String>,
    /// Tables written to, with what is done to them; known once the names are bound.
    pub written: Vec<(String, Operation)>,
    /// Rows that the agent's grant lets it read or change.
    pub rows_max: Option<u64>,
    /// The branch whose rows it reads and writes; tables are named as on the mainline.
    pub branch: Option<Arc<Open>>,
}

impl About {
    /// Of a statement that reads, before it is known what.
    pub(super) fn reading() -> Self {
        Self {
            command: Command::Select,
            operation: Operation::Select,
            writes: false,
            tables: Vec::new(),
            written: Vec::new(),
            rows_max: None,
            branch: None,
        }
    }
}

pub(super) fn extract(text: &str, variables: &sql::Variables, t: &Trail) -> Result<Extracted> {
    let statement = match sql::parse_with(text, variables) {
        Ok(statement) => statement,
        Err(error) => {
            t.facts().redacted = Some(sql::digest(text));
            return Err(error.into());
        }
    };
    let about = About {
        command: command(statement.kind()),
        operation: main_operation(&statement),
        writes: statement.is_write(),
        tables: statement.tables().iter().map(path).collect(),
        written: Vec::new(),
        rows_max: None,
        branch: None,
    };
    let mut facts = t.facts();
    facts.redacted = Some(statement.redacted());
    facts.operation = Some(about.operation);
    facts.tables.clone_from(&about.tables);
    drop(facts);
    Ok(Extracted { statement, about })
}

fn path(table: &sql::TableUse) -> String {
    format!("{}.{}", table.schema.as_deref().unwrap_or("main"), table.name)
}

/// What a bound statement writes to; of a schema, every table in it.
pub(super) fn written(resolved: &sql::Resolved, known: &sql::Catalog) -> Vec<(String, Operation)> {
    let within = |schema: &str| {
        let schema = schema.to_owned();
        known.tables().filter(move |table| table.schema.eq_ignore_ascii_case(&schema)).map(|table| table.path())
    };
    let paths = |path: &String| match path.strip_suffix(".*") {
        Some(schema) => within(schema).collect(),
        None => vec![path.clone()],
    };
    let each = resolved.written().iter();
    each.flat_map(|(path, done)| paths(path).into_iter().map(|path| (path, operation(*done)))).collect()
}

/// Whether the path is that of a table of a client's transaction.
pub(super) fn is_temporary(path: &str) -> bool {
    path.split_once('.').is_some_and(|(schema, _)| schema == sql::names::TEMPORARY_SCHEMA)
}

/// The policy's word for what the parser found.
pub(super) fn operation(found: sql::Operation) -> Operation {
    match found {
        sql::Operation::Select => Operation::Select,
        sql::Operation::Insert => Operation::Insert,
        sql::Operation::Update => Operation::Update,
        sql::Operation::Delete => Operation::Delete,
        sql::Operation::Merge => Operation::Merge,
        sql::Operation::Create => Operation::Create,
        sql::Operation::Alter => Operation::Alter,
        sql::Operation::Drop => Operation::Drop,
    }
}

/// By the kind of statement; a SELECT that writes anywhere in its tree counts as that write.
fn main_operation(statement: &sql::Statement) -> Operation {
    use sql::Kind as K;
    match statement.kind() {
        K::Insert => Operation::Insert,
        K::Update => Operation::Update,
        K::Delete | K::Truncate => Operation::Delete,
        K::Merge => Operation::Merge,
        K::CreateTable | K::CreateTableAs | K::CreateSchema | K::CreateView | K::CreateFunction | K::CreateSequence => {
            Operation::Create
        }
        K::AlterTable => Operation::Alter,
        K::DropTable | K::DropSchema | K::DropView | K::DropFunction | K::DropSequence => Operation::Drop,
        _ => {
            let mut found = statement.operations().iter().copied().map(operation);
            found.find(|found| *found != Operation::Select).unwrap_or(Operation::Select)
        }
    }
}

fn command(kind: &sql::Kind) -> Command {
    use sql::Kind as K;
    match kind {
        K::Insert => Command::Insert,
        K::Update => Command::Update,
        K::Delete => Command::Delete,
        K::Merge => Command::Merge,
        K::Truncate => Command::Other("TRUNCATE TABLE"),
        K::CreateTable => Command::Other("CREATE TABLE"),
        K::CreateTableAs => Command::CreateTableAs,
        K::CreateSchema => Command::Other("CREATE SCHEMA"),
        K::AlterTable => Command::Other("ALTER TABLE"),
        K::DropTable => Command::Other("DROP TABLE"),
        K::DropSchema => Command::Other("DROP SCHEMA"),
        K::CreateView => Command::Other("CREATE VIEW"),
        K::CreateFunction => Command::Other("CREATE FUNCTION"),
        K::CreateSequence => Command::Other("CREATE SEQUENCE"),
        K::DropView => Command::Other("DROP VIEW"),
        K::DropFunction => Command::Other("DROP FUNCTION"),
        K::DropSequence => Command::Other("DROP SEQUENCE"),
        _ => Command::Select,
    }
}

/// The engine's catalog as the parser wants it, made again only when the engine's changes.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Option<Made>>);

#[derive(Debug)]
struct Made {
    from: Arc<engine::Catalog>,
    /// With the runtime's tables.
    has_runtime: bool,
    catalog: Arc<sql::Catalog>,
}

impl Known {
    /// As this query sees them: with what its own transaction has defined, and the runtime's where there is one.
    pub(super) async fn of(
        &self,
        engine: &engine::Engine,
        query: &Query,
        rules: &Governance,
    ) -> Result<Arc<sql::Catalog>> {
        if let Some(mut transaction) = query.transaction().await?
            && let Some(session) = transaction.own_view()
        {
            return Ok(Arc::new(as_known(&session.catalog().await?, rules.runtime)));
        }
        let read = engine.catalog().await?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = known.as_ref()
            && Arc::ptr_eq(&made.from, &read)
            && made.has_runtime == rules.runtime
        {
            return Ok(Arc::clone(&made.catalog));
        }
        let catalog = Arc::new(as_known(&read, rules.runtime));
        *known = Some(Made { from: read, has_runtime: rules.runtime, catalog: Arc::clone(&catalog) });
        Ok(catalog)
    }
}

fn as_known(read: &engine::Catalog, has_runtime: bool) -> sql::Catalog {
    let column =
        |c: &engine::Column| sql::Column { name: c.name.clone(), type_name: c.type_name.clone(), nullable: c.nullable };
    let is_listed =
        |schema: &str, name: &str| !sql::is_kept(schema, name) && (!has_runtime || !runtime::is_its_schema(schema));
    let tables = read.tables.iter().filter(|table| is_listed(&table.schema, &table.name)).map(|table| {
        let columns = table.columns.iter().map(column).collect();
        let known = sql::Table::new(&table.schema, &table.name, columns).with_primary_key(&table.primary_key);
        let known = known.with_origin(table.comment.clone());
        if table.schema == sql::names::TEMPORARY_SCHEMA { known.temporary() } else { known }
    });
    let mut known = sql::Catalog::new(tables);
    if has_runtime {
        runtime::tables().for_each(|table| known.add(table));
    }
    read.schemas.iter().for_each(|schema| known.add_schema(schema));
    for entry in &read.definitions {
        let kind = match entry.kind {
            engine::DefinitionKind::View => sql::definition::Kind::View,
            engine::DefinitionKind::Function => sql::definition::Kind::Function,
            engine::DefinitionKind::Sequence => sql::definition::Kind::Sequence,
        };
        let columns = entry.columns.iter().map(column).collect();
        let comment = entry.comment.as_deref().unwrap_or_default();
        if let Some(definition) = sql::Definition::read(kind, &entry.schema, &entry.name, columns, comment) {
            known.define(definition);
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(text: &str) -> About {
        extract(text, &sql::Variables::default(), &Trail::new()).unwrap().about
    }

    #[test]
    fn a_statement_is_known_by_its_whole_tree() {
        let cases = [
            ("select * from a join s.b on true", Operation::Select, false, "main.a s.b"),
            ("insert into a select * from b", Operation::Insert, true, "main.a main.b"),
            ("delete from a", Operation::Delete, true, "main.a"),
            ("create table t as select 1 as x", Operation::Create, true, "main.t"),
            ("with a as (select 1) select * from a", Operation::Select, false, ""),
        ];
        for (text, operation, writes, tables) in cases {
            let about = about(text);
            assert_eq!((about.operation, about.writes), (operation, writes), "{text}");
            assert_eq!(about.tables.join(" "), tables, "{text}");
        }
    }

    #[test]
    fn the_log_never_sees_literals_nor_text_that_did_not_parse() {
        let trail = Trail::new();
        let none = sql::Variables::default();
        extract("select 'secret' from t where x = 42", &none, &trail).unwrap();
        let redacted = trail.facts().redacted.clone().unwrap();
        assert!(!redacted.contains("secret") && !redacted.contains("42"), "{redacted}");
        assert!(extract("selec 'secret'", &none, &trail).is_err());
        assert!(trail.facts().redacted.clone().unwrap().starts_with("<unparsed sha256:"));
    }
}
