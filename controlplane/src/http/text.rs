//! Texts that people type: trimmed, not empty, of a bounded length, without control characters.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Longest name of anything.
pub const NAME_MAX: usize = 100;
/// RFC 5321.
const EMAIL_MAX: usize = 254;

/// The text as it is kept, or 400 with the field.
pub fn checked(field: &'static str, given: &str, characters_max: usize) -> Result<String> {
    let text = given.trim();
    let fits = (1..=characters_max).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if !fits {
        let message = format!("`{field}` is a text of 1 to {characters_max} characters");
        return Err(Error::invalid(field, format!("1..{characters_max} characters"), message));
    }
    Ok(text.to_owned())
}

/// An e-mail address, in lower case: two spellings are one person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Email(String);

#[derive(Debug, thiserror::Error)]
#[error("an e-mail address is wanted, such as ada@example.com")]
pub struct NoEmail;

impl Email {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Email {
    type Error = NoEmail;

    fn try_from(given: String) -> Result<Self, NoEmail> {
        let text = given.trim().to_lowercase();
        let (name, domain) = text.rsplit_once('@').ok_or(NoEmail)?;
        let strange = |c: char| c.is_whitespace() || c.is_control() || "<>()[]\\,;:\"".contains(c);
        let fits = text.len() <= EMAIL_MAX
            && !name.is_empty()
            && name.len() <= 64
            && !name.contains('@')
            && domain.split('.').all(|label| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-'))
            && domain.contains('.')
            && !text.chars().any(strange);
        if fits { Ok(Self(text)) } else { Err(NoEmail) }
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
        for bad in [
            "",
            "ada",
            "@example.com",
            "ada@",
            "ada@example",
            "a b@example.com",
            "a@b@example.com",
            "a@-x.com",
            "a@x..com",
        ] {
            assert!(Email::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_trimmed_and_bounded() {
        assert_eq!(checked("name", "  Acme ", 100).unwrap(), "Acme");
        for bad in ["", "   ", "a\nb", &"x".repeat(101)] {
            assert!(checked("name", bad, 100).is_err(), "{bad:?}");
        }
    }
}
