//! Recovery codes: ten, each good once, for whoever has lost their authenticator.

use contract::Entropy;
use sha2::{Digest, Sha256};

const COUNT: usize = 10;
/// 80 bits: nobody finds one by trying, not even with the digest in hand.
const BYTES: usize = 10;
const GROUP: usize = 5;

/// `12ab3-4cd5e-…`: shown once.
pub fn fresh(entropy: &Entropy) -> Vec<String> {
    let code = || {
        let digits: Vec<char> = hex::encode(entropy.bytes::<BYTES>()).chars().collect();
        digits.chunks(GROUP).map(String::from_iter).collect::<Vec<_>>().join("-")
    };
    (0..COUNT).map(|_| code()).collect()
}

/// As it is stored. However it was typed: dashes, spaces and case do not count.
pub fn digest(code: &str) -> [u8; 32] {
    let bare: String = code.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    Sha256::digest(bare.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_one_however_it_is_typed() {
        let codes = fresh(&Entropy::seeded(1));
        assert_eq!((codes.len(), codes[0].len()), (10, 23));
        let typed = codes[0].replace('-', " ").to_uppercase();
        assert_eq!(digest(&codes[0]), digest(&typed));
        assert_ne!(digest(&codes[0]), digest(&codes[1]));
    }
}
