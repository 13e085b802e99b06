//! The files that external tables have: those of the last refresh, each as it was then.
//!
//! They are written in the transaction of the statement that makes the table or looks for its files. A table is known by
//! the id of the statement that made it, so another of its name has other files. A row without a path says that it is
//! there.

use std::collections::HashMap;
use std::time::Instant;

use engine::Session;
use serde::Deserialize;
use sql::ast::quote;

use super::stage_files::StageFile;
use super::system_tables::{in_batches, read, text};
use crate::Error;

const KNOWN: &str = "select to_json({path: path, bytes: bytes, md5: md5}) from raw._svc_loads.external_files \
                     where table_id = $1";

#[derive(Debug, Deserialize)]
struct ExternalFile {
    path: String,
    bytes: u64,
    md5: String,
}

/// The files of one external table.
#[derive(Debug)]
pub struct KnownFiles(Vec<ExternalFile>);

impl KnownFiles {
    /// As a session sees them; none of a table that is not there.
    pub async fn of(session: &mut Session, deadline: Instant, table_id: &str) -> Result<Option<Self>, Error> {
        let step = (KNOWN.to_owned(), vec![text(table_id)]);
        let mut found: Vec<ExternalFile> = in_batches(&read(session, deadline, step).await?)?;
        let rows = found.len();
        found.retain(|file| !file.path.is_empty());
        Ok((found.len() < rows).then_some(Self(found)))
    }

    /// The same files as the stage has them now, sorted by path; none where one has changed or is gone.
    pub fn unchanged(&self, listed: Vec<StageFile>) -> Option<Vec<StageFile>> {
        let mut listed: HashMap<String, StageFile> = listed.into_iter().map(|file| (file.path.clone(), file)).collect();
        let same = |known: &ExternalFile| {
            listed.remove(&known.path).filter(|file| file.bytes == known.bytes && file.md5 == known.md5)
        };
        let mut files: Vec<StageFile> = self.0.iter().map(same).collect::<Option<_>>()?;
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Some(files)
    }
}

/// Writes down that a table is there, with these files.
pub fn made(table_id: &str, files: &[StageFile]) -> Vec<String> {
    let table = quote::text(table_id);
    let there = format!("insert or replace into raw._svc_loads.external_files values ({table}, '', 0, '')");
    std::iter::once(there).chain(inserted(&table, files)).collect()
}

/// Has a table have these of the files whose paths begin so.
pub fn refreshed(table_id: &str, prefix: &str, files: &[StageFile]) -> Vec<String> {
    let (table, prefix) = (quote::text(table_id), quote::text(prefix));
    // a row that stays is replaced where it is: one that is gone may not come back in the same transaction
    let stay: Vec<String> = files.iter().map(|file| quote::text(&file.path)).chain(["''".to_owned()]).collect();
    let forgotten = format!(
        "delete from raw._svc_loads.external_files where table_id = {table} and starts_with(path, {prefix}) \
         and path not in ({})",
        stay.join(", ")
    );
    std::iter::once(forgotten).chain(inserted(&table, files)).collect()
}

/// Has a table have these files too.
pub fn added(table_id: &str, files: &[StageFile]) -> Vec<String> {
    inserted(&quote::text(table_id), files).into_iter().collect()
}

/// Has a table have none of the files of these paths.
pub fn removed(table_id: &str, paths: &[String]) -> String {
    let (table, paths) = (quote::text(table_id), paths.iter().map(|path| quote::text(path)).collect::<Vec<_>>());
    let paths = paths.join(", ");
    format!("delete from raw._svc_loads.external_files where table_id = {table} and path in ({paths})")
}

/// Forgets a table.
pub fn forgotten(table_id: &str) -> String {
    format!("delete from raw._svc_loads.external_files where table_id = {}", quote::text(table_id))
}

fn inserted(table: &str, files: &[StageFile]) -> Option<String> {
    let row = |file: &StageFile| {
        format!("({table}, {}, {}, {})", quote::text(&file.path), file.bytes, quote::text(&file.md5))
    };
    let rows: Vec<String> = files.iter().map(row).collect();
    (!rows.is_empty())
        .then(|| format!("insert or replace into raw._svc_loads.external_files values {}", rows.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn file(path: &str, bytes: u64, md5: &str) -> StageFile {
        let (path, md5) = (path.to_owned(), md5.to_owned());
        StageFile { path, bytes, md5, modified: SystemTime::UNIX_EPOCH, inode: 1 }
    }

    #[test]
    fn files_are_those_of_the_last_refresh_or_none() {
        let known = |path: &str| ExternalFile { path: path.to_owned(), bytes: 3, md5: "x".to_owned() };
        let files = KnownFiles(vec![known("b"), known("a")]);
        let (a, b) = (file("a", 3, "x"), file("b", 3, "x"));
        let unchanged = files.unchanged(vec![b.clone(), file("new", 9, "y"), a.clone()]);
        assert_eq!(unchanged, Some(vec![a.clone(), b]));
        for listed in [vec![a.clone()], vec![a.clone(), file("b", 4, "x")], vec![a, file("b", 3, "y")]] {
            assert_eq!(files.unchanged(listed), None);
        }
    }

    #[test]
    fn what_is_written_down_holds_no_text_of_its_own() {
        let [there, files]: [String; 2] = made("q'1", &[file("a'b.csv", 3, "x")]).try_into().unwrap();
        assert!(there.ends_with("values ('q''1', '', 0, '')"), "{there}");
        assert!(files.ends_with("values ('q''1', 'a''b.csv', 3, 'x')"), "{files}");
        let [forgotten]: [String; 1] = refreshed("q1", "it's/", &[]).try_into().unwrap();
        assert!(forgotten.ends_with("starts_with(path, 'it''s/') and path not in ('')"), "{forgotten}");
        let removed = removed("q1", &["it's".to_owned(), "b".to_owned()]);
        assert!(removed.ends_with("where table_id = 'q1' and path in ('it''s', 'b')"), "{removed}");
        assert_eq!(added("q1", &[]), Vec::<String>::new());
    }
}
