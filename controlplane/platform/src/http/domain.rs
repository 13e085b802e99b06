//! Domains in their one form: ASCII as DNS has them, in lower case.

use reqwest::Url;

use crate::mails::names::is_unseen;

/// RFC 1035, with the dots.
const BYTES_MAX: usize = 253;
const LABEL_MAX: usize = 63;

/// The domain as it is compared and kept. Another script's letters are spelt as DNS spells them (`xn--…`), so that none
/// looks like one it is not; what cannot stand in DNS is none.
pub fn canonical(given: &str) -> Option<String> {
    let is_letter = |c: char| (c.is_alphanumeric() || c == '-' || c == '.') && !is_unseen(c);
    if !given.chars().all(is_letter) {
        return None;
    }
    let url = Url::parse(&format!("http://{given}/")).ok()?;
    let domain = url.domain()?;
    let is_label =
        |label: &str| (1..=LABEL_MAX).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-');
    let (_, last) = domain.rsplit_once('.')?;
    let fits = domain.len() <= BYTES_MAX
        && domain.split('.').all(is_label)
        && last.bytes().any(|byte| byte.is_ascii_alphabetic());
    fits.then(|| domain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn every_domain_has_one_form() {
        let (longest, longer) = (format!("{}.example", "a".repeat(63)), format!("{}.example", "a".repeat(64)));
        for (given, expected) in [
            ("example.com", Some("example.com")),
            ("Mail.Example.COM", Some("mail.example.com")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("ＥＸＡＭＰＬＥ.com", Some("example.com")),
            // The first letter is Cyrillic.
            ("\u{0430}cme.example", Some("xn--cme-5cd.example")),
            (longest.as_str(), Some(longest.as_str())),
            (longer.as_str(), None),
            ("example", None),
            ("example.com.", None),
            (".example.com", None),
            ("a..example", None),
            ("-a.example", None),
            ("192.0.2.7", None),
            ("example.123", None),
            ("exa\u{200B}mple.com", None),
            ("exa\u{00AD}mple.com", None),
            ("example。com", None),
            ("a@example.com", None),
            ("example.com/x", None),
            ("exa mple.com", None),
            ("", None),
        ] {
            assert_eq!(canonical(given).as_deref(), expected, "{given}");
        }
        assert_eq!(canonical(&format!("{}example", "a.".repeat(124))), None, "255 bytes");
    }
}
