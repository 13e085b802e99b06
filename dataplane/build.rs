//! Generates the gRPC client from the contract's proto, without `protoc`; and has the program look
//! for the engine's library beside itself, where its image has it.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rustc-link-arg-bins=-Wl,-rpath,$ORIGIN");
    let include = "../controlplane/contract/proto";
    println!("cargo::rerun-if-changed={include}/governance.proto");
    let descriptors = protox::compile(["governance.proto"], [include])?;
    tonic_prost_build::configure().build_server(false).compile_fds(descriptors)?;
    Ok(())
}
