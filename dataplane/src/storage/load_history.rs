//! The history of loads by COPY INTO, by table: a file that is as it was then is not loaded again, for 64 days.
//!
//! With it is kept what each load was asked, for VALIDATE.
//! It is written in the transaction of the load, and forgotten with the table's rows. A table is known by its name in lower
//! case, so what drops, replaces, empties or renames it says so here.

mod kept_load;

use std::collections::HashMap;
use std::time::Instant;

use chrono::Duration;
use contract::Timestamp;
use engine::{Session, Value};
use serde::Deserialize;
use sql::ast::quote;

use super::stage_files::StageFile;
use super::system_tables::{in_batches, read, text};
use crate::Error;

pub use kept_load::KeptLoad;

/// The tables that it is in: each has the names of tables.
const TABLES: [&str; 2] = ["files", "asked"];

const KEPT: Duration = Duration::days(64);

const LOADED: &str = "select to_json({path: path, bytes: bytes, md5: md5}) from raw._svc_loads.files \
                      where table_name = $1 and stage_id = $2 and at_micros > $3";

#[derive(Deserialize)]
struct LoadRecord {
    path: String,
    bytes: u64,
    md5: String,
}

/// The files of one stage that were loaded into one table.
#[derive(Debug, Default)]
pub struct LoadHistory(HashMap<String, (u64, String)>);

impl LoadHistory {
    /// As a session sees it.
    pub async fn of(
        session: &mut Session,
        deadline: Instant,
        (table, stage_id): (&str, &str),
        now: Timestamp,
    ) -> Result<Self, Error> {
        let params = vec![text(&known(table)), text(stage_id), Value::BigInt(since(now))];
        let found: Vec<LoadRecord> = in_batches(&read(session, deadline, (LOADED.to_owned(), params)).await?)?;
        Ok(Self(found.into_iter().map(|LoadRecord { path, bytes, md5 }| (path, (bytes, md5))).collect()))
    }

    /// Whether the file was loaded as it is.
    pub fn has(&self, file: &StageFile) -> bool {
        self.0.get(&file.path).is_some_and(|(bytes, md5)| *bytes == file.bytes && *md5 == file.md5)
    }
}

/// Writes down that these files are loaded, and forgets what is too old.
pub fn loaded<'f>(
    (table, stage_id): (&str, &str),
    files: impl Iterator<Item = &'f StageFile>,
    now: Timestamp,
) -> Vec<String> {
    let table = quote::text(&known(table));
    let stage_id = quote::text(stage_id);
    let at = now.timestamp_micros();
    let row = |file: &StageFile| {
        let (path, md5) = (quote::text(&file.path), quote::text(&file.md5));
        format!("({table}, {stage_id}, {path}, {}, {md5}, {at})", file.bytes)
    };
    let rows: Vec<String> = files.map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let since = since(now);
    vec![
        format!("delete from raw._svc_loads.files where table_name = {table} and at_micros <= {since}"),
        format!("insert or replace into raw._svc_loads.files values {}", rows.join(", ")),
    ]
}

/// Forgets all that was loaded into these tables.
pub fn forgotten<'t>(tables: impl Iterator<Item = &'t str>) -> Vec<String> {
    let tables: Vec<String> = tables.map(|table| quote::text(&known(table))).collect();
    if tables.is_empty() {
        return Vec::new();
    }
    let tables = tables.join(", ");
    TABLES.map(|kept| format!("delete from raw._svc_loads.{kept} where table_name in ({tables})")).to_vec()
}

/// A table has another name.
pub fn renamed(old: &str, new: &str) -> [String; 2] {
    let (old, new) = (quote::text(&known(old)), quote::text(&known(new)));
    TABLES.map(|kept| format!("update raw._svc_loads.{kept} set table_name = {new} where table_name = {old}"))
}

fn known(table: &str) -> String {
    table.to_lowercase()
}

fn since(now: Timestamp) -> i64 {
    (now - KEPT).timestamp_micros()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_is_written_down_holds_no_text_of_its_own() {
        let now = chrono::DateTime::from_timestamp_micros(0).unwrap();
        let (path, md5, modified) = ("a'b.csv".to_owned(), "x".to_owned(), SystemTime::UNIX_EPOCH);
        let file = StageFile { path, bytes: 3, md5, modified, inode: 1 };
        let [forget, keep]: [String; 2] = loaded(("main.T", "q1"), std::iter::once(&file), now).try_into().unwrap();
        assert!(forget.contains("table_name = 'main.t' and at_micros <= -5529600000000"), "{forget}");
        assert!(keep.ends_with("values ('main.t', 'q1', 'a''b.csv', 3, 'x', 0)"), "{keep}");
        assert_eq!(loaded(("main.t", "q1"), std::iter::empty(), now), Vec::<String>::new());
        for told in forgotten(["main.a", "main.B"].into_iter()) {
            assert!(told.ends_with("in ('main.a', 'main.b')"), "{told}");
        }
        assert_eq!(forgotten(std::iter::empty()), Vec::<String>::new());
        for told in renamed("main.a", "main.b") {
            assert!(told.ends_with("set table_name = 'main.b' where table_name = 'main.a'"), "{told}");
        }
    }
}
