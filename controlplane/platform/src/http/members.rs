//! No object of a body has a member twice. JSON lets it, and its readers differ in which one counts: whoever has
//! reviewed a policy must have read what is kept.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::{Error, Result};

/// Refuses what has a member twice, wherever in it; what is no JSON is left to whoever reads it.
pub(crate) fn are_distinct(bytes: &[u8]) -> Result<()> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, Distinct>(&mut reader) {
        Err(error) if error.inner().is_data() => {
            let field = error.path().to_string();
            Err(Error::invalid(field.clone(), "unique", format!("`{field}` is there twice: leave one of them out")))
        }
        _ => Ok(()),
    }
}

/// A value of which every object has each of its members once.
struct Distinct;

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Walk)
    }
}

struct Walk;

impl<'de> Visitor<'de> for Walk {
    type Value = Distinct;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Distinct, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.insert(name) {
                map.next_value::<Distinct>()?;
            } else {
                map.next_value::<DuplicateMember>()?;
            }
        }
        Ok(Distinct)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Distinct, A::Error> {
        while items.next_element::<Distinct>()?.is_some() {}
        Ok(Distinct)
    }

    fn visit_unit<E>(self) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Distinct, E> {
        Ok(Distinct)
    }
}

/// The value of a member that was there before: read to fail, for the path of the failure leads to it.
struct DuplicateMember;

impl<'de> Deserialize<'de> for DuplicateMember {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer)?;
        Err(D::Error::custom("there twice"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_is_there_twice_is_named() {
        for (body, field) in [
            (r#"{"name": "a", "name": "a"}"#, "name"),
            (r#"{"name": "a", "n\u0061me": "b"}"#, "name"),
            (r#"{"masks": {"ssn": "full", "name": "full", "ssn": "none"}}"#, "masks.ssn"),
            (r#"{"rules": [{"a": 1}, {"a": 1, "b": [], "a": {}}]}"#, "rules[1].a"),
        ] {
            let details = are_distinct(body.as_bytes()).unwrap_err().problem().details;
            assert_eq!((details["field"].as_str(), details["constraint"].as_str()), (Some(field), Some("unique")));
        }
    }

    #[test]
    fn everything_else_is_left_to_its_reader() {
        for body in
            [r#"{"a": {"a": [1, -1, 1.5, 1e400, true, null, "a"]}, "A": {"a": 1}}"#, "{}", r#"{"a": 1, "a""#, "x", ""]
        {
            are_distinct(body.as_bytes()).unwrap();
        }
    }
}
