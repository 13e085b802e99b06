//! Claims of a provider about a person: in its token, and at its userinfo endpoint where the token leaves something
//! out.
//!
//! Providers deviate: `email_verified` is a text at Cognito, `JumpCloud` and B2C, and several put only the
//! subject into the token.

use platform::oidc::issuers::{DiscoveryDocument, Fetch};
use serde::{Deserialize, Deserializer};

/// RFC 6749, 5.1, as far as it is needed.
#[derive(Deserialize)]
pub struct Redeemed {
    pub id_token: String,
    pub access_token: Option<String>,
}

#[derive(Deserialize)]
pub struct IdToken {
    pub sub: String,
    pub nonce: String,
    pub azp: Option<String>,
    #[serde(flatten)]
    pub about: UserClaims,
}

/// OpenID Connect Core, 5.1, as far as it is needed.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct UserClaims {
    pub email: Option<String>,
    #[serde(default, deserialize_with = "yes_or_no")]
    pub email_verified: Option<bool>,
    pub name: Option<String>,
}

#[derive(Deserialize)]
struct UserInfo {
    sub: String,
    #[serde(flatten)]
    about: UserClaims,
}

/// A boolean, or its name in a text.
fn yes_or_no<'de, D: Deserializer<'de>>(given: D) -> Result<Option<bool>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum EmailVerified {
        Bool(bool),
        Text(String),
    }
    match Option::<EmailVerified>::deserialize(given)? {
        None => Ok(None),
        Some(EmailVerified::Bool(yes)) => Ok(Some(yes)),
        Some(EmailVerified::Text(text)) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Some(EmailVerified::Text(text)) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
        Some(EmailVerified::Text(_)) => Err(serde::de::Error::custom("`email_verified` is neither true nor false")),
    }
}

impl UserClaims {
    const fn is_whole(&self) -> bool {
        self.email.is_some() && self.email_verified.is_some() && self.name.is_some()
    }

    /// What the token says stands. Whether an address is verified is believed of that very address.
    fn and(self, more: Self) -> Self {
        let same = self.email.is_none() || self.email == more.email;
        Self {
            email_verified: self.email_verified.or(more.email_verified.filter(|_| same)),
            email: self.email.or(more.email),
            name: self.name.or(more.name),
        }
    }
}

/// The claims of the token, and of the userinfo endpoint what it leaves out; that endpoint may be away.
pub async fn completed(
    fetch: &Fetch,
    document: &DiscoveryDocument,
    subject: &str,
    about: UserClaims,
    access_token: Option<&str>,
) -> UserClaims {
    let (Some(endpoint), Some(access_token), false) = (&document.userinfo_endpoint, access_token, about.is_whole())
    else {
        return about;
    };
    match fetch.bearing::<UserInfo>(endpoint, access_token).await {
        // Of somebody else it says nothing about this one (OpenID Connect Core, 5.3.2).
        Ok(more) if more.sub == subject => about.and(more.about),
        Ok(_) => {
            tracing::warn!("a userinfo endpoint answered for another subject");
            about
        }
        Err(error) => {
            tracing::info!(%error, "a userinfo endpoint could not be asked");
            about
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn verified(value: &Value) -> serde_json::Result<Option<bool>> {
        serde_json::from_value(json!({"email_verified": value})).map(|about: UserClaims| about.email_verified)
    }

    #[test]
    fn a_boolean_is_taken_as_a_text_too() {
        for (value, expected) in [
            (json!(true), Some(Some(true))),
            (json!("true"), Some(Some(true))),
            (json!("True"), Some(Some(true))),
            (json!("false"), Some(Some(false))),
            (Value::Null, Some(None)),
            (json!("yes"), None),
            (json!(1), None),
        ] {
            assert_eq!(verified(&value).ok(), expected, "{value}");
        }
    }

    #[test]
    fn what_the_token_says_stands_and_another_address_vouches_for_nothing() {
        let about = |email: Option<&str>, email_verified| UserClaims {
            email: email.map(str::to_owned),
            email_verified,
            name: None,
        };
        let other = about(Some("b@x.example"), Some(true));
        assert_eq!(about(Some("a@x.example"), None).and(other).email_verified, None);
        let same = about(Some("a@x.example"), Some(false));
        assert_eq!(about(Some("a@x.example"), None).and(same), about(Some("a@x.example"), Some(false)));
        let found = about(Some("a@x.example"), Some(false));
        assert_eq!(about(None, None).and(found), about(Some("a@x.example"), Some(false)));
    }
}
