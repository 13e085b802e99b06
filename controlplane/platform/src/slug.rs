//! Slugs: the URL-safe names of organizations and environments, immutable.
//!
//! On one machine: 1 to 63 of a-z, 0-9 and `-`, and neither starts nor ends with `-`. A slug that
//! names a resource also starts with a letter and has at most 25, because the names of an
//! environment's parts are made of two of them.

use crate::{Error, Result};

/// Which slugs an installation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slugs {
    OfRows,
    OfResources,
}

impl Slugs {
    const fn longest(self) -> usize {
        match self {
            Self::OfRows => 63,
            Self::OfResources => 25,
        }
    }

    pub fn fits(self, text: &str) -> bool {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let starts = match self {
            Self::OfRows => !text.starts_with('-'),
            Self::OfResources => text.starts_with(|c: char| c.is_ascii_lowercase()),
        };
        (1..=self.longest()).contains(&text.len()) && text.bytes().all(inner) && starts && !text.ends_with('-')
    }

    /// The slug that was sent, or 400.
    pub fn checked(self, given: &str) -> Result<String> {
        if self.fits(given) {
            return Ok(given.to_owned());
        }
        let (constraint, first) = match self {
            Self::OfRows => ("[a-z0-9-]{1,63}", "neither starts nor ends with `-`"),
            Self::OfResources => ("[a-z][a-z0-9-]{0,24}", "starts with a letter and does not end with `-`"),
        };
        let message = format!("`slug` is 1 to {} of a-z, 0-9 and `-`, and {first}", self.longest());
        Err(Error::invalid("slug", constraint, message))
    }

    /// A slug made of a name, with room for an ending of nine characters.
    pub fn of_name(self, name: &str) -> String {
        let words: String =
            name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let dashed = words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
        let begun = match self {
            Self::OfRows => dashed.as_str(),
            Self::OfResources => dashed.trim_start_matches(|c: char| !c.is_ascii_lowercase()),
        };
        let longest = self.longest().min(49) - 9;
        let short: String = begun.chars().take(longest).collect();
        let short = short.trim_end_matches('-');
        if short.is_empty() { "org".to_owned() } else { short.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::Slugs::{OfResources, OfRows};

    #[test]
    fn a_resources_slug_is_shorter_and_starts_with_a_letter() {
        for (slug, row, resource) in [
            ("acme", true, true),
            ("a-2", true, true),
            ("2-a", true, false),
            (&"x".repeat(26), true, false),
            (&"x".repeat(64), false, false),
            ("", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("Acme", false, false),
            ("a_b", false, false),
        ] {
            assert_eq!((OfRows.fits(slug), OfResources.fits(slug)), (row, resource), "{slug}");
            assert_eq!(OfResources.checked(slug).is_ok(), resource, "{slug}");
        }
    }

    #[test]
    fn a_slug_made_of_a_name_fits_with_its_ending() {
        for name in ["Acme", "9 Lives, Inc.", "   ", "ÄÖÜ", &"long words ".repeat(20), "7", "a-b--c"] {
            for slugs in [OfRows, OfResources] {
                let made = slugs.of_name(name);
                assert!(slugs.fits(&made) && slugs.fits(&format!("{made}-01234567")), "{name}: {made}");
            }
        }
        assert_eq!(
            (OfRows.of_name("9 Lives, Inc."), OfResources.of_name("9 Lives, Inc.")),
            ("9-lives-inc".into(), "lives-inc".into())
        );
    }
}
