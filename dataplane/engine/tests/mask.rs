//! The keyed hash of masked columns.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::world::world;

fn expected(text: &[u8]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&[7; 32]).ok()?;
    mac.update(text);
    Some(hex::encode(mac.finalize().into_bytes()))
}

#[tokio::test]
async fn a_text_is_hashed_under_the_key() {
    let world = world().await;
    let got = world.answer("select system.main.sluice_mask_hash('123-45-6789')").await;
    assert_eq!(got.ok(), expected(b"123-45-6789"));
}

#[tokio::test]
async fn a_null_is_hashed_too_and_is_no_text() {
    let world = world().await;
    let got = world.answer("select system.main.sluice_mask_hash(nullif('a', 'a'))").await;
    assert_eq!(got.ok(), expected(&[0xff]));
    let column = "select count(distinct system.main.sluice_mask_hash(v)) from (values ('a'), (null), (null)) t(v)";
    assert_eq!(world.answer(column).await.as_deref(), Ok("2"));
}
