//! The options and files of a COPY INTO, kept for VALIDATE as long as the history of loads.

use std::time::Instant;

use contract::Timestamp;
use engine::{Session, Value};
use serde::Deserialize;
use sql::ast::quote;
use sql::{PastFile, PastLoad};

use super::{known, since};
use crate::Error;
use crate::storage::system_tables::{in_batches, read, text};

const KEPT: &str = "select to_json({asked_by: asked_by, table_name: table_name, stage_id: stage_id, said: said, \
                    path: path, bytes: bytes, md5: md5}) from raw._svc_loads.asked \
                    where query_id = $1 and at_micros > $2 order by path";

/// Rows that are kept of the loads of one table, before those of the next one.
const ROWS_MAX: usize = 20_000;
/// As many are left of them once there are more: loads of one table at the same time seldom forget the same rows.
const ROWS_LEFT: usize = ROWS_MAX / 2;

/// A row of the table: the load itself has no path.
#[derive(Deserialize)]
struct KeptRow {
    asked_by: String,
    table_name: String,
    stage_id: String,
    said: Option<String>,
    path: String,
    bytes: u64,
    md5: String,
}

/// A COPY INTO, and who asked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptLoad {
    pub query_id: String,
    /// The id of the own stage of whoever asked it, which tells a user from others; empty of nobody.
    pub asked_by: String,
    pub load: PastLoad,
}

impl KeptLoad {
    /// The load of this id, as a session sees it.
    pub async fn of(
        session: &mut Session,
        deadline: Instant,
        query_id: &str,
        now: Timestamp,
    ) -> Result<Option<Self>, Error> {
        let params = vec![text(query_id), Value::BigInt(since(now))];
        let found: Vec<KeptRow> = in_batches(&read(session, deadline, (KEPT.to_owned(), params)).await?)?;
        let mut rows = found.into_iter();
        let Some(first) = rows.next().filter(|first| first.path.is_empty()) else { return Ok(None) };
        let files = rows.map(|KeptRow { path, bytes, md5, .. }| PastFile { path, bytes, md5 }).collect();
        let KeptRow { asked_by, table_name: table, stage_id, said, .. } = first;
        Ok(Some(Self { query_id: query_id.to_owned(), asked_by, load: PastLoad { table, stage_id, said, files } }))
    }

    /// Writes it down, and forgets what is too old, or too much: then the newest loads are left.
    pub fn written(&self, now: Timestamp) -> [String; 2] {
        let PastLoad { table, stage_id, said, files } = &self.load;
        let table = quote::text(&known(table));
        let [query_id, asked_by, stage_id] = [&self.query_id, &self.asked_by, stage_id].map(|told| quote::text(told));
        let said = said.as_deref().map_or_else(|| "null".to_owned(), quote::text);
        let at = now.timestamp_micros();
        let row = |said: &str, path: &str, bytes: u64, md5: &str| {
            let (path, md5) = (quote::text(path), quote::text(md5));
            format!("({query_id}, {asked_by}, {table}, {stage_id}, {said}, {path}, {bytes}, {md5}, {at})")
        };
        let of_files = files.iter().map(|file| row("null", &file.path, file.bytes, &file.md5));
        let rows: Vec<String> = std::iter::once(row(&said, "", 0, "")).chain(of_files).collect();
        let since = since(now);
        [
            format!(
                "delete from raw._svc_loads.asked where table_name = {table} and (at_micros <= {since} or query_id in \
                 (select query_id from (select query_id, sum(count(*)) over () as whole, \
                 sum(count(*)) over (order by max(at_micros) desc, query_id desc) as kept \
                 from raw._svc_loads.asked where table_name = {table} group by query_id) as loads \
                 where whole > {ROWS_MAX} and kept > {ROWS_LEFT}))"
            ),
            format!("insert into raw._svc_loads.asked values {}", rows.join(", ")),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_written_down_with_its_files() {
        let file = PastFile { path: "a'b.csv".to_owned(), bytes: 3, md5: "x".to_owned() };
        let (table, stage_id, said) = ("main.T".to_owned(), "q1".to_owned(), Some(" FROM '@s'".to_owned()));
        let load = PastLoad { table, stage_id, said, files: vec![file] };
        let kept = KeptLoad { query_id: "q7".to_owned(), asked_by: "own-1".to_owned(), load };
        let [forget, keep] = kept.written(chrono::DateTime::from_timestamp_micros(0).unwrap());
        let old = "where table_name = 'main.t' and (at_micros <= -5529600000000 or query_id in (select";
        assert!(forget.contains(old) && forget.ends_with("where whole > 20000 and kept > 10000))"), "{forget}");
        let rows = "values ('q7', 'own-1', 'main.t', 'q1', ' FROM ''@s''', '', 0, '', 0), \
                    ('q7', 'own-1', 'main.t', 'q1', null, 'a''b.csv', 3, 'x', 0)";
        assert!(keep.ends_with(rows), "{keep}");
    }
}
