//! The engine with its real child process.

#[cfg(test)]
mod bounded;
#[cfg(test)]
mod calculated;
#[cfg(test)]
mod extremes;
#[cfg(test)]
mod files;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod kept_plans;
#[cfg(test)]
mod safe;
#[cfg(test)]
mod tried;
#[cfg(test)]
mod waiting;
#[cfg(test)]
mod world;

mod catalog;
mod ending;
mod hardening;
mod mask;
mod numbers;
mod results;
mod rows;
mod seed;
mod transactions;
mod types;
