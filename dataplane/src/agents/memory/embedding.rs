//! `hash-v2`: a vector for a text, from nothing but the text; it finds by similar words.
//!
//! Words, and runs of three and four characters in them, are hashed to one of 256 places with a sign;
//! the sum has length one. Texts that share words or parts of words lie close to each other, synonyms
//! do not. The same text gives the same vector everywhere and always: nothing is downloaded or trained.

use super::words::terms;
use crate::model::vector::{DIMENSIONS, Vector};

/// Stored with every vector: vectors of different embedders are never compared.
///
/// Another number than `hash-v1`, which knew neither short words nor scripts without blanks: its vectors are made anew.
pub const ID: &str = "hash-v2";

/// Of the sums of a cosine. It divides the dimensions.
const LANES: usize = 16;

const WHOLE: f32 = 1.0;
const PART: f32 = 0.35;

pub fn embed(text: &str) -> Vector {
    embed_terms(&terms(text))
}

/// The same, of a text that is taken apart already.
pub fn embed_terms(terms: &[String]) -> Vector {
    let mut vector = Box::new([0.0_f32; DIMENSIONS]);
    for term in terms {
        add(&mut vector, &format!("w:{term}"), WHOLE);
        let edged: Vec<char> = format!("^{term}$").chars().collect();
        for size in [3, 4] {
            for part in edged.windows(size) {
                add(&mut vector, &part.iter().collect::<String>(), PART);
            }
        }
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
    vector
}

/// Cosine, of vectors of length one.
///
/// Added in lanes: one sum after the other would wait for each, and the processor adds many at once.
pub fn likeness(one: &[f32; DIMENSIONS], other: &[f32; DIMENSIONS]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    for (one, other) in one.as_chunks::<LANES>().0.iter().zip(other.as_chunks::<LANES>().0) {
        for ((sum, a), b) in sums.iter_mut().zip(one).zip(other) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

pub fn to_bytes(vector: &[f32; DIMENSIONS]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// None when the bytes are no such vector.
pub fn from_bytes(bytes: &[u8]) -> Option<Vector> {
    let (values, []) = bytes.as_chunks::<4>() else { return None };
    let values: Box<[f32]> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
    values.try_into().ok()
}

fn add(vector: &mut [f32; DIMENSIONS], feature: &str, weight: f32) {
    let hash = fnv(feature.as_bytes());
    let place = usize::try_from(hash % 256).unwrap_or(0);
    let sign = if hash >> 63 == 0 { weight } else { -weight };
    if let Some(value) = vector.get_mut(place) {
        *value += sign;
    }
}

/// FNV-1a, finished as murmur3 does, so that low and high bits are equally well mixed.
fn fnv(bytes: &[u8]) -> u64 {
    let mut hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(one: &str, other: &str) -> f32 {
        likeness(&embed(one), &embed(other))
    }

    #[test]
    fn what_shares_words_lies_close() {
        let near = cosine("the customer prefers invoices by mail", "customers prefer an invoice by mail");
        let far = cosine("the customer prefers invoices by mail", "the cluster was upgraded at midnight");
        assert!(near > 0.7 && far < 0.25, "{near} {far}");
        assert!((cosine("any text at all", "any text at all") - 1.0).abs() < 1e-5);
        assert!(cosine("", "anything").abs() < f32::EPSILON);
        assert!(cosine("Ａｕ ﬁnance", "Au finance") > 0.999, "letters of another form");
        assert!(cosine("我每天早上喝咖啡", "咖啡") > cosine("我每天早上喝咖啡", "会议"));
    }

    #[test]
    fn a_vector_survives_its_bytes_and_does_not_depend_on_the_machine() {
        let vector = embed("revenue of the north region");
        assert_eq!(from_bytes(&to_bytes(&vector)).unwrap(), vector);
        assert!(from_bytes(&[0; 1023]).is_none() && from_bytes(&[0; 1028]).is_none());
        assert!(vector.iter().filter(|value| **value != 0.0).count() > 10);
    }
}
