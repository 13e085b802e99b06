//! A type's name stands once in a crate.

use super::allowed::{Found, only_shrinks};
use super::layers::CRATES;

/// Names of the types that a module declares, those of traits and their implementations left out.
fn declared(tokens: &[String]) -> Vec<&str> {
    let (mut names, mut blocks, mut head) = (Vec::new(), Vec::new(), 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => blocks.push(tokens[head..at].iter().any(|word| word == "impl" || word == "trait")),
            "}" => _ = blocks.pop(),
            "struct" | "enum" | "union" | "trait" | "type" if blocks.last() != Some(&true) => {
                let name = tokens[at + 1].as_str();
                let is_of_a_macro = at > 0 && tokens[at - 1] == "$";
                names.extend((!is_of_a_macro && name.starts_with(char::is_uppercase)).then_some(name));
            }
            _ => {}
        }
        if ["{", "}", ";"].contains(&token.as_str()) {
            head = at + 1;
        }
    }
    names
}

#[test]
fn a_type_name_stands_once_in_a_crate() {
    let mut found = Found::new();
    for layers in CRATES {
        let code = layers.code();
        for name in code.modules.values().flat_map(|module| declared(&module.tokens)) {
            *found.entry(format!("{} {name}", layers.name)).or_default() += 1;
        }
    }
    found.retain(|_, count| *count > 1);
    only_shrinks("repeated_types.txt", &found, "name the type by what sets it apart");
}

#[test]
fn associated_types_are_left_out() {
    let tokens: Vec<String> = "struct A ; impl B for A { type C = A ; } trait D { type E ; } type F = A ;"
        .split(' ')
        .map(str::to_owned)
        .collect();
    assert_eq!(declared(&tokens), ["A", "D", "F"]);
}
