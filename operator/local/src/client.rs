//! The commands for people who use a platform: clients of the public API and nothing else.
//!
//! Where the API is and who asks is found in one order ([`access`]): flags, then the environment, then the
//! state folder of the platform on this machine. Everything is shown by one renderer ([`output`]), and the
//! exit status says of which class a failure is ([`failure`]).

mod access;
mod api;
pub mod audit;
pub mod branches;
pub mod doctor;
pub mod environments;
pub mod explain;
pub mod explain_sql;
mod failure;
mod file_ending;
mod group;
pub mod integrations;
pub mod keys;
pub mod load;
pub mod mcp;
pub mod output;
pub mod policies;
pub mod sql;
pub mod stage;
#[cfg(test)]
mod testing;
pub mod unload;
pub mod waiting;

use std::collections::BTreeMap;
use std::process::ExitCode;

pub use access::Access;
pub use api::Api;
pub use failure::{Class, Failure};
pub use group::Group;
pub use output::{Output, ShownAnswer};

/// Runs a command to its end, and says why it failed.
pub fn run(work: impl Future<Output = Result<(), Failure>>) -> ExitCode {
    // One crypto provider, named before the first handshake; a second call is no harm.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let done = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let done = runtime.block_on(work);
            // A thread may be waiting for the keyboard, which nobody will press.
            runtime.shutdown_background();
            done
        }
        Err(error) => Err(Failure::Broken(error.to_string())),
    };
    ended(done)
}

/// The exit status of what was done.
pub fn ended(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has what they want (`| head`), which is no failure.
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            failure.complain();
            ExitCode::from(failure.class().exit())
        }
    }
}

/// `NAME=VALUE`, as often as it is given.
fn pairs(written: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |written: &String| match written.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(Failure::Usage(format!("an attribute is written NAME=VALUE, not {written}"))),
    };
    written.iter().map(pair).collect()
}
