//! The own stage of a user, `@~`, and that of a table, `@%table`: they are there without a statement that makes them.
//!
//! A table keeps the id of its stage with its comment. So the files follow the table when it is renamed, and a table that
//! is made in its place has none of them.

use std::sync::Arc;

use crate::ast::error::{Error, ErrorKind};
use crate::ast::names::{MAIN_SCHEMA, STAGE_SIGN, TableName};
use crate::catalog::definition::{Definition, DefinitionKind};
use crate::catalog::file_format::{FileType, FormatOptions};
use crate::catalog::stage::{Stage, StageFormat};
use crate::catalog::tables::{Catalog, SessionNames};

/// What stands behind the `@` for the stage of whoever asks.
pub(crate) const USER: &str = "~";
/// What stands behind the `@` before the name of a table.
pub(crate) const TABLE_SIGN: &str = "%";
/// The id of a table's stage that nothing was put into yet. No folder has it.
pub const UNUSED_STAGE: &str = "own-unused";

/// Whether it is the name of an own stage, without the `@`.
pub(crate) fn is_own(called: &str) -> bool {
    called == USER || called.starts_with(TABLE_SIGN)
}

/// A file as LIST tells it: those of an own stage by their path alone, as documented.
pub(crate) fn listed(called: &str, path: &str) -> String {
    if called.is_empty() || is_own(called) { path.to_owned() } else { format!("{}/{path}", called.to_lowercase()) }
}

/// The text before the `%` of a table's stage and the text behind it, as `schema.` and `table`.
pub(crate) fn parts(text: &str) -> Option<(String, &str)> {
    if let Some(table) = text.strip_prefix(TABLE_SIGN) {
        return Some((String::new(), table));
    }
    text.split_once(".%").map(|(schema, table)| (format!("{schema}."), table))
}

/// `schema.table` of the table whose own stage has this path, which is `schema.@%table`.
pub fn table_of_stage(path: &str) -> Option<String> {
    let (schema, name) = path.split_once('.')?;
    let table = name.strip_prefix(STAGE_SIGN)?.strip_prefix(TABLE_SIGN)?;
    Some(format!("{schema}.{table}"))
}

/// The same paths, and those of the tables whose own stages are among them: the files there are rows of the tables.
#[must_use]
pub fn with_tables_of_stages(mut paths: Vec<String>) -> Vec<String> {
    let tables: Vec<String> = paths.iter().filter_map(|path| table_of_stage(path)).collect();
    for table in tables {
        if !paths.contains(&table) {
            paths.push(table);
        }
    }
    paths
}

impl Catalog {
    /// The own stage that a name means in this session; none of the name of another stage.
    pub(crate) fn own_stage(
        &self,
        written: &TableName,
        session: &SessionNames,
    ) -> Result<Option<Arc<Definition>>, Error> {
        let called = written.name.strip_prefix(STAGE_SIGN).unwrap_or_default();
        if called == USER {
            let id = session.user_stage.as_deref();
            let id = id.ok_or_else(|| Error::unsupported("the own stage of a user where nobody asks"))?;
            return Ok(Some(made(MAIN_SCHEMA, USER, id)));
        }
        let Some(name) = called.strip_prefix(TABLE_SIGN) else { return Ok(None) };
        let table = self.find(&TableName { name: name.to_owned(), ..written.clone() }, session)?;
        if table.is_external() {
            return Err(Error::unsupported("the own stage of an external table"));
        }
        let is_copy = table.stored_schema() != table.schema;
        if table.temporary || is_copy {
            let construct = "the own stage of a table that is temporary or on a branch".to_owned();
            let message = format!("{construct} is not supported: make a stage, or put the files into @~");
            return Err(Error::new(ErrorKind::Unsupported { construct }, message));
        }
        let id = table.own_stage.as_deref().unwrap_or(UNUSED_STAGE);
        Ok(Some(made(&table.schema, &format!("{TABLE_SIGN}{}", table.name), id)))
    }
}

/// A stage as one that a statement has made.
fn made(schema: &str, called: &str, id: &str) -> Arc<Definition> {
    let format = StageFormat::Own(FormatOptions::new(FileType::Csv));
    let stage = Stage { id: id.to_owned(), format, location: None };
    Arc::new(Definition {
        kind: DefinitionKind::Stage,
        schema: schema.to_owned(),
        name: format!("{STAGE_SIGN}{called}"),
        columns: Vec::new(),
        text: format!("CREATE STAGE own {}", stage.written()),
        home: schema.to_owned(),
        comment: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::names::TEMPORARY_SCHEMA;
    use crate::catalog::comment::Comment;
    use crate::catalog::table::{Column, Table};

    fn catalog() -> Catalog {
        let table = |name: &str| Table::new("main", name, vec![Column::new("id", "INTEGER")]);
        let kept = Comment { own_stage: Some("own-1".to_owned()), ..Comment::default() };
        let temporary = Table::new(TEMPORARY_SCHEMA, "passing", Vec::new()).temporary();
        let copy = table("copied").stored_in("_svc_branch_1");
        Catalog::new([table("Kept").with_comment(kept), table("fresh"), temporary, copy])
    }

    fn named(schema: Option<&str>, name: &str) -> TableName {
        TableName { database: None, schema: schema.map(str::to_owned), name: name.to_owned() }
    }

    #[test]
    fn an_own_stage_is_the_callers_or_its_tables() {
        let (catalog, mut session) = (catalog(), SessionNames::new("demo"));
        assert!(catalog.own_stage(&named(None, "@~"), &session).is_err(), "nobody asks");
        session.user_stage = Some("own-u".to_owned());
        for (name, id, path) in [
            (named(None, "@~"), "own-u", "main.@~"),
            (named(None, "@%kept"), "own-1", "main.@%Kept"),
            (named(Some("main"), "@%KEPT"), "own-1", "main.@%Kept"),
            (named(Some("demo"), "@%kept"), "own-1", "main.@%Kept"),
            (named(None, "@%fresh"), UNUSED_STAGE, "main.@%fresh"),
        ] {
            let found = catalog.own_stage(&name, &session).unwrap().unwrap();
            assert_eq!((found.stage().unwrap().id.as_str(), found.path().as_str()), (id, path), "{name:?}");
        }
        for (schema, name) in
            [(None, "@%none"), (None, "@%copied"), (Some(TEMPORARY_SCHEMA), "@%passing"), (Some("other"), "@%kept")]
        {
            assert!(catalog.own_stage(&named(schema, name), &session).is_err(), "{name}");
        }
        assert_eq!(catalog.own_stage(&named(None, "@kept"), &session).unwrap(), None);
    }

    #[test]
    fn the_path_of_a_tables_stage_tells_the_table() {
        assert_eq!(table_of_stage("main.@%t").as_deref(), Some("main.t"));
        for other in ["main.@t", "main.@~", "main.%t", "main.t", "@%t"] {
            assert_eq!(table_of_stage(other), None, "{other}");
        }
        let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        let (of_one, of_both) = (paths(&["main.@%t", "main.u"]), paths(&["main.@%t", "main.u", "main.t"]));
        assert_eq!(with_tables_of_stages(of_one), of_both);
        assert_eq!(with_tables_of_stages(of_both.clone()), of_both);
        for (called, path, told) in [("~", "a/b", "a/b"), ("%T", "a", "a"), ("Files", "a", "files/a")] {
            assert_eq!(listed(called, path), told);
        }
        for (text, schema, table) in [("%t", "", "t"), ("s.%t", "s.", "t"), ("d.s.%\"T\"", "d.s.", "\"T\"")] {
            assert_eq!(parts(text), Some((schema.to_owned(), table)), "{text}");
        }
        assert_eq!(parts("files"), None);
    }
}
