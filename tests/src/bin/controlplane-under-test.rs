//! The control plane's binary, built by this package so that tests find its path.

fn main() -> std::process::ExitCode {
    controlplane::process::run(None)
}
