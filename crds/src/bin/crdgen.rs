//! Prints the custom resource definitions: `cargo run -p crds --bin crdgen > crds/crds.yaml`.
#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{Write, stdout};

fn main() -> Result<(), Box<dyn Error>> {
    stdout().write_all(crds::yaml()?.as_bytes())?;
    Ok(())
}
