//! Names and strings as the engine reads them: one quote doubled, nothing else special.

/// `"name"`.
pub fn name(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    name_into(&mut out, name);
    out
}

/// `'text'`.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    text_into(&mut out, text);
    out
}

pub(crate) fn name_into(out: &mut String, name: &str) {
    quoted(out, name, '"');
}

pub(crate) fn text_into(out: &mut String, text: &str) {
    quoted(out, text, '\'');
}

fn quoted(out: &mut String, text: &str, quote: char) {
    out.push(quote);
    for c in text.chars() {
        if c == quote {
            out.push(quote);
        }
        out.push(c);
    }
    out.push(quote);
}

/// Can stand without quotes as far as its letters go.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}
