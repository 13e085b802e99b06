//! How far a statement that fails may be corrected, and who decides it: the environment, and each request for less.

use serde::{Deserialize, Serialize};

crate::caller::words!(
    /// How far a statement that fails may be corrected and run. `off`: not at all. `safe`: by rule, where that cannot
    /// change which data is read (a misspelt keyword, a name's letter case). `auto`: besides, a model may write a query
    /// in its place, where one is set up.
    Heal, "level of healing", { Off = "off", Safe = "safe", Auto = "auto" }
);

#[expect(clippy::derivable_impls, reason = "the table of words marks no variant")]
impl Default for Heal {
    fn default() -> Self {
        Self::Safe
    }
}

impl Heal {
    /// What the environment permits, where the request does not ask for less.
    #[must_use]
    pub fn asked(self, wanted: Option<Self>) -> Self {
        wanted.map_or(self, |wanted| self.min(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::Heal::{self, Auto, Off, Safe};

    #[test]
    fn a_request_gets_less_and_never_more() {
        let cases = [
            (Off, None, Off),
            (Off, Some(Auto), Off),
            (Safe, None, Safe),
            (Safe, Some(Off), Off),
            (Safe, Some(Auto), Safe),
            (Auto, Some(Safe), Safe),
            (Auto, Some(Auto), Auto),
        ];
        for (environment, wanted, expected) in cases {
            assert_eq!(environment.asked(wanted), expected, "{environment} {wanted:?}");
        }
        assert_eq!(Heal::default(), Safe);
    }
}
