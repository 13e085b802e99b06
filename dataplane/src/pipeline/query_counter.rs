//! The queries that agents have run in this hour, by grant: "`max_queries_per_hour` integer".
//!
//! An hour is the clock's. Counted before a statement runs, and kept in the state folder, so that a
//! data plane that is restarted or killed gives no agent its hour anew. Only the machine's own end
//! can take back the last moments.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use contract::capability::hour_of;
use contract::{GrantId, Timestamp};
use serde::{Deserialize, Serialize};

use super::Result;
use crate::Error;

#[derive(Debug)]
pub struct QueryCounter {
    file: Option<PathBuf>,
    counted: Mutex<Counted>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Counted {
    hour: Timestamp,
    queries: BTreeMap<GrantId, u64>,
}

impl QueryCounter {
    /// As the state folder has it.
    pub fn open(state: &Path) -> io::Result<Self> {
        let file = state.join("capabilities.json");
        let counted = match std::fs::read(&file) {
            Ok(kept) => serde_json::from_slice(&kept).unwrap_or_else(|error| {
                tracing::error!(%error, "the queries of agents in this hour cannot be read: they count anew");
                Counted::default()
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Counted::default(),
            Err(error) => return Err(error),
        };
        Ok(Self { file: Some(file), counted: Mutex::new(counted) })
    }

    /// Counts in memory alone.
    pub fn unkept() -> Self {
        Self { file: None, counted: Mutex::default() }
    }

    /// Counts one more query of the grant; false if `max` have run in this hour already.
    pub fn count(&self, grant_id: &GrantId, max: Option<u64>, now: Timestamp) -> Result<bool> {
        let Some(max) = max else { return Ok(true) };
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back does not give an hour anew.
        if hour_of(now) > counted.hour {
            *counted = Counted { hour: hour_of(now), queries: BTreeMap::new() };
        }
        let before = counted.queries.get(grant_id).copied().unwrap_or_default();
        if before >= max {
            return Ok(false);
        }
        counted.queries.insert(grant_id.clone(), before.saturating_add(1));
        self.keep(&counted).map_err(|error| {
            tracing::error!(%error, "the queries of agents cannot be counted");
            Error::Unrecorded
        })?;
        Ok(true)
    }

    /// Readers see the old content or the new.
    fn keep(&self, counted: &Counted) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let beside = file.with_extension("new");
        std::fs::write(&beside, serde_json::to_vec(counted)?)?;
        std::fs::rename(&beside, file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        chrono::DateTime::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn an_hours_queries_are_counted_by_grant_and_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let count = |query_counter: &QueryCounter, grant: &str, seconds| {
            query_counter.count(&grant.into(), Some(2), at(seconds)).unwrap()
        };
        let query_counter = QueryCounter::open(folder.path()).unwrap();
        assert!(count(&query_counter, "a", 7_200) && count(&query_counter, "b", 7_201));
        let again = QueryCounter::open(folder.path()).unwrap();
        assert!(count(&again, "a", 10_799));
        assert!(!count(&again, "a", 10_799) && count(&again, "b", 10_799));
        assert!(!count(&again, "a", 3_600), "the clock was set back");
        assert!(count(&again, "a", 10_800), "another hour");
    }

    #[test]
    fn what_is_not_limited_is_not_counted() {
        let query_counter = QueryCounter::unkept();
        assert!((0..10).all(|_| query_counter.count(&"a".into(), None, at(0)).unwrap()));
        assert!(query_counter.counted.lock().unwrap().queries.is_empty());
    }
}
