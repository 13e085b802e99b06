//! Whether a query may draw random numbers, or say where they begin: its session's are begun anew then.
//!
//! The engine keeps them for each connection. A query reads tables by their full names, and no view or macro: what its
//! text does not name, it does not call.

/// Parts of the names of all functions and clauses that draw.
const DRAWING: [&str; 5] = ["random", "seed", "uuid", "sampl", "shuffle"];

/// As far as its text tells: a name that only looks like one counts as well.
pub fn may_draw(sql: &str) -> bool {
    let lower = sql.to_ascii_lowercase();
    DRAWING.into_iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_draws_is_told_by_its_text() {
        for sql in [
            "select random()",
            "SELECT \"setseed\"(0.5)",
            "select gen_random_uuid() from t",
            "select UUIDv7()",
            "from t using sample 10 rows",
            "select * from t TABLESAMPLE 3",
        ] {
            assert!(may_draw(sql), "{sql}");
        }
        for sql in ["select 42", "select \"c_name\", sum(x) from raw.main.t where \"id\" = $1 group by 1", ""] {
            assert!(!may_draw(sql), "{sql}");
        }
    }
}
