//! The product's binary, built by this package so that tests find its path: the engine's child
//! processes, and data planes that a test kills.

fn main() -> std::process::ExitCode {
    sluice::cli::main()
}
