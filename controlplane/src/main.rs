//! The control plane's binary.

use std::process::ExitCode;

use controlplane::dashboard::Files;

/// The dashboard that this program was built with.
#[cfg(feature = "dashboard")]
const DASHBOARD: Option<Files> = Some(dashboard::FILES);
#[cfg(not(feature = "dashboard"))]
const DASHBOARD: Option<Files> = None;

fn main() -> ExitCode {
    controlplane::process::run(DASHBOARD)
}
