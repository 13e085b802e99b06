//! Texts that are stored without what opens a key.

/// Stands where what opens a key was.
pub const REDACTED: &str = "[redacted]";

/// The beginnings of keys.
const KINDS: [&str; 2] = ["svc_live_", "svc_test_"];

/// A text that looks like a key is never stored, whoever put it anywhere. Keeps what names a key, the prefix's first
/// characters, and drops what opens it. None where nothing looks like one: most texts are that way, and are not copied.
pub fn scrubbed(text: &str) -> Option<String> {
    KINDS.iter().any(|kind| text.contains(kind)).then(|| scrub(text))
}

fn scrub(text: &str) -> String {
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
        assert_eq!(scrubbed(&key).as_deref(), Some("svc_live_[redacted]"));
        assert_eq!(scrubbed(&key.replace("live", "test")).as_deref(), Some("svc_test_[redacted]"));
        assert_eq!(scrubbed("select 'svc_'"), None);
    }
}
