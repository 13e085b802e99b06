//! What the child gives up before it serves anyone.
//!
//! Settings are not a sandbox: with all of them the engine still reads its own database file. The
//! allow-lists of whoever writes the SQL carry the weight; these stop the rest.

use std::io;

use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;

use crate::error::Error;
use crate::message::Start;

/// No core dump and no debugger: memory holds the mask key and everybody's rows.
pub fn process() -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    prctl::set_dumpable(false)?;
    prctl::set_no_new_privs()?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    Ok(())
}

pub fn limit_address_space(bytes: u64) -> Result<(), Error> {
    setrlimit(Resource::RLIMIT_AS, bytes, bytes).map_err(Error::internal)
}

/// Rules of the optimizer that are switched off.
const DISABLED_OPTIMIZERS: &str =
    "statistics_propagation,window_self_join,top_n_window_elimination,common_subplan,join_elimination";

/// Given at open, because a plain SET would hold for one connection only.
pub fn options(start: &Start) -> Vec<(&'static str, String)> {
    let fixed = [
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
        ("allow_community_extensions", "false"),
        ("allow_persistent_secrets", "false"),
        ("allow_unredacted_secrets", "false"),
        ("enable_external_file_cache", "false"),
        ("max_expression_depth", "1000"),
        ("pivot_limit", "1000"),
        ("errors_as_json", "true"),
        ("default_null_order", "nulls_last_on_asc_first_on_desc"),
        // By what it knows of a column's least and greatest value the optimizer drops conditions, and with them the
        // errors that they would have ended in: those would tell of values in rows that a filter hides.
        // The others give wrong answers; `dataplane/tests/reports.jsonl` has the reports of each.
        ("disabled_optimizers", DISABLED_OPTIMIZERS),
        ("arrow_output_version", "1.0"),
        ("arrow_large_buffer_size", "false"),
    ];
    let mut options = vec![
        // Databases in memory would write to each other's files.
        (
            "temp_directory",
            start.data.as_ref().map_or_else(String::new, |_| start.spill.to_string_lossy().into_owned()),
        ),
        ("max_temp_directory_size", format!("{}B", start.temp_limit_bytes)),
        ("memory_limit", format!("{}B", start.memory_limit_bytes)),
        ("threads", start.threads.max(1).to_string()),
    ];
    options.extend(fixed.map(|(name, value)| (name, value.to_owned())));
    options
}

/// The same of a database whose threads are all ours: `Database::start_workers`.
pub fn with_workers(start: &Start) -> Vec<(&'static str, String)> {
    let mut options = options(start);
    options.push(("external_threads", start.threads.max(1).to_string()));
    options
}

/// Run once everything is made that needs the outside. The order matters: the folder of files is named while that can
/// be done; after the third nothing else outside can be reached, after the last nothing can be set back.
pub fn lock(start: &Start) -> Result<Vec<String>, Error> {
    let mut lock = vec!["set global TimeZone = 'UTC'".to_owned()];
    if let Some(spool) = &start.spool {
        let spool = spool.to_str().ok_or_else(|| Error::internal("the folder of files has no name in UTF-8"))?;
        lock.push(format!("set global allowed_directories = ['{}']", spool.replace('\'', "''")));
    }
    lock.push("set global enable_external_access = false".to_owned());
    lock.push("set global lock_configuration = true".to_owned());
    Ok(lock)
}
