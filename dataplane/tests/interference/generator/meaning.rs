//! Comparing by meaning, of columns that are masked, of rows that are filtered, and of both with each other.

use super::Dice;

/// What a text is compared with; some of it is hidden on one side, or stands where it is masked.
const TEXTS: [&str; 8] =
    ["'***'", "'Alice'", "'123-45-6789'", "'zxcarol zygina'", "'EU'", "'Oslo'", "null", "'zxnote1 zynote9'"];
const THRESHOLDS: [&str; 5] = ["0", "0.01", "0.3", "0.7", "1"];

impl Dice {
    /// A number from 0 to 1, or null.
    fn rank(&self, depth: usize) -> String {
        let (text, other) = (self.text(depth), self.text(0));
        match self.below(4) {
            0 => format!("semantic_rank({text}, {other})"),
            1 => format!("semantic_rank({}, {})", self.hidden(), self.one(&TEXTS)),
            2 => format!("semantic_rank({}, {})", self.hidden(), self.hidden()),
            _ => format!("semantic_rank({text}, {})", self.one(&TEXTS)),
        }
    }

    /// A condition by meaning.
    pub(super) fn likened(&self, depth: usize) -> String {
        let name = self.one(&["semantic_match", "vector_match"]);
        match self.below(5) {
            0 => format!("{name}({}, {})", self.text(depth), self.one(&TEXTS)),
            1 => format!("{name}({}, {}, {})", self.hidden(), self.text(depth), self.one(&THRESHOLDS)),
            2 => format!("{name}({}, {}, {})", self.hidden(), self.one(&TEXTS), self.one(&THRESHOLDS)),
            3 => format!("{} > {}", self.rank(depth), self.one(&THRESHOLDS)),
            _ => format!("{} is null", self.rank(depth)),
        }
    }

    /// Columns with a mask of each kind, and some of rows that a filter hides.
    fn hidden(&self) -> &'static str {
        self.one(&[
            "c.ssn",
            "c.email",
            "c.card",
            "c.salary::varchar",
            "c.born::varchar",
            "o.note",
            "c.name",
            "c.tags::varchar",
        ])
    }

    /// A query that is about it.
    pub(super) fn by_meaning(&self, only: &str) -> String {
        let (rank, least) = (self.rank(0), self.one(&THRESHOLDS));
        let (one, other) = (self.hidden(), self.hidden());
        match self.below(6) {
            0 => format!("select c.id, {rank} as fit from customer c, orders o where {only} order by fit, c.id, o.id"),
            1 => format!(
                "select c.id, o.id from customer c join_vector orders o on vector_match({one}, {other}, {least})"
            ),
            2 => format!("select count(*), max({rank}) from customer c, orders o where {only}"),
            3 => format!(
                "select c.region, min({rank}) as fit from customer c, orders o group by 1 having min({rank}) > {least}"
            ),
            4 => {
                let listed = "select max(ssn) from customer";
                format!("select c.id from customer c, orders o where semantic_match({one}, ({listed}), {least})")
            }
            _ => format!(
                "select c.id, o.id from customer c, orders o order by {rank} desc nulls last, c.id, o.id limit 2"
            ),
        }
    }
}
