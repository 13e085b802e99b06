//! Generates the gRPC client from the contract's proto, without `protoc`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let include = "../controlplane/contract/proto";
    println!("cargo::rerun-if-changed={include}/operator.proto");
    let descriptors = protox::compile(["operator.proto"], [include])?;
    tonic_prost_build::configure().build_server(false).compile_fds(descriptors)?;
    Ok(())
}
