//! Names in lower case, as the catalog keeps them.

use std::borrow::Cow;

/// The name in lower case, which is a copy only where it is not written so.
pub(crate) fn lowered(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}
