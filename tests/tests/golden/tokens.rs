//! Rust sources as words, signs and literals.

/// Splits a source into words, signs and literals; comments are left out.
pub fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            let length = token(rest);
            let token = &rest[..length];
            tokens.push(token.find('"').map_or(token, |quote| &token[quote..]).to_owned());
            length
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of the token that the text starts with.
fn token(text: &str) -> usize {
    let word = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let after = &text[word..];
    if ["r", "br", "b", ""].contains(&&text[..word]) {
        let hashes = after.len() - after.trim_start_matches('#').len();
        if after[hashes..].starts_with('"') {
            return word + if text[..word].contains('r') { raw_string(after, hashes) } else { quoted(after, '"') };
        }
        if let Some(inside) = after.strip_prefix('\'') {
            let is_char = inside.starts_with('\\') || inside.chars().nth(1) == Some('\'');
            return word + if is_char { quoted(after, '\'') } else { 1 + token(inside) };
        }
    }
    match word {
        0 if text.starts_with("::") => 2,
        0 => text.chars().next().map_or(1, char::len_utf8),
        word => word,
    }
}

fn raw_string(text: &str, hashes: usize) -> usize {
    let end = format!("\"{}", "#".repeat(hashes));
    hashes + 1 + text[hashes + 1..].find(&end).unwrap() + end.len()
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text[1..].find(|c| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.unwrap() + 2
}

/// Leaves out every item that is compiled for tests only.
pub fn without_tests(tokens: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let attribute = if tokens[at] == "#" { closed(tokens, at + 1) } else { at };
        let words = &tokens[at..attribute];
        let of_tests = words.len() > 3 && words[2] == "cfg" && words.iter().any(|word| word == "test");
        if of_tests && !words.iter().any(|word| word == "not") {
            at = item_end(tokens, attribute);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Behind the item that starts here: its semicolon, or its braces.
fn item_end(tokens: &[String], mut at: usize) -> usize {
    while at < tokens.len() {
        match tokens[at].as_str() {
            ";" | "," => return at + 1,
            "{" => return closed(tokens, at),
            "(" | "[" => at = closed(tokens, at),
            _ => at += 1,
        }
    }
    at
}

/// Behind the bracket that closes the one that opens here.
fn closed(tokens: &[String], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

pub fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

#[test]
fn strings_and_comments_hide_no_code() {
    let text = "let a = b'\"'; // use x::Y\nf::<'a>(r#\"a\"::b\"#, \"\\\"\", '\\'')";
    let found = tokens(text);
    assert_eq!(found[..4], ["let", "a", "=", "\"'"]);
    assert_eq!(found[4..], [";", "f", "::", "<", "'a", ">", "(", "\"a\"::b\"#", ",", "\"\\\"\"", ",", "'\\''", ")"]);
}

#[test]
fn items_of_tests_are_left_out() {
    let text =
        "#[cfg(test)] #[allow(x)] mod tests { fn a() {} } #[cfg(not(test))] fn b() {} #[cfg(test)] mod c; fn d() {}";
    assert_eq!(without_tests(&tokens(text)), tokens("#[cfg(not(test))] fn b() {} fn d() {}"));
}
