//! Texts that people type: trimmed, not empty, of a bounded length, without control characters.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::domain;
use crate::mails::names::is_unseen;
use crate::{Error, Result};

/// Longest name of anything.
pub const NAME_MAX: usize = 100;
/// Scripts and pictures are written with these: a non-joiner, a joiner, the signs for text and for a picture.
const JOINING: [char; 4] = ['\u{200C}', '\u{200D}', '\u{FE0E}', '\u{FE0F}'];
/// RFC 5321.
const EMAIL_MAX: usize = 254;

/// The text as it is kept, or 400 with the field.
pub fn checked(field: &'static str, given: &str, characters_max: usize) -> Result<String> {
    let text = given.trim();
    if let Some(unseen) = text.chars().find(|c| is_unseen(*c) && !JOINING.contains(c)) {
        let message = format!("`{field}` holds U+{:04X}, which cannot be seen: type it anew", u32::from(unseen));
        return Err(Error::invalid(field, "visible characters", message));
    }
    let fits = (1..=characters_max).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if !fits {
        let message = format!("`{field}` is a text of 1 to {characters_max} characters");
        return Err(Error::invalid(field, format!("1..{characters_max} characters"), message));
    }
    Ok(text.to_owned())
}

/// An e-mail address in its one form: two spellings are one person, and two persons have addresses that differ to the eye.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Email(String);

/// Why a text is no e-mail address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoEmail {
    #[error("an e-mail address is wanted, such as ada@example.com")]
    Form,
    #[error("the address holds a character that cannot be seen: type it anew")]
    Unseen,
    #[error("before the @ of an address stand letters from a to z, digits and signs, 64 at most")]
    Name,
    #[error(
        "after the @ of an address stands a domain, such as example.com: parts of 63 characters at most, with dots between"
    )]
    Domain,
}

/// What RFC 5321 lets stand before the `@` without quotes, beside letters and digits.
const SIGNS: &str = "!#$%&'*+-/=?^_`{|}~.";
const NAME_BYTES_MAX: usize = 64;

impl Email {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// One that was taken before, by whatever rules held then.
    pub const fn kept(address: String) -> Self {
        Self(address)
    }
}

impl TryFrom<String> for Email {
    type Error = NoEmail;

    fn try_from(given: String) -> Result<Self, NoEmail> {
        let given = given.trim();
        if given.chars().any(is_unseen) {
            return Err(NoEmail::Unseen);
        }
        let (name, domain) = given.rsplit_once('@').ok_or(NoEmail::Form)?;
        let is_sign = |c: char| c.is_ascii_alphanumeric() || SIGNS.contains(c);
        let dotted = name.split('.').all(|part| !part.is_empty());
        if name.len() > NAME_BYTES_MAX || !dotted || !name.chars().all(is_sign) {
            return Err(NoEmail::Name);
        }
        let domain = domain::canonical(domain).ok_or(NoEmail::Domain)?;
        let text = format!("{}@{domain}", name.to_ascii_lowercase());
        if text.len() <= EMAIL_MAX { Ok(Self(text)) } else { Err(NoEmail::Form) }
    }
}

impl From<Email> for String {
    fn from(email: Email) -> Self {
        email.0
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_address_is_one_whatever_its_case() {
        assert_eq!(Email::try_from(" Ada@Example.COM ".to_owned()).unwrap().as_str(), "ada@example.com");
        assert_eq!(
            Email::try_from("o'hara+x@bücher.example".to_owned()).unwrap().as_str(),
            "o'hara+x@xn--bcher-kva.example"
        );
        let (name, label) = ("a".repeat(65), "a".repeat(64));
        for (bad, why) in [
            ("", NoEmail::Form),
            ("ada", NoEmail::Form),
            ("@example.com", NoEmail::Name),
            ("ada@", NoEmail::Domain),
            ("ada@example", NoEmail::Domain),
            ("a b@example.com", NoEmail::Name),
            ("a@b@example.com", NoEmail::Name),
            ("a..b@example.com", NoEmail::Name),
            ("\u{0430}da@example.com", NoEmail::Name),
            ("a@-x.com", NoEmail::Domain),
            ("a@x..com", NoEmail::Domain),
            ("a@example.com.", NoEmail::Domain),
            ("ada@example.com\u{200B}", NoEmail::Unseen),
            ("a\u{2060}da@example.com", NoEmail::Unseen),
            (&format!("{name}@example.com"), NoEmail::Name),
            (&format!("a@{label}.example"), NoEmail::Domain),
        ] {
            assert_eq!(Email::try_from(bad.to_owned()), Err(why), "{bad}");
        }
    }

    #[test]
    fn a_name_is_trimmed_and_bounded() {
        assert_eq!(checked("name", "  Acme ", 100).unwrap(), "Acme");
        assert!(checked("name", "\u{0645}\u{06CC}\u{200C}\u{0645}", 100).is_ok(), "Persian is written so");
        for bad in ["", "   ", "a\nb", "a\u{200B}", "a\u{202E}b", &"x".repeat(101)] {
            assert!(checked("name", bad, 100).is_err(), "{bad:?}");
        }
    }
}
