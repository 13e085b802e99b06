//! The widths and precisions that a text of `format` or `printf` asks for: so much one call makes of little, outside
//! of what the engine counts in memory.

/// All of one text together; nothing where one of them is a value of the call. `{0:>20}` is a field of `format`,
/// `%-20.3f` one of `printf`; `{{` is a brace, `%%` a percent sign.
pub(crate) fn asked(function: &str, text: &str) -> Option<u64> {
    let (sign, value) = if function.eq_ignore_ascii_case("printf") { ('%', '*') } else { ('{', '{') };
    let mut sum = 0;
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(sign) {
        if let Some(escaped) = after.strip_prefix(sign) {
            rest = escaped;
            continue;
        }
        let end = after.find(|c: char| if sign == '%' { c.is_ascii_alphabetic() } else { c == '}' });
        let (field, after) = after.split_at(end.unwrap_or(after.len()));
        if field.contains(value) {
            return None;
        }
        sum = numbers(field).fold(sum, u64::saturating_add);
        rest = after;
    }
    Some(sum)
}

/// One that is too long to be a number is more than any.
fn numbers(field: &str) -> impl Iterator<Item = u64> {
    let digits = field.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    digits.map(|digits| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_of_a_text_are_added_up() {
        let cases = [
            ("format", "{} of 10000000000", Some(0)),
            ("FORMAT", "{:>20}|{:.30f}", Some(50)),
            ("format", "{{\"n\": {:07}, \"m\": {}}}", Some(7)),
            ("format", "{{{:>5}}} {{99}}", Some(5)),
            ("format", "{:99999999999999999999}", Some(u64::MAX)),
            ("format", "{:>0000000020000000", Some(20_000_000)),
            ("format", "{:{}}", None),
            ("format", "{0:.{1}f}", None),
            ("printf", "100%% of 10000000000 %d", Some(0)),
            ("printf", "%-20d|%+.30f|%'5ld", Some(55)),
            ("PrintF", "%%%1000000000d", Some(1_000_000_000)),
            ("printf", "%*d", None),
            ("printf", "%.*f", None),
        ];
        for (function, text, expected) in cases {
            assert_eq!(asked(function, text), expected, "{function} {text}");
        }
    }
}
