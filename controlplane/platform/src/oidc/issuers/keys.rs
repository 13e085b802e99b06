//! The keys of an issuer: JSON Web Keys, each with the one algorithm it is for.

use jsonwebtoken::Algorithm;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use serde::Deserialize;
use serde_json::Value;

const KEYS_MAX: usize = 50;

/// A set, as it is published.
#[derive(Debug, Deserialize)]
pub struct Published {
    keys: Vec<Value>,
}

/// Those that can be read: a kind of key that is new to us is no reason to refuse the others.
pub fn parsed(published: &Published) -> Vec<Jwk> {
    published.keys.iter().take(KEYS_MAX).filter_map(|key| Jwk::deserialize(key).ok()).collect()
}

/// The key of this name. A token without a name means the only one.
pub fn named<'a>(keys: &'a [Jwk], kid: Option<&str>) -> Option<&'a Jwk> {
    let signs = |key: &&Jwk| !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
    let mut found = keys.iter().filter(signs).filter(|key| kid.is_none() || key.common.key_id.as_deref() == kid);
    let first = found.next()?;
    // Two of one name: which is meant cannot be told.
    found.next().is_none().then_some(first)
}

/// The algorithm of a key: what it says, else what its kind is used with. Never one with a shared
/// secret: the set is public.
pub fn algorithm(key: &Jwk) -> Option<Algorithm> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    let said = match key.common.key_algorithm {
        Some(said) => Some(said.to_string().parse::<Algorithm>().ok()?),
        None => None,
    };
    let (usual, possible): (Algorithm, &[Algorithm]) = match &key.algorithm {
        AlgorithmParameters::RSA(_) => (RS256, &[RS256, RS384, RS512, PS256, PS384, PS512]),
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => (ES256, &[ES256]),
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => (ES384, &[ES384]),
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => (EdDSA, &[EdDSA]),
        _ => return None,
    };
    Some(said.unwrap_or(usual)).filter(|algorithm| possible.contains(algorithm))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(keys: &Value) -> Vec<Jwk> {
        parsed(&serde_json::from_value(json!({"keys": keys})).unwrap())
    }

    #[test]
    fn a_key_is_for_one_algorithm_and_never_for_a_shared_secret() {
        let (n, x) = (
            "sXchDaQebHnPiGvyDOAT4saGEUetSyo9MKLOoWFsueri23bOdgWp4Dy1Wl",
            "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        );
        for (key, expected) in [
            (json!({"kty": "RSA", "n": n, "e": "AQAB"}), Some(Algorithm::RS256)),
            (json!({"kty": "RSA", "n": n, "e": "AQAB", "alg": "PS256"}), Some(Algorithm::PS256)),
            (json!({"kty": "RSA", "n": n, "e": "AQAB", "alg": "HS256"}), None),
            (json!({"kty": "RSA", "n": n, "e": "AQAB", "alg": "RSA-OAEP"}), None),
            (json!({"kty": "EC", "crv": "P-256", "x": x, "y": x}), Some(Algorithm::ES256)),
            (json!({"kty": "EC", "crv": "P-256", "x": x, "y": x, "alg": "RS256"}), None),
            (json!({"kty": "OKP", "crv": "Ed25519", "x": x}), Some(Algorithm::EdDSA)),
            (json!({"kty": "oct", "k": "c2VjcmV0"}), None),
        ] {
            let found = keys(&json!([key])).first().and_then(algorithm);
            assert_eq!(found, expected, "{key}");
        }
    }

    #[test]
    fn a_key_is_found_by_its_name_and_by_none_if_it_is_alone() {
        let key = |kid: &str| json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kid": kid});
        let two = keys(&json!([key("a"), key("b"), {"kty": "novel"}]));
        assert!(named(&two, Some("b")).is_some() && named(&two, Some("c")).is_none() && named(&two, None).is_none());
        assert!(named(&keys(&json!([key("a")])), None).is_some());
        assert!(named(&keys(&json!([key("a"), key("a")])), Some("a")).is_none());
    }
}
