//! For tests: the arguments of a command, read from a line as people write it.

use clap::Parser;

#[derive(Parser)]
struct Line<A: clap::Args> {
    #[command(flatten)]
    args: A,
}

/// What the command takes these words for, behind its name.
pub(super) fn args_of<A: clap::Args>(words: &[&str]) -> Result<A, String> {
    let line = std::iter::once("sluice").chain(words.iter().copied());
    Line::<A>::try_parse_from(line).map(|line| line.args).map_err(|error| error.to_string())
}
