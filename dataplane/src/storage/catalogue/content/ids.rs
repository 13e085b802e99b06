//! Ids of what has a name. They are made of the name, so that a table keeps its id from one statement to the next,
//! on whatever connection.

use std::collections::BTreeSet;

/// Ids below are PostgreSQL's own.
const FIRST: u32 = 16_384;
const COUNT: u32 = 0x7fff_0000;

/// Gives each name an id of its own; in the same order, the same.
#[derive(Debug, Default)]
pub struct Ids(BTreeSet<u32>);

impl Ids {
    pub fn of(&mut self, path: &[&str]) -> u32 {
        let mut id = FIRST + hashed(path) % COUNT;
        while !self.0.insert(id) {
            id = FIRST + (id - FIRST + 1) % COUNT;
        }
        id
    }
}

/// FNV-1a, each part ended by a byte that no text holds.
fn hashed(path: &[&str]) -> u32 {
    let bytes = path.iter().flat_map(|part| part.bytes().chain([0xff]));
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_id_and_two_names_have_two() {
        let mut ids = Ids::default();
        let first = ids.of(&["t", "main", "a"]);
        assert_eq!(Ids::default().of(&["t", "main", "a"]), first);
        assert!(first >= FIRST);
        assert_ne!(ids.of(&["t", "main", "a"]), first, "taken already");
        assert_ne!(hashed(&["ab", "c"]), hashed(&["a", "bc"]));
    }
}
