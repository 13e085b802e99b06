//! Statements of ours that a session runs again and again: to prepare one takes longer than to run it.

use std::hash::{BuildHasher, RandomState};

use super::parsed;
use crate::error::{Error, Kind};
use crate::ffi::{Connection, NarrowNumber, Prepared};
use crate::message::{Change, Done, Parsed};
use crate::store::Native;
use crate::value::Value;

/// Those of one connection, each prepared where it is run first. One that has failed is not kept.
pub struct OwnStatements<'c> {
    connection: &'c Connection,
    reseeding: Option<Prepared<'c>>,
    serializing: Option<Prepared<'c>>,
    tracking: Option<Prepared<'c>>,
    steps: Vec<(Step, Prepared<'c>)>,
}

/// A step of a transaction, of which the engine plans nothing that could change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Begin,
    Commit,
    Rollback,
}

impl Step {
    const fn sql(self) -> &'static str {
        match self {
            Self::Begin => "begin transaction",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
        }
    }
}

impl<'c> OwnStatements<'c> {
    pub fn of(connection: &'c Connection) -> Self {
        Self { connection, reseeding: None, serializing: None, tracking: None, steps: Vec::new() }
    }

    pub fn step(&mut self, step: Step) -> Result<(), Error> {
        let prepared = match self.steps.iter().position(|(kept, _)| *kept == step) {
            Some(place) => self.steps.swap_remove(place).1,
            None => self.connection.prepare(step.sql())?,
        };
        prepared.run(false)?;
        self.steps.push((step, prepared));
        Ok(())
    }

    /// What the engine's own parser finds in a query; nothing of any other text.
    pub fn parsed(&mut self, sql: &str) -> Result<Option<Parsed>, Error> {
        let serializing = match self.serializing.take() {
            Some(prepared) => prepared,
            None => self.connection.prepare(parsed::SERIALIZE)?,
        };
        let found = parsed::query(&serializing, sql)?;
        self.serializing = Some(serializing);
        Ok(found)
    }

    /// Begins random numbers anew, where nobody knows.
    pub fn reseed(&mut self) -> Result<(), Error> {
        let reseeding = match self.reseeding.take() {
            Some(prepared) => prepared,
            None => self.connection.prepare("select setseed($1)")?,
        };
        bind(&reseeding, &[Value::Double(unforeseen())])?;
        reseeding.run(false)?;
        self.reseeding = Some(reseeding);
        Ok(())
    }

    /// Writes lines to the log of changes.
    pub fn track(&mut self, changes: &[Change]) -> Result<Done, Error> {
        let tracking = match self.tracking.take() {
            Some(prepared) => prepared,
            None => self.connection.prepare(Native::TRACK)?,
        };
        for Change { query_id, table, operation, rows, snapshot, at_micros } in changes {
            let rows = i64::try_from(*rows).unwrap_or(i64::MAX);
            let values = [
                Value::Text(query_id.clone()),
                Value::Text(table.clone()),
                Value::Text(operation.clone()),
                Value::BigInt(rows),
                Value::Text(snapshot.clone()),
                Value::TimestampTz(*at_micros),
            ];
            bind(&tracking, &values)?;
            tracking.run(false)?;
        }
        self.tracking = Some(tracking);
        Ok(Done { rows: u64::try_from(changes.len()).unwrap_or(u64::MAX), ..Done::default() })
    }
}

/// Gives a statement its parameters, all of them.
pub fn bind(prepared: &Prepared<'_>, parameters: &[Value]) -> Result<(), Error> {
    bind_narrow(prepared, parameters, &[])
}

/// The same, with whole numbers as narrow as is said of their places, where they fit.
///
/// The engine plans a statement anew for a value of another type than it has planned it for.
pub fn bind_narrow(
    prepared: &Prepared<'_>,
    parameters: &[Value],
    narrow: &[Option<NarrowNumber>],
) -> Result<(), Error> {
    let (expected, given) = (prepared.parameter_count(), parameters.len());
    if u64::try_from(given) != Ok(expected) {
        let message = format!("the statement has {expected} parameters and {given} were given");
        return Err(Error::new(Kind::InvalidInput, message));
    }
    let narrow = narrow.iter().copied().chain(std::iter::repeat(None));
    (1..).zip(parameters).zip(narrow).try_for_each(|((number, value), narrow)| match (value, narrow) {
        (Value::BigInt(whole), Some(narrow)) if prepared.bind_narrow(number, *whole, narrow) => Ok(()),
        _ => prepared.bind(number, value),
    })
}

/// A number from -1 to 1 that nobody knows: the standard library keys its hashes by the system's randomness.
fn unforeseen() -> f64 {
    let [a, b, c, d, ..] = RandomState::new().hash_one(()).to_le_bytes();
    f64::from(i32::from_le_bytes([a, b, c, d])) / f64::from(1_u32 << 31)
}
