//! The page of the commands, as their definitions say.

use tests::golden;

#[test]
fn the_page_of_the_commands_is_their_definitions() {
    golden::compare("../../operator/local/COMMANDS.md", &sluice::cli::page());
}
