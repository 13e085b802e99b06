//! The programs of the product that tests start, stop and kill, as one: an environment variable says which.
//! Built by this package, so that tests find its path, and linked once.

use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let name = std::env::var_os(tests::world::PROGRAM).unwrap_or_default();
    match name.to_str() {
        Some("controlplane") => controlplane::server::process::run(None, Arc::new(sql::Analyzer)),
        Some("dataplane") => dataplane::server::process::main(),
        Some("worker") => tests::worker::main(),
        _ => sluice::cli::main(),
    }
}
