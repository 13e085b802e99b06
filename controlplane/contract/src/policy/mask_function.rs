//! The mask functions: one table of what each shows, its SQL, and what it leaves of a column's type.

use serde::{Deserialize, Serialize};

crate::caller::words!(
    /// What a mask does to a value.
    MaskFunction, "mask function", { Full = "full", Partial = "partial", Hash = "hash", Null = "null" }
);

/// The whole mask of text.
pub const STARS: &str = "***";
/// The mask that shows nothing: NULL of the column's type. Rows of the table say what they do else.
const NOTHING: MaskTraits = MaskTraits {
    shows: 0,
    of_text: "CAST(NULL AS {type})",
    of_others: "CAST(NULL AS {type})",
    makes_text: false,
    in_answers: None,
    takes_visible_chars: false,
};
const HASH: &str = "system.main.sluice_mask_hash({text})";
const PARTIAL: &str = "CASE WHEN system.main.\"length\"({text}) > {visible_chars} \
    THEN system.main.\"concat\"('***', system.main.\"right\"({text}, {visible_chars})) ELSE '***' END";

/// One row of the table of mask functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaskTraits {
    /// How much it shows, compared with the others: where two masks meet on a column, the one that shows less stays.
    pub shows: u8,
    /// The engine's SQL for a column of text: `{text}` is the value as text, `{type}` the column's type,
    /// `{visible_chars}` the parameter.
    pub of_text: &'static str,
    /// The engine's SQL for a column of any other type.
    pub of_others: &'static str,
    /// Whether a column becomes text. Else it keeps its type within the statement.
    pub makes_text: bool,
    /// What an answer has in place of the NULL of a column that kept its type.
    pub in_answers: Option<&'static str>,
    /// Whether it has the parameter `visible_chars`.
    pub takes_visible_chars: bool,
}

impl MaskFunction {
    /// Its row of the table.
    pub fn traits(self) -> MaskTraits {
        let of_any = |shows, sql| MaskTraits { shows, of_text: sql, of_others: sql, makes_text: true, ..NOTHING };
        match self {
            Self::Null => NOTHING,
            Self::Full => MaskTraits { shows: 1, of_text: "'***'", in_answers: Some(STARS), ..NOTHING },
            Self::Hash => of_any(2, HASH),
            Self::Partial => MaskTraits { takes_visible_chars: true, ..of_any(3, PARTIAL) },
        }
    }

    /// What a mask shows, in an order: the smaller one tells less.
    pub fn shown(self, visible_chars: u32) -> (u8, u32) {
        let MaskTraits { shows, takes_visible_chars, .. } = self.traits();
        (shows, if takes_visible_chars { visible_chars } else { 0 })
    }

    /// The engine's SQL for a value of a column of this type.
    pub fn sql(self, value: &str, type_name: &str, is_text: bool, visible_chars: u32) -> String {
        let MaskTraits { of_text, of_others, .. } = self.traits();
        let template = if is_text { of_text } else { of_others };
        filled(template, |name| match name {
            "text" => format!("CAST({value} AS VARCHAR)"),
            "type" => type_name.to_owned(),
            _ => visible_chars.to_string(),
        })
    }
}

/// The template with each `{name}` replaced, in one pass: what is put in is never read again.
fn filled(template: &str, value_of: impl Fn(&str) -> String) -> String {
    let mut parts = template.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        text.push_str(&value_of(name));
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_mask_functions_show_alike() {
        let mut shown: Vec<u8> = MaskFunction::ALL.iter().map(|function| function.traits().shows).collect();
        shown.sort_unstable();
        assert!(shown.windows(2).all(|pair| pair[0] < pair[1]), "{shown:?}");
        assert!(MaskFunction::Partial.shown(3) < MaskFunction::Partial.shown(4));
        assert_eq!(MaskFunction::Hash.shown(3), MaskFunction::Hash.shown(4), "a parameter that it does not have");
    }

    #[test]
    fn sql_of_each_mask_function_names_the_value_as_text_alone() {
        for function in MaskFunction::ALL {
            for is_text in [true, false] {
                let sql = function.sql("\"t\".\"{type}\"", "DATE", is_text, 4);
                let rest = sql.replace("CAST(\"t\".\"{type}\" AS VARCHAR)", "");
                assert!(!rest.contains(['{', '}']) && !rest.contains("\"t\""), "{function}: {sql}");
                let is_typed = sql == "CAST(NULL AS DATE)";
                assert_eq!(!is_typed, function.traits().makes_text || (is_text && *function == MaskFunction::Full));
            }
        }
    }
}
