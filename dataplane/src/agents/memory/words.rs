//! The words of a text, as search compares them: letters in one form and one case, without endings and fillers.
//!
//! What is stored and what is asked are taken apart alike (`pieces`). Where a script writes no blanks, each two
//! neighbouring characters are a term, and what is stored is found by each of its characters too. A dictionary would
//! cut a text and a question at different places, and then one would not find the other.

mod pieces;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use pieces::{TextPiece, Word, pieces, plain};

/// Longest word that counts; the rest of a longer one is dropped.
const CHARS_MAX: usize = 64;
const FILLERS: [&str; 47] = [
    "a", "am", "an", "and", "are", "as", "at", "be", "but", "by", "do", "for", "from", "had", "has", "have", "he", "i",
    "if", "in", "into", "is", "it", "its", "me", "my", "no", "not", "of", "on", "or", "so", "than", "that", "the",
    "them", "then", "they", "this", "to", "we", "was", "were", "will", "with", "you", "your",
];
const ENDINGS: [&str; 6] = ["ings", "ing", "ies", "ed", "es", "s"];
/// What must be left of a word when its ending goes.
const STEM_CHARS_MIN: usize = 3;

/// What a text says or asks: its terms that carry a meaning; where none does, all of them.
pub fn terms(text: &str) -> Vec<String> {
    collected(text, false)
}

/// What a text is found by: its terms, and the parts of them that may be asked for alone.
pub fn found_by(text: &str) -> Vec<String> {
    collected(text, true)
}

fn collected(text: &str, with_parts: bool) -> Vec<String> {
    let text = plain(text);
    // where all is in capitals, they mark no names
    let has_small = text.contains(char::is_lowercase);
    let (mut terms, mut fillers) = (Vec::new(), Vec::new());
    for piece in pieces(&text) {
        match piece {
            TextPiece::Run(run) => neighbours(run, with_parts, &mut terms),
            TextPiece::Word(word) if word.is_contracted() => {}
            TextPiece::Word(word) => {
                let folded = folded(word.text);
                let is_filler = FILLERS.contains(&folded.as_str()) && word.sign.is_empty();
                let is_filler = is_filler && !(has_small && word.is_name());
                spelled(&word, &folded, with_parts, if is_filler { &mut fillers } else { &mut terms });
            }
        }
    }
    if terms.is_empty() { fillers } else { terms }
}

/// `c++` is asked for as it is written, and found by `c` too.
fn spelled(word: &Word<'_>, folded: &str, with_parts: bool, terms: &mut Vec<String>) {
    if !word.sign.is_empty() {
        terms.push(format!("{folded}{}", word.sign));
    }
    if word.sign.is_empty() || with_parts {
        terms.push(stem(folded));
    }
}

/// Each two neighbouring characters; one that stands alone is a term, and is asked for as such.
fn neighbours(run: &str, with_parts: bool, terms: &mut Vec<String>) {
    let characters: Vec<&str> = run.graphemes(true).collect();
    if with_parts || characters.len() == 1 {
        terms.extend(characters.iter().map(|one| (*one).to_owned()));
    }
    for two in characters.windows(2) {
        terms.push(two.concat());
    }
}

/// In one case: `Straße` and `STRASSE`, `ΟΔΟΣ` and `οδος` are the same.
fn folded(word: &str) -> String {
    if word.is_ascii() {
        return word.chars().take(CHARS_MAX).map(|c| c.to_ascii_lowercase()).collect();
    }
    word.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc().take(CHARS_MAX).collect()
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
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms_of_a_word_are_one_term() {
        assert_eq!(terms("The customers PREFER invoices"), ["customer", "prefer", "invoic"]);
        assert_eq!(terms("billing, billed; bills"), ["bill", "bill", "bill"]);
        assert_eq!(terms("an invoice was stored; store invoices"), ["invoic", "stor", "stor", "invoic"]);
        assert_eq!(terms("a is of — 42"), ["42"]);
        assert_eq!(terms("Größe übermäßig"), ["gröss", "übermässig"]);
        assert_eq!(terms("the customer's limit; it's what they’ll pay"), ["customer", "limit", "what", "pay"]);
        assert_eq!(terms("sales.orders_2024"), ["sal", "order", "2024"]);
    }

    #[test]
    fn words_of_one_letter_and_two_count_unless_they_are_fillers() {
        assert_eq!(terms("we buy Au in Go, R and C++"), ["buy", "au", "go", "r", "c++"]);
        assert_eq!(terms("C# or F#, not issue#5 + 1"), ["c#", "f#", "issu", "5", "1"]);
        assert_eq!(found_by("C++"), ["c++", "c"]);
        assert_eq!(terms("R&D of the IT budget"), ["r", "d", "it", "budget"]);
        assert_eq!(terms("plan A. A new one"), ["plan", "a", "new", "one"]);
        assert_eq!(terms("WHAT IS IT"), ["what"]);
        assert_eq!(terms("to be or not to be"), ["to", "be", "or", "not", "to", "be"], "else there is nothing");
    }

    #[test]
    fn letters_have_one_form() {
        for (one, other) in [
            ("Ａｕ", "Au"),
            ("ﬁnance oﬀice", "finance office"),
            ("cafe\u{301}", "café"),
            ("STRASSE", "straße"),
            ("ΟΔΟΣ", "οδος"),
            ("ｺｰﾋｰ", "コーヒー"),
            ("cof\u{ad}fee", "coffee"),
            ("می\u{200c}خواهم", "میخواهم"),
            ("m²", "m2"),
        ] {
            assert_eq!(terms(one), terms(other), "{one}");
            assert!(!terms(one).is_empty(), "{one}");
        }
        assert_eq!(terms("हिन्दी").len(), 1, "a sign within a word does not part it");
    }

    #[test]
    fn a_script_without_blanks_is_found_by_any_part() {
        for (text, parts) in [
            ("我每天早上喝咖啡", &["咖啡", "早上", "喝"][..]),
            ("毎朝コーヒーを飲みます", &["コーヒー", "飲み", "朝"]),
            ("ฉันดื่มกาแฟทุกเช้า", &["กาแฟ", "ดื่ม", "เช้า"]),
            ("커피를 마십니다", &["커피", "마십"]),
            ("金价AI上涨 2024年", &["AI", "金价", "上涨", "2024", "年"]),
        ] {
            let known: HashSet<_> = found_by(text).into_iter().collect();
            for part in parts {
                assert!(!terms(part).is_empty() && terms(part).iter().all(|term| known.contains(term)), "{part}");
            }
            assert!(!terms("茶").iter().any(|term| known.contains(term)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_is_found_by_what_it_says(text in "\\PC{0,40}") {
            let known: HashSet<_> = found_by(&text).into_iter().collect();
            for term in terms(&text) {
                prop_assert!(!term.is_empty() && known.contains(&term), "{term}");
            }
        }
    }
}
