//! Which of the names there are is most like one that there is not.

/// How alike two names must be (Jaro–Winkler).
const LIKENESS_MIN: f64 = 0.88;

pub(super) fn alike(wrong: &str, right: &str) -> bool {
    likeness(wrong, right) >= LIKENESS_MIN
}

fn likeness(wrong: &str, right: &str) -> f64 {
    strsim::jaro_winkler(&wrong.to_lowercase(), &right.to_lowercase())
}

/// The names, those first that are most alike, each once.
pub(super) fn ranked(wrong: &str, names: Vec<String>) -> Vec<String> {
    let mut scored: Vec<_> = names.into_iter().map(|name| (likeness(wrong, &name), name)).collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut ranked: Vec<String> = Vec::with_capacity(scored.len());
    for (_, name) in scored {
        if !ranked.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            ranked.push(name);
        }
    }
    ranked
}

/// The one name that is most alike; two that are equally alike are no answer.
pub(super) fn nearest(wrong: &str, ranked: &[String]) -> Option<String> {
    let (first, rest) = ranked.split_first()?;
    let is_second = rest.first().is_some_and(|second| likeness(wrong, second) >= likeness(wrong, first));
    (alike(wrong, first) && !is_second).then(|| first.clone())
}

/// The function that one letter makes of it: those of like names do unlike things (`hash_agg` and `hash`).
pub(super) fn function(wrong: &str) -> Option<String> {
    let known = sql::functions::catalogue::all();
    let known = known.filter(sql::functions::catalogue::Function::is_of_engine).map(|known| known.name.to_owned());
    nearest(wrong, &ranked(wrong, known.filter(|known| is_slip(wrong, known)).collect()))
}

fn is_slip(wrong: &str, right: &str) -> bool {
    const LETTERS_MIN: usize = 4;
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let wrong = wrong.to_ascii_lowercase();
    right.len() >= LETTERS_MIN && digits(&wrong) == digits(right) && strsim::osa_distance(&wrong, right) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_suggested_only_for_a_slip_of_a_letter() {
        let slips = [("uper", "upper"), ("lenght", "length"), ("SUBSTRR", "substr")];
        assert!(slips.iter().all(|(wrong, right)| is_slip(wrong, right)));
        let others =
            [("hash_agg", "hash"), ("time", "timezone"), ("seq3", "seq4"), ("check_xml", "check_json"), ("lnn", "ln")];
        assert!(!others.iter().any(|(wrong, right)| is_slip(wrong, right)));
        assert_eq!(function("uper").as_deref(), Some("upper"));
    }

    #[test]
    fn a_name_is_suggested_only_when_one_is_nearest() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let among = |wrong: &str, all: &[&str]| nearest(wrong, &ranked(wrong, names(all)));
        assert_eq!(among("custmer_id", &["amount", "customer_id"]).as_deref(), Some("customer_id"));
        assert_eq!(among("zzz", &["customer_id"]), None);
        assert_eq!(among("amount_", &["amount_a", "amount_b"]), None);
        assert_eq!(among("nmae", &["name", "NAME"]).as_deref(), Some("name"));
        assert_eq!(ranked("nmae", names(&["id", "name", "NAME", "named"])), ["name", "named", "id"]);
    }
}
