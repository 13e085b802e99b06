//! The tables that a data plane keeps for what agents leave, by the names that rules have for them.
//!
//! No statement reads them, so there is nothing to rewrite: a mask, a row filter or a denied column holds nothing there.
//! Such a rule of a policy is kept and marked, such a column of a grant is refused. What holds is an attribute rule by
//! `TableIs`, and the tables that a grant names: they decide of a whole table.

/// What agents remember.
pub const MEMORIES: &str = "svc_memory.memories";
/// Their steps of reasoning.
pub const STEPS: &str = "svc_thoughts.steps";

/// The one of them that a rule names, as `schema.table`.
pub fn named_by(rule: &str) -> Option<&'static str> {
    [MEMORIES, STEPS].into_iter().find(|path| path.eq_ignore_ascii_case(rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_them_by_their_whole_path_in_any_case() {
        assert_eq!(named_by("svc_memory.memories"), Some(MEMORIES));
        assert_eq!(named_by("SVC_Thoughts.Steps"), Some(STEPS));
        for other in ["memories", "main.memories", "svc_memory.notes", "svc_runtime.tasks"] {
            assert_eq!(named_by(other), None, "{other}");
        }
    }
}
