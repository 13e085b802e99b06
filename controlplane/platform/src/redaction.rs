//! Texts that are stored without what opens a key.

/// Stands where what opens a key was.
pub const REDACTED: &str = "[redacted]";

/// A text that looks like a key is never stored, whoever put it anywhere. Keeps what names a key, the prefix's first
/// characters, and drops what opens it.
pub fn scrub(text: &str) -> String {
    const KINDS: [&str; 2] = ["svc_live_", "svc_test_"];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, kind)) = KINDS.iter().filter_map(|kind| Some((rest.find(kind)?, kind))).min() {
        let (before, from) = rest.split_at(at);
        let tail = from.get(kind.len()..).unwrap_or_default();
        let length = tail.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        out.push_str(before);
        out.push_str(kind);
        out.push_str(if length > 12 { REDACTED } else { tail.get(..length).unwrap_or_default() });
        rest = tail.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_opens_a_key_is_never_stored() {
        let key = format!("svc_live_{}", "a1B2".repeat(15));
        assert_eq!(
            scrub(&format!("select '{key}', 'svc_test_short'")),
            "select 'svc_live_[redacted]', 'svc_test_short'"
        );
        assert_eq!(scrub("select 'ä' from svc_live_"), "select 'ä' from svc_live_");
        assert_eq!(scrub(&key.repeat(2)), "svc_live_[redacted]");
    }
}
