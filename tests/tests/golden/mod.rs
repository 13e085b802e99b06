//! Nothing changes unnoticed: codes, commands, routes, CRDs, and who may depend on whom.

mod allowed;
mod code;
mod codes;
mod commands;
mod dependencies;
mod documents;
mod functions;
mod layers;
mod maturity;
mod names;
mod openapi;
mod places;
mod routes;
mod sources;
mod stages;
mod tokens;
mod webhooks;
mod words;
mod writers;

/// Every file in `tests/golden/` is compared by some test of this folder.
#[test]
fn no_golden_file_is_unreferenced() {
    let sources = [
        include_str!("codes.rs"),
        include_str!("dependencies.rs"),
        include_str!("layers.rs"),
        include_str!("names.rs"),
        include_str!("openapi.rs"),
        include_str!("routes.rs"),
        include_str!("writers.rs"),
    ]
    .concat();
    for name in tests::golden::names() {
        assert!(sources.contains(&format!("\"{name}\"")), "tests/golden/{name} is compared by no test");
    }
}
