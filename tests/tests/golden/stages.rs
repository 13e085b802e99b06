//! The sequence of gates: the stages 2 to 8 are walked in one file, in their order, and called from nowhere else.

use super::code::{Crate, Module};

const SEQUENCE: &str = "dataplane/src/pipeline/stages/govern.rs";

/// The functions of the gates by the file of their stage, below `pipeline/stages`.
///
/// Some are called by other modes, by tool actions, or for texts whose plan is kept.
const GATES: [(&str, &[&str]); 7] = [
    ("tables", &["extract", "extract_kept"]),
    ("policy", &["check", "check_action", "check_kept"]),
    ("cost", &["estimate", "estimate_action", "estimate_kept"]),
    ("quota", &["check", "check_kept", "unbilled", "has_room", "reserve"]),
    ("row_filter", &["apply", "apply_kept"]),
    ("embed", &["vectors"]),
    ("transpile", &["to_engine", "bind_kept"]),
];

/// The stages that a tool's action walks of those: it has no text.
const OF_ACTIONS: [&str; 3] = ["PolicyCheck", "CostEstimate", "QuotaCheck"];

fn dataplane() -> Crate {
    Crate::read("dataplane/src")
}

fn module<'c>(code: &'c Crate, file: &str) -> &'c Module {
    code.modules.values().find(|module| module.file == file).unwrap_or_else(|| panic!("there is no {file}"))
}

/// Where these tokens stand one behind the other.
fn places(module: &Module, wanted: &[&str]) -> Vec<usize> {
    let windows = module.tokens.windows(wanted.len()).enumerate();
    windows.filter(|(_, tokens)| tokens.iter().eq(wanted)).map(|(at, _)| at).collect()
}

/// The variants of `Stage`, in the order of the specification.
fn stages(code: &Crate) -> Vec<String> {
    let trail = module(code, "dataplane/src/request/trail.rs");
    let start = places(trail, &["enum", "Stage", "{"])[0] + 3;
    let variants: Vec<_> = trail.tokens[start..].iter().take_while(|token| *token != "}").collect();
    variants.windows(2).filter(|pair| pair[1] == "=").map(|pair| pair[0].clone()).collect()
}

/// The stages that a module walks, in the order of its text.
fn walked(module: &Module) -> Vec<&str> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    for walk in ["at", "now"] {
        let calls = places(module, &[".", walk, "(", "Stage", "::"]);
        found.extend(calls.into_iter().map(|at| (at, module.tokens[at + 5].as_str())));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, stage)| stage).collect()
}

#[test]
fn stages_2_to_8_are_walked_in_their_order_in_one_file() {
    let code = dataplane();
    let stages = stages(&code);
    assert_eq!(stages.len(), 15);
    let gates: Vec<&str> = stages[1..8].iter().map(String::as_str).collect();
    // a text that comes for the first time, one that has come before, and a tool's action
    assert_eq!(walked(module(&code, SEQUENCE)), [gates.as_slice(), &gates, &OF_ACTIONS].concat());
    for module in code.modules.values().filter(|module| module.file != SEQUENCE) {
        let others: Vec<&str> = walked(module).into_iter().filter(|stage| gates.contains(stage)).collect();
        assert!(others.is_empty(), "{} walks {others:?}: have {SEQUENCE} do it", module.file);
    }
    for stage in &stages {
        let is_walked = code.modules.values().any(|module| walked(module).contains(&stage.as_str()));
        assert!(is_walked, "nothing walks stage {stage}");
    }
}

#[test]
fn gates_are_called_once_each_by_the_sequence() {
    let code = dataplane();
    for (stage, function) in GATES.iter().flat_map(|(stage, all)| all.iter().map(move |function| (*stage, *function))) {
        let calls = |module: &Module| {
            let paths = places(module, &[stage, "::", function]);
            paths.into_iter().map(|_| module.file.clone()).collect::<Vec<_>>()
        };
        let calls: Vec<String> = code.modules.values().flat_map(calls).collect();
        assert_eq!(calls, [SEQUENCE], "{stage}::{function}");
    }
}

/// Outside of `stages` the compiler holds it: these types are not visible there, or hold one that is made here alone.
#[test]
fn output_of_a_gate_is_made_by_its_stage_alone() {
    let code = dataplane();
    for (stage, functions) in GATES {
        let file = format!("dataplane/src/pipeline/stages/{stage}.rs");
        let below = format!("dataplane/src/pipeline/stages/{stage}/");
        let output = output(module(&code, &file), functions[0]);
        let is_other = |module: &&Module| {
            let is_its = module.file == file || module.file.starts_with(&below);
            module.file.starts_with("dataplane/src/pipeline/") && !is_its
        };
        for module in code.modules.values().filter(is_other) {
            let is_made = |at: &usize| {
                let before = at.checked_sub(1).map_or("", |before| module.tokens[before].as_str());
                !["struct", "let", "impl", "for", ">"].contains(&before)
            };
            let made = places(module, &[&output, "{"]).iter().filter(|at| is_made(at)).count();
            assert_eq!(made, 0, "{} makes {output}", module.file);
        }
    }
}

/// The type that a function returns, in its `Result` if it has one.
fn output(module: &Module, function: &str) -> String {
    let start = places(module, &["fn", function, "("])[0];
    let tokens = &module.tokens[start..];
    let arrow = tokens.windows(2).position(|pair| pair == ["-", ">"]).unwrap() + 2;
    let mut returned = tokens[arrow..].iter().take_while(|token| *token != "{");
    returned.find(|token| token.starts_with(char::is_uppercase) && *token != "Result").unwrap().clone()
}
