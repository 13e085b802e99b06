//! `Idempotency-Key` over the protocols that speak HTTP.

use axum::http::HeaderMap;
use contract::wire::{IDEMPOTENCY_KEY_BYTES_MAX, header};

use crate::pipeline::Once;
use crate::{Answer, Error};

/// The key of a request, for what it was sent with; `path` tells requests apart that one key may stand for.
pub fn once(path: &'static str, headers: &HeaderMap, request: &[u8]) -> Result<Option<Once>, Error> {
    let Some(given) = headers.get(header::IDEMPOTENCY_KEY) else { return Ok(None) };
    let fits = |key: &&str| (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len());
    let key = given.to_str().ok().filter(fits).ok_or_else(|| {
        let message = format!("`Idempotency-Key` is 1 to {IDEMPOTENCY_KEY_BYTES_MAX} visible ASCII characters");
        Error::InvalidParams { field: "Idempotency-Key", message }
    })?;
    Ok(Some(Once::new(path, key.to_owned(), request)))
}

/// The headers, each `true`, that say of an answer that it was given before.
pub fn replayed(answer: &Answer) -> impl Iterator<Item = &'static str> {
    let withheld = answer.replayed.filter(|replayed| replayed.rows_withheld).map(|_| header::ROWS_WITHHELD);
    answer.replayed.map(|_| header::REPLAYED).into_iter().chain(withheld)
}
