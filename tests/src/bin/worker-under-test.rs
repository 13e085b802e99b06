//! A worker of the runtime in a process of its own, so that tests can stop and kill it.

fn main() {
    tests::worker::main();
}
