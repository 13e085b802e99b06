//! Making an authority, and signing with it. Keys and serial numbers are parameters.

use std::time::Duration;

use contract::Redacted;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SerialNumber,
};

use super::Pair;
use crate::error::AuthorityError;

/// Clocks differ: what is signed is valid from this long ago.
const BACKDATED: Duration = Duration::from_mins(5);

/// An authority that can sign.
pub struct Signer {
    issuer: Issuer<'static, KeyPair>,
}

impl Signer {
    pub fn of(pair: &Pair) -> Result<Self, AuthorityError> {
        let key = KeyPair::from_pem(pair.key.expose())?;
        Ok(Self { issuer: Issuer::from_ca_cert_pem(&pair.certificate, key)? })
    }
}

fn valid(params: &mut CertificateParams, now: jiff::Timestamp, life: Duration) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let now = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0));
    params.not_before = epoch + now.saturating_sub(BACKDATED);
    params.not_after = epoch + now + life;
}

/// 16 random bytes below 2¹²⁷: a serial number is a positive integer.
fn serial(mut bytes: [u8; 16]) -> SerialNumber {
    if let Some(first) = bytes.first_mut() {
        *first = *first & 0x7f | 0x40;
    }
    SerialNumber::from_slice(&bytes)
}

/// A new authority. Its name ends in its serial number: an old and a new one are two.
pub fn make(
    name: &str,
    now: jiff::Timestamp,
    life: Duration,
    key: &KeyPair,
    serial_bytes: [u8; 16],
) -> Result<Pair, AuthorityError> {
    let mut params = CertificateParams::new(Vec::new())?;
    let number = hex::encode(serial_bytes.get(..4).unwrap_or_default());
    params.distinguished_name.push(DnType::CommonName, format!("{name} {number}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.serial_number = Some(serial(serial_bytes));
    valid(&mut params, now, life);
    let certificate = params.self_signed(key)?.pem();
    Ok(Pair { certificate, key: Redacted::new(key.serialize_pem()) })
}

/// A certificate for these DNS names and addresses, for both ends of a connection.
pub fn issue(
    signer: &Signer,
    names: &[String],
    now: jiff::Timestamp,
    life: Duration,
    key: &KeyPair,
    serial_bytes: [u8; 16],
) -> Result<Pair, AuthorityError> {
    let mut params = CertificateParams::new(names)?;
    let first = names.first().map_or("sluice", String::as_str);
    // a common name holds 64 characters; the names that count are the alternative ones
    params.distinguished_name.push(DnType::CommonName, first.chars().take(64).collect::<String>());
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    params.serial_number = Some(serial(serial_bytes));
    valid(&mut params, now, life);
    let certificate = params.signed_by(key, &signer.issuer)?.pem();
    Ok(Pair { certificate, key: Redacted::new(key.serialize_pem()) })
}
