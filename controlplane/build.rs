//! Compiles the contract's protos with protox, so that no `protoc` is needed.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=contract/proto");
    // `sqlx::migrate!` embeds the folder, and cargo does not see it otherwise.
    println!("cargo::rerun-if-changed=migrations");
    let files = protox::compile(["governance.proto", "operator.proto"], ["contract/proto"])?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
