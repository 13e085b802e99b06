//! How this data plane learns the rules, and how it tells what happened.
//!
//! `follow` streams whole snapshots from the control plane and `disk` keeps the last one, so that it rules while the
//! control plane is away, with the credentials in it behind `sealing`. `report` is the local log of what was asked and
//! done; `ship` sends it back in order. `stored` tells how much there is on disk, `registry` of agents that make themselves
//! known; `vouching` asks whose a session's token is. `link` is the one mutually authenticated connection.

pub mod disk;
pub mod follow;
pub mod link;
pub mod registry;
pub mod report;
pub mod sealing;
pub mod sessions;
pub mod ship;
pub mod stored;
pub mod table_path;
pub mod vouching;

/// The gRPC types, generated from the contract's one proto file.
pub(crate) mod proto {
    #![expect(clippy::doc_markdown, reason = "generated from the proto's comments")]
    tonic::include_proto!("sluice.governance.v1");
}

contract::named! {
    /// Where the rules come from now: the `control_plane` of `/ready`.
    pub enum RulesSource {
        /// The stream is open.
        Connected = "connected",
        /// The stream is not open; the last snapshot rules.
        Cached = "cached",
        /// Nothing was ever known.
        Unknown = "unknown",
    }
}
