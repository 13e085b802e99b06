//! Facts that a model must know before it believes rows: how many of how many, masks, corrections, warnings.

use contract::Code;

use crate::request::answer::Healed;

/// Of one result.
#[derive(Debug)]
pub(super) struct Truth {
    /// Rows that the calls before have shown.
    pub before: u64,
    pub shown: u64,
    /// Rows there were behind those, as far as they were wanted.
    pub of: u64,
    /// The rows that were wanted, where there were more.
    pub wanted: Option<u64>,
    /// What was cut of long texts.
    pub texts: Option<String>,
    pub changed: Option<u64>,
    pub healed: Option<Healed>,
    /// The cursor that gives the rest.
    pub next: Option<String>,
}

impl Truth {
    pub fn notes(&self, masked: &[String], warnings: &[String]) -> Vec<String> {
        let healed = self.healed.as_ref().map(|healed| format!("{}; this was run: {}", healed.how, healed.sql));
        let masked = (!masked.is_empty()).then(|| format!("masked: {}", masked.join(", ")));
        let next = self.next.as_ref().map(|next| format!("the rest: the same call with cursor \"{next}\""));
        let is_told = |warning: &&String| {
            warning.starts_with(Code::ColumnMasked.stable())
                || self.healed.as_ref().is_some_and(|healed| healed.how == **warning)
        };
        let rows = healed.into_iter().chain([self.counted()]).chain(next).chain(self.texts.clone()).chain(masked);
        rows.chain(warnings.iter().filter(|warning| !is_told(warning)).cloned()).collect()
    }

    fn counted(&self) -> String {
        let Self { before, shown, of, .. } = self;
        let narrower = "ask narrower: a condition, fewer columns, an aggregate or LIMIT";
        let which = match before {
            0 => format!("the first {shown}"),
            before => format!("{} to {}", before + 1, before + shown),
        };
        match (self.changed, self.wanted) {
            (Some(changed), _) if shown < of => format!("rows changed: {changed}; {shown} of {of} are shown"),
            (Some(changed), _) => format!("rows changed: {changed}"),
            (None, None) if shown == of && *before == 0 => format!("rows: {of}, the whole answer"),
            (None, None) if *of == 0 => format!("rows: none behind the {before} that were shown"),
            (None, None) if shown == of => format!("rows: {which}, the last"),
            (None, Some(wanted)) if shown == of => {
                format!("rows: {which} of more, no more than {wanted} were wanted; {narrower}")
            }
            (None, more) => {
                let (all, more) = (before + of, if more.is_some() { " and more" } else { "" });
                format!("rows: {which} of {all}{more}, one result has no room for more; {narrower}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(before: u64, shown: u64, of: u64, wanted: Option<u64>) -> Truth {
        Truth { before, shown, of, wanted, texts: None, changed: None, healed: None, next: None }
    }

    #[test]
    fn a_page_says_which_rows_of_how_many_it_shows() {
        for (truth, expected) in [
            (truth(0, 3, 3, None), "rows: 3, the whole answer"),
            (truth(0, 3, 10, None), "rows: the first 3 of 10, one result has no room for more"),
            (truth(3, 4, 7, None), "rows: 4 to 7 of 10, one result has no room for more"),
            (truth(3, 4, 7, Some(7)), "rows: 4 to 7 of 10 and more, one result has no room for more"),
            (truth(3, 4, 4, Some(4)), "rows: 4 to 7 of more, no more than 4 were wanted"),
            (truth(3, 4, 4, None), "rows: 4 to 7, the last"),
            (truth(3, 0, 0, None), "rows: none behind the 3 that were shown"),
        ] {
            let told = truth.counted();
            assert_eq!(told.split(';').next(), Some(expected), "{told}");
        }
    }

    #[test]
    fn the_cursor_is_said_behind_the_number_of_rows() {
        let truth = Truth { next: Some("abc".to_owned()), ..truth(0, 3, 10, None) };
        assert_eq!(truth.notes(&[], &[])[1], "the rest: the same call with cursor \"abc\"");
    }
}
