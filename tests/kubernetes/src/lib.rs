//! What the walks on a cluster share.
#![forbid(unsafe_code)]
