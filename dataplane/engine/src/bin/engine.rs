//! The engine's child process on its own: for this crate's tests and for debugging. The product's
//! binaries have an `engine` subcommand that does the same.
//!
//! Without arguments it serves its parent; with `<data> <tpch extension> <scale>` it seeds.

use std::path::Path;
use std::process::ExitCode;

use engine::{Error, Kind, Parsed, child, seed};

/// The tables as they are said, and any functions.
fn agrees(parsed: &Parsed, tables: &[String], _: bool) -> bool {
    parsed.tables.as_deref() == Some(tables)
}

fn main() -> Result<ExitCode, Error> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [] => Ok(child::run(None, Some(agrees))),
        [data, extension, scale] => {
            let scale = scale.to_str().and_then(|scale| scale.parse().ok());
            let scale = scale.ok_or_else(|| Error::new(Kind::InvalidInput, "the scale is not a number"))?;
            seed::tpch(Path::new(data), Path::new(extension), scale).map(|()| ExitCode::SUCCESS)
        }
        _ => Err(Error::new(Kind::InvalidInput, "either no argument, or data, extension and scale")),
    }
}
