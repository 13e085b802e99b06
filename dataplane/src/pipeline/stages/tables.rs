//! Stage 2. "Table extraction: find the tables referenced in the parsed statement."
//!
//! One statement, parsed by us and classified by its whole tree. Whether the tables exist is not
//! asked yet: a name that a policy denies answers alike whether or not there is such a table.

use std::fmt;
use std::sync::Arc;

use contract::policy::abac::Operation;
use sql::catalog::definition::DefinitionKind;

use crate::pipeline::Result;
use crate::pipeline::authorization::provenance::ProvenanceRecord;
use crate::pipeline::catalog_snapshot::CatalogSnapshot;
use crate::pipeline::listed_files::FileRemoval;
use crate::pipeline::renamed_away::Away;
use crate::request::trail::Trail;
use crate::storage::branches::OpenBranch;
use crate::storage::{external_files, load_history};
use crate::{Command, Error};

/// A statement and what it touches, by the caller's own words.
#[derive(Debug)]
pub(super) struct Extracted {
    pub statement: sql::Statement,
    pub about: StatementInfo,
}

/// Facts of a parsed statement for later stages.
#[derive(Debug, Clone)]
pub(in crate::pipeline) struct StatementInfo {
    pub command: Command,
    /// What it does most of all: the name it has in audit and billing.
    pub operation: Operation,
    pub writes: bool,
    /// `schema.table` once bound.
    pub tables: Vec<String>,
    /// Tables written to, with what is done to them; known once the names are bound.
    pub written: Vec<(String, Operation)>,
    /// What is to be written down with them.
    pub marks: Vec<ProvenanceRecord>,
    /// A ruled table that it renames, or one of which it renames a column.
    pub away: Option<Away>,
    /// Rows that the agent's grant lets it read or change.
    pub rows_max: Option<u64>,
    /// It makes a temporary table that ends with its transaction.
    pub drops_at_commit: bool,
    /// The branch whose rows it reads and writes; tables are named as on the mainline.
    pub branch: Option<Arc<OpenBranch>>,
    /// The tables that it was judged by; none before it was, nor for what is no statement.
    pub seen: Option<CatalogSnapshot>,
    /// Files of stages that are its rows; known once the names are bound.
    pub staged: Vec<sql::StagedRows>,
    /// Stages of which no file is named to who asks; known once the rules are chosen.
    pub ruled_stages: Vec<String>,
    /// What it changes of the files that are known of an external table.
    pub external: Option<sql::ExternalChange>,
    /// Tables of attached databases that it reads; known once it is generated.
    pub attached: Vec<sql::AttachedRead>,
    /// What is told of attached databases that it lists as they were.
    pub outdated: Vec<String>,
    /// What it leaves of the history of loads, as the engine is told in its transaction.
    pub history: Vec<String>,
    /// Row filters that hide all of a table from who asks; known once the rules are chosen.
    pub lacks: Vec<MissingAttribute>,
    /// Files of a stage that it removes once it has run.
    pub removes: Option<FileRemoval>,
    /// What the policies have judged it by, where its plan may be kept.
    pub judged: Option<Arc<JudgedNames>>,
}

/// The names of a statement that the policies have judged, and what it does: they are asked again with these.
#[derive(Debug)]
pub(in crate::pipeline) struct JudgedNames {
    /// By the caller's own words.
    pub named: Vec<String>,
    /// These, and where the session would find them.
    pub meant: Vec<String>,
    pub operations: Vec<Operation>,
}

impl JudgedNames {
    /// Those of a query, or of a change of rows; no other text has a plan that lasts.
    pub(super) fn of(
        resolved: &sql::Resolved,
        named: &[String],
        meant: Vec<String>,
        operations: &[Operation],
    ) -> Option<Arc<Self>> {
        use sql::StatementKind as Of;
        let is_of_rows = matches!(resolved.kind(), Of::Select | Of::Insert | Of::Update | Of::Delete | Of::Merge);
        is_of_rows.then(|| Arc::new(Self { named: named.to_vec(), meant, operations: operations.to_vec() }))
    }
}

/// A row filter that is false because who asks has no value for a name in it. How many rows that hides is not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pipeline) struct MissingAttribute {
    pub table: String,
    pub attribute: String,
}

impl fmt::Display for MissingAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, attribute } = self;
        write!(f, "no rows of {table} for you: a rule needs `{attribute}`, and you have none")
    }
}

impl StatementInfo {
    /// A statement as its text tells it, before its names are bound.
    pub(in crate::pipeline) fn new(command: Command, operation: Operation, writes: bool, tables: Vec<String>) -> Self {
        Self {
            command,
            operation,
            writes,
            tables,
            written: Vec::new(),
            marks: Vec::new(),
            away: None,
            rows_max: None,
            drops_at_commit: false,
            branch: None,
            seen: None,
            staged: Vec::new(),
            ruled_stages: Vec::new(),
            external: None,
            attached: Vec::new(),
            outdated: Vec::new(),
            history: Vec::new(),
            lacks: Vec::new(),
            removes: None,
            judged: None,
        }
    }

    /// Whether it makes, changes or drops a table, or what is written down with one.
    pub fn defines(&self) -> bool {
        !self.marks.is_empty() || matches!(self.operation, Operation::Create | Operation::Alter | Operation::Drop)
    }

    /// Whether rows from elsewhere are brought into its transaction before it runs.
    pub fn takes_in(&self) -> bool {
        !self.staged.is_empty() || !self.attached.is_empty() || self.external.is_some()
    }

    /// Nothing is made, changed or dropped in the schema of an attached database, nor renamed to be there.
    pub(super) fn leaves_attached(&self, renamed_to: Option<&str>) -> Result<()> {
        let seen = self.judged_by()?;
        let mut written = self.written.iter().map(|(path, _)| path.as_str()).chain(renamed_to);
        let is_its = |path: &str| path.split_once('.').is_some_and(|(schema, _)| seen.is_attached(schema));
        if written.any(is_its) {
            let what = "making or changing something in the schema of an attached database".to_owned();
            return Err(Error::Unsupported { what });
        }
        Ok(())
    }

    pub(in crate::pipeline) fn judged_by(&self) -> Result<&CatalogSnapshot> {
        self.seen.as_ref().ok_or_else(|| Error::Unverified { why: "it was not judged by any tables".to_owned() })
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
    let (command, operation) = (command(statement.kind()), main_operation(&statement));
    let about = StatementInfo::new(command, operation, statement.is_write(), named(&statement));
    let mut facts = t.facts();
    facts.redacted = Some(statement.redacted());
    facts.operation = Some(about.operation);
    facts.tables.clone_from(&about.tables);
    drop(facts);
    Ok(Extracted { statement, about })
}

/// Tells of a text what was found in it before, which is to be judged by these tables.
pub(super) fn extract_kept(
    found: StatementInfo,
    redacted: Option<String>,
    seen: CatalogSnapshot,
    t: &Trail,
) -> StatementInfo {
    let mut facts = t.facts();
    facts.redacted = redacted;
    facts.operation = Some(found.operation);
    facts.tables = found.judged.as_ref().map(|judged| judged.named.clone()).unwrap_or_default();
    drop(facts);
    StatementInfo { seen: Some(seen), ..found }
}

/// What is known of a statement that has run before, and is not run again.
pub(in crate::pipeline) fn about(text: &str, variables: &sql::Variables, t: &Trail) -> Result<StatementInfo> {
    extract(text, variables, t).map(|extracted| extracted.about)
}

/// The tables that a statement names, by its own words.
pub(super) fn named(statement: &sql::Statement) -> Vec<String> {
    statement.tables().iter().map(path).collect()
}

fn path(table: &sql::TableUse) -> String {
    format!("{}.{}", table.schema.as_deref().unwrap_or("main"), table.name)
}

/// What a bound statement writes to; of a schema that is dropped, everything in it too.
pub(super) fn written(resolved: &sql::Resolved, known: &sql::Catalog) -> Vec<(String, Operation)> {
    let drops_schema = *resolved.kind() == sql::StatementKind::DropSchema;
    let within = |schema: &str| {
        let is_of = |other: &str| other.eq_ignore_ascii_case(schema);
        let tables = known.tables().filter(|table| is_of(&table.schema)).map(|table| table.path());
        let others = known.definitions().into_iter().filter(|other| is_of(&other.schema)).map(|other| other.path());
        let mut paths: Vec<String> = tables.chain(others).collect();
        paths.sort_unstable();
        paths
    };
    let paths = |path: &String| {
        let mut all = path.strip_suffix(".*").filter(|_| drops_schema).map(within).unwrap_or_default();
        all.push(path.clone());
        all
    };
    let each = resolved.written().iter();
    each.flat_map(|(path, done)| paths(path).into_iter().map(|path| (path, *done))).collect()
}

/// What a bound statement leaves of the history of loads: nothing of a table that is emptied, dropped or replaced. A
/// branch has none: what is loaded there would be loaded again where it is merged.
pub(super) fn history(about: &StatementInfo, resolved: &sql::Resolved) -> Result<Vec<String>> {
    use sql::StatementKind;
    if about.branch.is_some() && about.staged.iter().any(|rows| rows.load.is_some()) {
        let what = "COPY INTO on a branch, where INSERT INTO … SELECT from the stage loads a file,".to_owned();
        return Err(Error::Unsupported { what });
    }
    let named = |path: &String| about.branch.as_ref().map_or_else(|| path.clone(), |branch| branch.names(path));
    let kind = resolved.kind();
    let ends = |done: Operation| match kind {
        StatementKind::Truncate => true,
        StatementKind::DropTable
        | StatementKind::DropSchema
        | StatementKind::CreateTable
        | StatementKind::CreateTableAs => done == Operation::Drop,
        _ => false,
    };
    let ended = about.written.iter().filter(|(path, done)| ends(*done) && !is_temporary(path));
    let ended: Vec<String> = ended.map(|(path, _)| named(path)).collect();
    let mut history = load_history::forgotten(ended.iter().map(String::as_str));
    if *kind == StatementKind::AlterTable
        && let (Some(new), Some((old, _))) = (resolved.renamed_to(), about.written.first())
    {
        history.extend(load_history::renamed(old, &new));
    }
    if *kind == StatementKind::DropSchema
        && let Some(seen) = &about.seen
    {
        let dropped = about.written.iter().filter_map(|(path, _)| path.split_once('.'));
        let external = dropped.filter_map(|(schema, name)| seen.known.get(schema, name)?.external.as_ref());
        history.extend(external.map(|kept| external_files::forgotten(&kept.id)));
    }
    Ok(history)
}

/// Whether the path is that of a table of one connection, or of a client's transaction.
pub(in crate::pipeline) fn is_temporary(path: &str) -> bool {
    path.split_once('.').is_some_and(|(schema, _)| schema == sql::ast::names::TEMPORARY_SCHEMA)
}

/// By the kind of statement; a SELECT that writes anywhere in its tree counts as that write.
fn main_operation(statement: &sql::Statement) -> Operation {
    use sql::StatementKind;
    match statement.kind() {
        StatementKind::Insert => Operation::Insert,
        StatementKind::Update => Operation::Update,
        StatementKind::Delete | StatementKind::Truncate => Operation::Delete,
        StatementKind::Merge => Operation::Merge,
        StatementKind::CreateTable
        | StatementKind::CreateTableAs
        | StatementKind::CreateSchema
        | StatementKind::CreateView
        | StatementKind::CreateFunction
        | StatementKind::CreateSequence => Operation::Create,
        StatementKind::Staged { done, .. } => *done,
        StatementKind::ExternalTable(command) => command.operation(),
        StatementKind::AlterTable | StatementKind::Comment => Operation::Alter,
        StatementKind::DropTable
        | StatementKind::DropSchema
        | StatementKind::DropView
        | StatementKind::DropFunction
        | StatementKind::DropSequence => Operation::Drop,
        _ => {
            let mut found = statement.operations().iter().copied();
            found.find(|found| *found != Operation::Select).unwrap_or(Operation::Select)
        }
    }
}

fn command(kind: &sql::StatementKind) -> Command {
    use sql::StatementKind;
    match kind {
        StatementKind::Insert => Command::Insert,
        StatementKind::Update => Command::Update,
        StatementKind::Delete => Command::Delete,
        StatementKind::Merge => Command::Merge,
        StatementKind::Truncate => Command::Other("TRUNCATE TABLE"),
        StatementKind::CreateTable => Command::Other("CREATE TABLE"),
        StatementKind::CreateTableAs => Command::CreateTableAs,
        StatementKind::CreateSchema => Command::Other("CREATE SCHEMA"),
        StatementKind::AlterTable => Command::Other("ALTER TABLE"),
        StatementKind::Comment => Command::Other("COMMENT"),
        StatementKind::DropTable => Command::Other("DROP TABLE"),
        StatementKind::DropSchema => Command::Other("DROP SCHEMA"),
        StatementKind::CreateView => Command::Other("CREATE VIEW"),
        StatementKind::CreateFunction => Command::Other("CREATE FUNCTION"),
        StatementKind::CreateSequence => Command::Other("CREATE SEQUENCE"),
        StatementKind::Staged { on, done } => staged(*on, *done),
        StatementKind::ExternalTable(command) => external(command),
        StatementKind::DropView => Command::Other("DROP VIEW"),
        StatementKind::DropFunction => Command::Other("DROP FUNCTION"),
        StatementKind::DropSequence => Command::Other("DROP SEQUENCE"),
        _ => Command::Select,
    }
}

/// The tag of what is done with a stage or a file format.
fn staged(on: DefinitionKind, done: Operation) -> Command {
    let is_stage = on == DefinitionKind::Stage;
    match done {
        Operation::Create => Command::Other(if is_stage { "CREATE STAGE" } else { "CREATE FILE FORMAT" }),
        Operation::Alter => Command::Other(if is_stage { "ALTER STAGE" } else { "ALTER FILE FORMAT" }),
        Operation::Drop => Command::Other(if is_stage { "DROP STAGE" } else { "DROP FILE FORMAT" }),
        _ => Command::Select,
    }
}

fn external(command: &sql::ExternalCommand) -> Command {
    match command {
        sql::ExternalCommand::Create(_) => Command::Other("CREATE EXTERNAL TABLE"),
        sql::ExternalCommand::Refresh { .. } | sql::ExternalCommand::List { .. } => {
            Command::Other("ALTER EXTERNAL TABLE")
        }
        sql::ExternalCommand::Drop => Command::Other("DROP EXTERNAL TABLE"),
        sql::ExternalCommand::Show => Command::Select,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(text: &str) -> StatementInfo {
        extract(text, &sql::Variables::default(), &Trail::default()).unwrap().about
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
        let trail = Trail::default();
        let none = sql::Variables::default();
        extract("select 'secret' from t where x = 42", &none, &trail).unwrap();
        let redacted = trail.facts().redacted.clone().unwrap();
        assert!(!redacted.contains("secret") && !redacted.contains("42"), "{redacted}");
        assert!(extract("selec 'secret'", &none, &trail).is_err());
        assert!(trail.facts().redacted.clone().unwrap().starts_with("<unparsed sha256:"));
    }
}
