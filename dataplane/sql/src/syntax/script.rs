//! Scripts that write no blanks between words; and Korean, where a word and its particles stand together.

/// Their characters, from the first to the last of each block.
pub const UNSPACED: [(char, char); 14] = [
    ('\u{0E00}', '\u{0EFF}'), // Thai, Lao
    ('\u{1000}', '\u{109F}'), // Burmese
    ('\u{A9E0}', '\u{A9FF}'),
    ('\u{AA60}', '\u{AA7F}'),
    ('\u{1780}', '\u{17FF}'), // Khmer
    ('\u{3005}', '\u{3007}'), // Chinese, Japanese
    ('\u{3040}', '\u{312F}'),
    ('\u{31A0}', '\u{31BF}'),
    ('\u{31F0}', '\u{31FF}'),
    ('\u{3400}', '\u{4DBF}'),
    ('\u{4E00}', '\u{9FFF}'),
    ('\u{F900}', '\u{FAFF}'),
    ('\u{20000}', '\u{323AF}'),
    ('\u{AC00}', '\u{D7A3}'), // Korean
];

pub fn is_unspaced(c: char) -> bool {
    UNSPACED.iter().any(|(first, last)| (*first..=*last).contains(&c))
}
