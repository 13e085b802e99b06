//! The name of a statement in a refusal.

use sqlparser::ast::Statement;

/// What a statement is called, without anything of what it says.
pub(crate) fn construct(tree: &Statement) -> String {
    const WORDS_MAX: usize = 2;
    let printed = tree.to_string();
    let words = printed.split_whitespace().take(WORDS_MAX);
    let keywords: Vec<&str> =
        words.take_while(|word| word.chars().all(|c| c.is_ascii_uppercase() || c == '_')).collect();
    if keywords.is_empty() { "this statement".to_owned() } else { keywords.join(" ") }
}
