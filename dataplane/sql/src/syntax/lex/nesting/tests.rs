use proptest::prelude::*;

use super::*;
use crate::syntax::lex;

proptest! {
    /// So a text of a few tokens need not be counted.
    #[test]
    fn no_token_makes_a_tree_more_than_two_levels_higher(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "(", ")", "[", "]", "{", "}", ",", ";", ".", "a", "1", "'x'", "or", "and", "not", "||", "+", "-", "::",
                ":", "case", "when", "then", "end", "union", "union all", "except", "select", "from", "join", "between",
                "is", "in", "like", "at", "?",
            ]),
            0..60,
        )
    ) {
        let tokens = lex::tokens(&words.join(" ")).unwrap();
        prop_assert!(levels(&tokens).unwrap() <= 2 * tokens.len(), "{words:?}");
    }
}
