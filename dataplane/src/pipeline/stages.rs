//! The fifteen stages, a file each. Stages 2 to 8 are walked in `govern` alone.

pub(super) mod audit;
mod copy_report;
mod cost;
pub(super) mod dirty;
mod embed;
pub(super) mod execute;
pub(super) mod govern;
pub(super) mod heal;
pub(super) mod mask;
mod meter;
pub(super) mod plans;
pub(super) mod policy;
pub(super) mod quota;
pub(super) mod row_filter;
pub(super) mod semaphore;
pub(super) mod snapshot;
pub(super) mod staged;
pub(super) mod tables;
pub(super) mod transpile;

use contract::Governance;

use self::policy::Asker;
use super::{Pipeline, Query};
use crate::request::trail::Trail;

/// A statement with the rules that hold for all of it: the input of the stages 2 to 8.
#[derive(Clone, Copy)]
pub(super) struct Gates<'a> {
    pub pipeline: &'a Pipeline,
    pub query: &'a Query,
    pub rules: &'a Governance,
    pub t: &'a Trail,
}

/// Why a statement walks the stages 2 to 8, which decides for whom, and what they set aside and read.
#[derive(Debug)]
pub(super) enum Mode {
    /// It runs next: its estimate is set aside, and the values of a PIVOT are read.
    Run,
    /// It is described next, by the engine: nothing is set aside, read or assumed.
    Describe,
    /// It has run, and is judged once more: nothing is set aside, and a value stands for those of a PIVOT.
    Recheck,
    /// It is told what becomes of it when this caller asks, as far as that is known without running it.
    Explain(Box<Asker>),
}
