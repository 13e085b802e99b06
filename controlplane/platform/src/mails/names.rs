//! Names that people chose, as a mail may say them.
//!
//! Whoever signs up chooses a name, and whoever they invite reads it in a mail of ours. So a name is
//! one short line, and holds nothing that a mail program makes a link of.

/// A longer name is cut.
const CHARACTERS_MAX: usize = 40;
/// What addresses and links are made of, and the characters that look like it or are resolved as it.
const OF_LINKS: &str = ".:/\\@<>[](){}%#?=&\"'`|*_~。．｡․：／＠";

/// One short line without a link, or `otherwise` where nothing is left.
pub fn said(name: &str, otherwise: &str) -> String {
    let plain: String = name.chars().filter(|c| !is_unseen(*c)).map(|c| if is_of_links(c) { ' ' } else { c }).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARACTERS_MAX) {
        _ if line.is_empty() => otherwise.to_owned(),
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
        None => line,
    }
}

fn is_of_links(c: char) -> bool {
    c.is_control() || OF_LINKS.contains(c)
}

/// Characters that take no room, join, or turn the line around.
pub fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn a_name_is_one_short_line_without_a_link() {
        for (name, expected) in [
            ("Acme", "Acme"),
            ("Müller & Söhne, Inc.", "Müller Söhne, Inc"),
            ("Win a prize https://evil.example ->", "Win a prize https evil example -"),
            ("www.evil.example", "www evil example"),
            ("evil。example/x", "evil example x"),
            ("a@evil.example", "a evil example"),
            ("Acme\r\nBcc: eve@evil.example", "Acme Bcc eve evil example"),
            ("Ac\u{200B}me\u{202E}", "Acme"),
            ("...", "somebody"),
            (" \u{2028} ", "somebody"),
        ] {
            assert_eq!(said(name, "somebody"), expected, "{name:?}");
        }
        let long = said(&"nine more ".repeat(10), "somebody");
        assert!(long.chars().count() <= 41 && long.ends_with('…'), "{long}");
    }
}
