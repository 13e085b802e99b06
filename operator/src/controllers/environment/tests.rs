//! The planner against tables of situations, and against a simulated cluster.

mod certificates;
mod deletion;
mod fixtures;
mod fleet;
mod histories;
mod plan;
mod refusals;
mod rollout;
mod world;

pub(super) use fixtures::{environment, observed};
