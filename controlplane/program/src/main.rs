//! The program of the control plane.
//!
//! The compiler joins the library here, so that an edit of the compiler does not build the library again.

use std::process::ExitCode;
use std::sync::Arc;

use controlplane::platform::dashboard::DashboardFiles;

/// The dashboard that this program was built with.
#[cfg(feature = "dashboard")]
const DASHBOARD: Option<DashboardFiles> = Some(dashboard::FILES);
#[cfg(not(feature = "dashboard"))]
const DASHBOARD: Option<DashboardFiles> = None;

fn main() -> ExitCode {
    controlplane::server::process::run(DASHBOARD, Arc::new(sql::Analyzer))
}
