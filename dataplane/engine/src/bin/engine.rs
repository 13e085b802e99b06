//! The engine's child process on its own: for this crate's tests and for debugging. The product's
//! binaries have an `engine` subcommand that does the same.
//!
//! Without arguments it serves its parent; with `<data> <tpch extension> <scale>` it seeds.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [] => engine::child::run(),
        [data, extension, scale] => {
            let scale = scale.to_str().and_then(|scale| scale.parse().ok()).unwrap_or(0.0);
            match engine::seed::tpch(Path::new(data), Path::new(extension), scale) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            }
        }
        _ => ExitCode::from(2),
    }
}
