//! The words of a text, as search compares them: lower case, without endings, without fillers.

/// Longest word that counts; the rest of a longer one is dropped.
const CHARS_MAX: usize = 64;
const FILLERS: [&str; 24] = [
    "the", "and", "for", "are", "was", "were", "with", "that", "this", "from", "have", "has", "had", "but", "not",
    "you", "your", "its", "into", "than", "then", "they", "them", "will",
];
const ENDINGS: [&str; 6] = ["ings", "ing", "ies", "ed", "es", "s"];
/// What must be left of a word when its ending goes.
const STEM_CHARS_MIN: usize = 3;

/// Every word, in order.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.chars().take(CHARS_MAX).flat_map(char::to_lowercase).collect())
}

/// The words that carry a meaning, without their endings; a number is one.
pub fn terms(text: &str) -> impl Iterator<Item = String> {
    let counts = |word: &String| {
        let long = word.chars().count() > 2 && !FILLERS.contains(&word.as_str());
        long || word.contains(|c: char| c.is_ascii_digit())
    };
    words(text).filter(counts).map(|word| stem(&word))
}

fn stem(word: &str) -> String {
    let stem = ENDINGS.iter().find_map(|ending| {
        let stem = word.strip_suffix(ending)?;
        (stem.chars().count() >= STEM_CHARS_MIN && !stem.ends_with('s')).then_some(stem)
    });
    let stem = stem.unwrap_or(word);
    let bare = stem.strip_suffix('e').filter(|bare| bare.chars().count() >= STEM_CHARS_MIN);
    bare.unwrap_or(stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one_term() {
        let found = |text: &str| terms(text).collect::<Vec<_>>();
        assert_eq!(found("The customers PREFER invoices"), ["customer", "prefer", "invoic"]);
        assert_eq!(found("billing, billed; bills"), ["bill", "bill", "bill"]);
        assert_eq!(found("an invoice was stored; store invoices"), ["invoic", "stor", "stor", "invoic"]);
        assert_eq!(found("a is of — 42"), ["42"]);
        assert_eq!(found("Größe übermäßig"), ["größ", "übermäßig"]);
    }
}
