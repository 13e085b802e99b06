//! The data plane's binary, built by this package so that tests find its path.

fn main() -> std::process::ExitCode {
    dataplane::process::main()
}
