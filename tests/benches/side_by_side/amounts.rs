//! How much of everything.

use std::time::Duration;

pub struct Amounts {
    /// Rows of `points`, which are looked up by key.
    pub points: u64,
    /// Rows of `wide`, which are read as a whole.
    pub wide: u64,
    /// How often `wide` is sent in one large answer.
    pub times: u64,
    /// Statements of one side alone.
    pub statements: u64,
    /// Changes of each kind.
    pub changes: u64,
    /// For each case of one client.
    pub case: Duration,
    /// For each turn of each way, many clients at once.
    pub turn: Duration,
    /// Turns of each way where the time of one is fixed, rounds where its work is.
    pub rounds: usize,
    /// Scale of TPC-H: 1 is about a gigabyte.
    pub scale: f64,
    /// Rows of the answer during which memory is watched.
    pub huge: u64,
    /// Rows of a file that is loaded, scanned and unloaded.
    pub lines: u64,
    /// Rows of a file of which one column is scanned.
    pub scanned: u64,
    /// Rows of a file of about a gigabyte.
    pub large: u64,
}

impl Amounts {
    pub fn whole() -> Self {
        Self {
            points: 100_000,
            wide: 1_000_000,
            times: 5,
            statements: 2_000,
            changes: 200,
            case: Duration::from_secs(15),
            turn: Duration::from_secs(5),
            rounds: 5,
            scale: 1.0,
            huge: 50_000_000,
            lines: 2_000_000,
            scanned: 20_000_000,
            large: 10_000_000,
        }
    }

    pub fn small() -> Self {
        Self {
            points: 1_000,
            wide: 10_000,
            times: 2,
            statements: 100,
            changes: 20,
            case: Duration::from_millis(500),
            turn: Duration::from_millis(500),
            rounds: 1,
            scale: 0.01,
            huge: 200_000,
            lines: 20_000,
            scanned: 20_000,
            large: 100_000,
        }
    }
}
