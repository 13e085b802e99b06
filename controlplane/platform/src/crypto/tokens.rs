//! Access tokens: JWT, signed with Ed25519, good for an hour, bound to a session.
//!
//! The algorithm comes from our key, never from the token's header, and `kid` has to name our key.
//! Headers that would bring a key along are refused. What the token says of the role is for its
//! reader: the guard asks the session's row, so that a removed user's token ends at once.

use contract::{Code, OrgId, Role, SessionId, Timestamp, UserId};
use jsonwebtoken::jwk::{Jwk, JwkSet, KeyAlgorithm, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

use crate::{Config, Error, Result};

/// "access 1 h".
pub const ACCESS_SECONDS: i64 = 3_600;
/// Clocks of one installation differ by less.
const LEEWAY_SECONDS: i64 = 30;
/// What stands before the seed in an Ed25519 key's PKCS #8 form.
pub const PKCS8_HEAD: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Claims {
    pub sub: UserId,
    pub org_id: OrgId,
    pub role: Role,
    pub sid: SessionId,
    pub iat: i64,
    pub exp: i64,
    pub iss: String,
    pub aud: String,
}

/// Signs and checks; holds the one key.
pub struct TokenSigner {
    signing: EncodingKey,
    checking: DecodingKey,
    published: Jwk,
    kid: String,
    issuer: String,
}

impl TokenSigner {
    pub fn new(config: &Config) -> Result<Self, jsonwebtoken::errors::Error> {
        let seed = config.jwt_key.as_ref().map_or_else(|| config.secret_key.token_seed(), |seed| *seed.expose());
        let signing = EncodingKey::from_ed_der(&[PKCS8_HEAD.as_slice(), &seed].concat());
        let mut published = Jwk::from_encoding_key(&signing, Algorithm::EdDSA)?;
        let kid = published.thumbprint(ThumbprintHash::SHA256)?;
        published.common.key_id = Some(kid.clone());
        published.common.public_key_use = Some(PublicKeyUse::Signature);
        published.common.key_algorithm = Some(KeyAlgorithm::EdDSA);
        let checking = DecodingKey::from_jwk(&published)?;
        Ok(Self { signing, checking, published, kid, issuer: config.public_url().to_owned() })
    }

    /// The public halves, for `/.well-known/jwks.json`.
    pub fn published(&self) -> JwkSet {
        JwkSet { keys: vec![self.published.clone()] }
    }

    pub fn issue(&self, sub: UserId, org_id: OrgId, role: Role, sid: SessionId, now: Timestamp) -> Result<String> {
        let iat = now.timestamp();
        let exp = iat.saturating_add(ACCESS_SECONDS);
        let claims = Claims { sub, org_id, role, sid, iat, exp, iss: self.issuer.clone(), aud: self.issuer.clone() };
        let header = Header { kid: Some(self.kid.clone()), ..Header::new(Algorithm::EdDSA) };
        jsonwebtoken::encode(&header, &claims, &self.signing).map_err(Error::internal)
    }

    /// Does it say that we have signed it? A token that does not is somebody else's, if it is one.
    pub fn is_ours(&self, text: &str) -> bool {
        jsonwebtoken::decode_header(text).is_ok_and(|header| header.kid.as_deref() == Some(self.kid.as_str()))
    }

    pub fn check(&self, text: &str, now: Timestamp) -> Result<Claims> {
        let invalid = Error::BadCredential(Code::InvalidToken);
        let Ok(header) = jsonwebtoken::decode_header(text) else {
            return Err(invalid);
        };
        let brings_a_key = header.jku.is_some() || header.jwk.is_some() || header.x5u.is_some() || header.x5c.is_some();
        if header.alg != Algorithm::EdDSA
            || header.kid.as_deref() != Some(self.kid.as_str())
            || brings_a_key
            || header.crit.is_some()
        {
            return Err(invalid);
        }
        let mut rules = Validation::new(Algorithm::EdDSA);
        rules.set_required_spec_claims(&["exp", "sub", "iss", "aud"]);
        rules.set_issuer(&[&self.issuer]);
        rules.set_audience(&[&self.issuer]);
        // The library would read the machine's clock; ours is a parameter.
        rules.validate_exp = false;
        let claims = jsonwebtoken::decode::<Claims>(text, &self.checking, &rules).map_err(|_| invalid)?.claims;
        let now = now.timestamp();
        if claims.iat > now.saturating_add(LEEWAY_SECONDS) {
            return Err(Error::BadCredential(Code::InvalidToken));
        }
        if claims.exp <= now {
            return Err(Error::BadCredential(Code::ExpiredToken));
        }
        Ok(claims)
    }
}

impl std::fmt::Debug for TokenSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TokenSigner({})", self.kid)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use chrono::DateTime;
    use contract::Keyring;
    use serde_json::{Value, json};

    use super::*;

    fn tokens() -> TokenSigner {
        TokenSigner::new(&Config::new(String::new(), Keyring::new([1; 32]))).unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    fn header(tokens: &TokenSigner) -> Header {
        Header { kid: Some(tokens.kid.clone()), ..Header::new(Algorithm::EdDSA) }
    }

    fn claims() -> Value {
        json!({"sub": "u", "org_id": "o", "role": "admin", "sid": "s", "iat": 1_000, "exp": 4_600,
            "iss": "http://localhost:8080", "aud": "http://localhost:8080"})
    }

    fn code(tokens: &TokenSigner, text: &str, now: i64) -> Option<Code> {
        tokens.check(text, at(now)).err().map(|error| error.code())
    }

    #[test]
    fn a_token_is_good_for_an_hour() {
        let tokens = tokens();
        let text = tokens.issue("u".into(), "o".into(), Role::Admin, "s".into(), at(1_000)).unwrap();
        assert_eq!(tokens.check(&text, at(1_000)).unwrap().sub, UserId::from("u"));
        assert_eq!(code(&tokens, &text, 4_599), None);
        assert_eq!(code(&tokens, &text, 4_600), Some(Code::ExpiredToken));
    }

    #[test]
    fn claims_of_a_wrong_type_or_value_are_refused() {
        let tokens = tokens();
        let sign = |claims: &Value| jsonwebtoken::encode(&header(&tokens), claims, &tokens.signing).unwrap();
        assert_eq!(code(&tokens, &sign(&claims()), 1_000), None);
        for (name, value) in [
            ("exp", json!("4600")),
            ("exp", json!(-1)),
            ("exp", json!(1e300)),
            ("exp", Value::Null),
            ("iss", json!("http://elsewhere")),
            ("aud", json!("http://elsewhere")),
            ("aud", json!([])),
            ("sub", json!(1)),
            ("role", json!("root")),
            ("iat", json!(1_100)),
        ] {
            let mut claims = claims();
            claims[name] = value.clone();
            assert!(code(&tokens, &sign(&claims), 1_000).is_some(), "{name} = {value}");
        }
        for name in ["exp", "iat", "sub", "iss", "aud", "sid", "org_id", "role"] {
            let mut claims = claims();
            claims.as_object_mut().unwrap().remove(name);
            assert_eq!(code(&tokens, &sign(&claims), 1_000), Some(Code::InvalidToken), "without {name}");
        }
    }

    #[test]
    fn a_header_that_names_another_key_or_algorithm_is_refused() {
        let tokens = tokens();
        let own = tokens.published.clone();
        let hmac = EncodingKey::from_secret(b"guess");
        let kid = |kid: Option<&str>| Header { kid: kid.map(str::to_owned), ..Header::new(Algorithm::EdDSA) };
        for (header, key) in [
            (kid(None), &tokens.signing),
            (kid(Some("another")), &tokens.signing),
            (Header { jku: Some("http://evil/jwks".to_owned()), ..header(&tokens) }, &tokens.signing),
            (Header { jwk: Some(own), ..header(&tokens) }, &tokens.signing),
            (Header { crit: Some(vec!["b64".to_owned()]), ..header(&tokens) }, &tokens.signing),
            (Header { kid: Some(tokens.kid.clone()), ..Header::new(Algorithm::HS256) }, &hmac),
        ] {
            let text = jsonwebtoken::encode(&header, &claims(), key).unwrap();
            assert_eq!(code(&tokens, &text, 1_000), Some(Code::InvalidToken), "{header:?}");
        }
    }

    /// What a forger has: the key that checks, in each form in which it is known, and words for the header.
    #[test]
    fn a_token_that_is_signed_with_the_public_key_or_not_at_all_is_refused() {
        let tokens = tokens();
        let published = serde_json::to_value(&tokens.published).unwrap();
        let x = published["x"].as_str().unwrap();
        let raw = URL_SAFE_NO_PAD.decode(x).unwrap();
        let secrets = [raw.as_slice(), x.as_bytes(), published.to_string().as_bytes()].map(EncodingKey::from_secret);
        let names = [tokens.kid.as_str(), "../../dev/null", "' or '1'='1", "http://evil.example/key", ""];
        for kid in names {
            for (secret, algorithm) in secrets.iter().zip([Algorithm::HS256, Algorithm::HS384, Algorithm::HS512]) {
                let header = Header { kid: Some(kid.to_owned()), ..Header::new(algorithm) };
                let text = jsonwebtoken::encode(&header, &claims(), secret).unwrap();
                assert_eq!(code(&tokens, &text, 1_000), Some(Code::InvalidToken), "{kid}: {algorithm:?}");
            }
            for algorithm in ["none", "None", "NONE", ""] {
                let header = json!({"alg": algorithm, "typ": "JWT", "kid": kid}).to_string();
                let [header, claims] = [header, claims().to_string()].map(|part| URL_SAFE_NO_PAD.encode(part));
                for signature in ["", "AA"] {
                    let text = format!("{header}.{claims}.{signature}");
                    assert_eq!(code(&tokens, &text, 1_000), Some(Code::InvalidToken), "{kid}: {algorithm}");
                }
            }
        }
    }

    #[test]
    fn a_token_whose_claims_were_changed_is_refused() {
        let tokens = tokens();
        let text = tokens.issue("u".into(), "o".into(), Role::Analyst, "s".into(), at(1_000)).unwrap();
        let parts: Vec<_> = text.split('.').collect();
        let mut claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
        claims["role"] = json!("owner");
        let changed = URL_SAFE_NO_PAD.encode(claims.to_string());
        let text = format!("{}.{changed}.{}", parts[0], parts[2]);
        assert_eq!(code(&tokens, &text, 1_000), Some(Code::InvalidToken));
    }

    #[test]
    fn a_changed_or_unsigned_token_is_refused() {
        let tokens = tokens();
        let text = tokens.issue("u".into(), "o".into(), Role::Analyst, "s".into(), at(1_000)).unwrap();
        let other = TokenSigner::new(&Config::new(String::new(), Keyring::new([2; 32]))).unwrap();
        assert_eq!(code(&other, &text, 1_000), Some(Code::InvalidToken));
        let mut parts: Vec<_> = text.split('.').collect();
        parts[2] = "";
        assert_eq!(code(&tokens, &parts.join("."), 1_000), Some(Code::InvalidToken));
        assert_eq!(code(&tokens, "", 1_000), Some(Code::InvalidToken));
    }
}
