//! The control plane's binary.

fn main() -> std::process::ExitCode {
    controlplane::process::main()
}
