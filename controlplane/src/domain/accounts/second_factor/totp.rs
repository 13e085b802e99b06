//! Codes of an authenticator: RFC 6238 with SHA-1, 30 seconds and 6 digits, which every authenticator
//! speaks. One step early or late is taken too: clocks differ.

use contract::{Redacted, Timestamp};
use platform::http::text::Email;
use platform::{App, Error, Result};
use reqwest::Url;
use totp_rs::{Algorithm, Builder, Secret, Totp};

use super::store::Enrolled;

const DIGITS: u8 = 6;
const STEP_SECONDS: u64 = 30;
const SKEW_STEPS: u16 = 1;
/// RFC 4226: "a shared secret length of 160 bits".
const SECRET_BYTES: usize = 20;
const ISSUER: &str = "Sluice";

/// A secret, as authenticators are given it: base32.
pub fn fresh(app: &App) -> Redacted<String> {
    Redacted::new(Secret::new_stack(app.entropy().bytes::<SECRET_BYTES>()).to_base32())
}

/// What its sealed form belongs to.
pub fn record(account_id: &str) -> String {
    format!("totp:{account_id}")
}

/// What an authenticator reads from a QR code.
pub fn uri(secret: &Redacted<String>, email: &Email) -> Result<String> {
    let mut url = Url::parse("otpauth://totp").map_err(Error::internal)?;
    url.set_path(&format!("/{ISSUER}:{email}"));
    url.query_pairs_mut()
        .append_pair("secret", secret.expose())
        .append_pair("issuer", ISSUER)
        .append_pair("algorithm", "SHA1")
        .append_pair("digits", &DIGITS.to_string())
        .append_pair("period", &STEP_SECONDS.to_string());
    Ok(url.into())
}

/// The step that a code is of, if it is one that may still be taken.
pub fn step_of(app: &App, account_id: &str, enrolled: &Enrolled, code: &str) -> Result<Option<i64>> {
    let secret = app.keyring().open(&record(account_id), &enrolled.secret).map_err(Error::internal)?;
    let step = of(&secret)?.check(code, seconds(app.now())).and_then(|step| i64::try_from(step).ok());
    Ok(step.filter(|step| enrolled.last_step.is_none_or(|last| *step > last)))
}

fn of(secret: &Redacted<String>) -> Result<Totp> {
    let secret = Secret::try_from_base32(secret.expose()).map_err(Error::internal)?;
    let builder = Builder::new().with_algorithm(Algorithm::SHA1).with_digits(DIGITS).with_skew(SKEW_STEPS);
    builder.with_step_duration(STEP_SECONDS).with_secret(secret).build().map_err(Error::internal)
}

fn seconds(now: Timestamp) -> u64 {
    u64::try_from(now.timestamp()).unwrap_or_default()
}

/// The code that an authenticator shows.
#[cfg(test)]
pub fn code(secret: &str, now: Timestamp) -> String {
    of(&Redacted::new(secret.to_owned())).unwrap().generate(seconds(now)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6238, appendix B, its last six digits.
    #[test]
    fn the_codes_are_those_of_the_rfc() {
        let secret = Secret::new(Box::from(b"12345678901234567890".as_slice())).to_base32();
        for (at, expected) in [(59, "287082"), (1_111_111_109, "081804"), (20_000_000_000, "353130")] {
            assert_eq!(code(&secret, chrono::DateTime::from_timestamp(at, 0).unwrap()), expected, "{at}");
        }
    }

    #[test]
    fn an_authenticator_reads_the_uri() {
        let email = Email::try_from("ada+x@example.com".to_owned()).unwrap();
        assert_eq!(
            uri(&Redacted::new("ABC".to_owned()), &email).unwrap(),
            "otpauth://totp/Sluice:ada+x@example.com?secret=ABC&issuer=Sluice&algorithm=SHA1&digits=6&period=30"
        );
    }
}
