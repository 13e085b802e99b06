//! `dataplane`: the query proxy of one environment. `dataplane engine`: its engine, started by it.

fn main() -> std::process::ExitCode {
    dataplane::server::process::main()
}
