//! The own stages of users, `@~`: each has the files of one user, or of one key that acts for nobody.
//!
//! Their ids are made of those of users and keys, so nobody else's can be named, and no statement has to make one.

use std::collections::BTreeSet;

use contract::secrets::hmac_sha256;
use contract::{Caller, Governance};

/// Bytes of a digest that tell one user from others.
const TOLD_BYTES: usize = 20;

/// The id of the caller's own stage: that of the user, whom a key may act for, or of the key.
pub fn user_stage(caller: &Caller) -> Option<String> {
    match (&caller.user_id, caller.key_id()) {
        (Some(user_id), _) => Some(id_of("user", user_id.as_str())),
        (None, Some(key_id)) => Some(id_of("key", key_id.as_str())),
        (None, None) => None,
    }
}

/// The ids of the own stages of all users and keys that there are.
pub fn user_stages(rules: &Governance) -> BTreeSet<String> {
    let users = rules.members.keys().map(|user_id| id_of("user", user_id.as_str()));
    let keys = rules.keys.iter().filter(|key| key.user_id.is_none());
    users.chain(keys.map(|key| id_of("key", key.key_id.as_str()))).collect()
}

fn id_of(kind: &str, id: &str) -> String {
    let digest = hmac_sha256(b"own stage", &[kind.as_bytes(), b":", id.as_bytes()]);
    format!("own-{}", hex::encode(digest.into_iter().take(TOLD_BYTES).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::governance;

    #[test]
    fn each_user_and_each_key_of_nobody_has_another_stage() {
        let mut rules = governance();
        let before = user_stages(&rules);
        assert!(before.len() >= rules.members.len(), "{before:?}");
        assert!(before.iter().all(|id| id.len() == 44), "{before:?}");
        assert_ne!(id_of("user", "a"), id_of("key", "a"));
        let gone = rules.members.pop_first().map(|(user_id, _)| id_of("user", user_id.as_str())).unwrap();
        assert!(before.contains(&gone) && !user_stages(&rules).contains(&gone));
    }
}
