//! Tests against a real engine process; no control plane: the rules are pushed in directly.

#![cfg(test)]

mod agents;
mod altered;
mod bounds;
mod branches;
mod capability;
mod catalogue;
mod clock;
mod comments;
mod confined;
mod constructs;
mod copy;
mod defaults;
mod door;
mod embedding;
mod ending;
mod explain;
mod filtered;
mod flight;
mod healing;
mod hostile;
mod ingest;
mod interference;
mod keys;
mod leaving;
mod lost;
mod making;
mod meaning;
mod memory;
mod named;
mod origin;
mod parked;
mod party;
mod pgwire;
mod pipeline;
mod rejudged;
mod remembered;
mod rest;
mod sequences;
mod temporary;
mod thoughts;
mod told;
mod triggers;
mod verdict;
mod world;
