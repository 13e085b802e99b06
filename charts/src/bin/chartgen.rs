//! Writes the printed files of chart and manifests below the working directory, or with `--check`
//! only compares them: `cargo run -p charts --bin chartgen`.
#![forbid(unsafe_code)]

use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

/// Writes the files of chart and manifests that are made from types.
#[derive(Debug, Parser)]
#[command(name = "chartgen")]
struct Arguments {
    /// Write nothing; name what is not up to date, and fail if there is any.
    #[arg(long)]
    check: bool,
}

fn main() -> Result<ExitCode, charts::Error> {
    let root = Path::new(".");
    let check = Arguments::parse().check;
    let files = if check { charts::stale(root)? } else { charts::write(root)? };
    let mut out = stdout().lock();
    for path in &files {
        let said = if check { "stale" } else { "written" };
        writeln!(out, "{said} {path}").map_err(|error| charts::Error::File(path, error))?;
    }
    Ok(if check && !files.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
