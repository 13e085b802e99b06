//! "Did you mean": the name that was probably meant, for the end of a message.

/// Names that are less alike than this are not guessed: a wrong guess is worse than none.
const LIKENESS_MIN: f64 = 0.8;

/// `: did you mean …?`, or nothing.
pub fn meant<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let given = given.to_ascii_lowercase();
    let likeness = |name: &str| strsim::jaro_winkler(&given, &name.to_ascii_lowercase());
    let scored = known.into_iter().map(|name| (likeness(name), name));
    let best = scored.filter(|(likeness, _)| *likeness >= LIKENESS_MIN).max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or_else(String::new, |(_, name)| format!(": did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn what_is_alike_is_suggested_and_nothing_else() {
        let names = ["policy.created", "policy.deleted", "key.created"];
        for (given, suggestion) in [
            ("policy.create", ": did you mean `policy.created`?"),
            ("Policy.Deleted", ": did you mean `policy.deleted`?"),
            ("kye.created", ": did you mean `key.created`?"),
            ("zebra", ""),
            ("", ""),
        ] {
            assert_eq!(meant(given, names), suggestion, "{given}");
        }
    }
}
