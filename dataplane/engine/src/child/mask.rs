//! `system.main.sluice_mask_hash(VARCHAR) -> VARCHAR`: HMAC-SHA256 in hexadecimal.
//!
//! The key is the environment's, so a hash can be joined on inside an environment and not compared
//! across two. A null is hashed as a marker that no text equals, and so does not show.

use std::error::Error as StdError;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::datatypes::DataType;
use duckdb::vscalar::arrow::{ArrowFunctionSignature, VArrowScalar};
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::error::Error;
use crate::ffi::Database;

/// What a null is hashed as: one byte that UTF-8 never holds.
const NULL: &[u8] = &[0xff];

/// The keyed state, set up once.
#[derive(Clone)]
pub struct Key(Option<Hmac<Sha256>>);

/// The wrapper's trait asks for a default; a key that was never set hashes nothing.
impl Default for Key {
    fn default() -> Self {
        Self(None)
    }
}

struct MaskHash;

impl VArrowScalar for MaskHash {
    type State = Key;

    fn invoke(key: &Key, input: RecordBatch) -> Result<Arc<dyn Array>, Box<dyn StdError>> {
        let Key(Some(keyed)) = key else {
            return Err("sluice_mask_hash has no key".into());
        };
        let values = input.columns().first().and_then(|c| c.as_string_opt::<i32>()).ok_or("text was expected")?;
        let hashed = values.iter().map(|value| Some(digest(keyed, value)));
        Ok(Arc::new(hashed.collect::<StringArray>()))
    }

    fn signatures() -> Vec<ArrowFunctionSignature> {
        vec![ArrowFunctionSignature::exact(vec![DataType::Utf8], DataType::Utf8)]
    }
}

fn digest(keyed: &Hmac<Sha256>, value: Option<&str>) -> String {
    let mut mac = keyed.clone();
    mac.update(value.map_or(NULL, str::as_bytes));
    hex::encode(mac.finalize().into_bytes())
}

/// Registers it for every connection of the database.
pub fn register(database: &Database, key: [u8; 32]) -> Result<(), Error> {
    let keyed = Hmac::new_from_slice(&key).map_err(Error::internal)?;
    database
        .wrapped()?
        .register_scalar_function_with_state::<MaskHash>("sluice_mask_hash", &Key(Some(keyed)))
        .map_err(Error::internal)
}
