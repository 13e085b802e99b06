//! `cluster`: see `cluster --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    cluster::cli::main()
}
