//! Why something failed, where the error says it in layers.

/// The innermost cause: the outer ones only repeat that something went wrong.
pub fn root(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
