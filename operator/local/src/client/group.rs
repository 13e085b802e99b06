//! Commands of one noun, such as `sluice keys list`: which of them is wanted, and what all of them take.

use clap::Subcommand;

use super::{Access, Output};

// No documentation of its own: it would be taken for that of each noun.
#[derive(Debug, clap::Args)]
pub struct Group<Wanted: Subcommand> {
    #[command(subcommand)]
    pub wanted: Wanted,
    #[arg(long, short, value_enum, default_value_t, global = true)]
    pub output: Output,
    #[command(flatten)]
    pub access: Access,
}
