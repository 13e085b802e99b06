//! The files of the dashboard. They are data here: the control plane serves them, and what they do
//! is the page's own affair.
#![forbid(unsafe_code)]

/// Path below the root, and content.
pub const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/files.rs"));
