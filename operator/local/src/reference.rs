//! The page of the commands, made of their definitions: `COMMANDS.md` beside this crate is what it prints.

use std::fmt::Write;

use clap::{Arg, Command, Id};

use crate::client::Class;

const HEAD: &str = "# `sluice`

Made of the definitions of the commands; a test compares it, and `UPDATE_GOLDEN=1 cargo golden` writes it.
`sluice` alone is `sluice up`; `kubectl sluice` is the same program under another name. What a command with
others below it takes, each of those takes too.

A flag comes before the variable beside it. Commands that ask a platform find its address and a key as they
stand in the environment, or in the state folder of the platform on this machine (`.sluice`): nothing of it
need be typed, and no key is ever printed. What a command says goes to standard output; notices, progress and
why it failed go to standard error.

";

/// The whole page.
pub fn markdown(mut command: Command) -> String {
    command.build();
    let mut page = HEAD.to_owned();
    page.push_str("| Exit | Class | Means |\n|---|---|---|\n| 0 | | it is done |\n");
    for class in Class::ALL {
        let _ = writeln!(page, "| {} | {} | {} |", class.exit(), class.as_str(), class.meaning());
    }
    page.push_str("\n`kubectl sluice` and `sluice kubectl` have exit statuses of their own: see there.\n");
    for below in told(&command) {
        section(&mut page, below, &[]);
    }
    page
}

/// The commands below one; the ones that are hidden are for the program itself.
fn told(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

/// A command and those below it. What all of those take is told once, above.
fn section(page: &mut String, command: &Command, above: &[&Id]) {
    let words = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let _ = write!(page, "\n## `{words}`\n");
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        let _ = write!(page, "\n{about}\n");
    }
    let usage = command.clone().render_usage().to_string();
    let _ =
        write!(page, "\n`{}`\n", usage.trim_start_matches("Usage: ").split_whitespace().collect::<Vec<_>>().join(" "));
    let arguments: Vec<_> = command.get_arguments().filter(|argument| is_told(argument, above)).collect();
    let all = arguments.iter().filter(|argument| argument.is_global_set()).map(|argument| argument.get_id());
    let all: Vec<_> = all.chain(above.iter().copied()).collect();
    if !arguments.is_empty() {
        page.push_str("\n| Argument | Variable | Default | |\n|---|---|---|---|\n");
    }
    for argument in arguments {
        let _ = writeln!(page, "{}", row(argument));
    }
    for below in told(command) {
        section(page, below, &all);
    }
}

fn is_told(argument: &Arg, above: &[&Id]) -> bool {
    let id = argument.get_id();
    !argument.is_hide_set() && !above.contains(&id) && !["help", "version"].contains(&id.as_str())
}

fn row(argument: &Arg) -> String {
    let takes_value = argument.get_action().takes_values();
    let value = argument.get_value_names().unwrap_or_default().first().filter(|_| takes_value);
    let value = value.map(|name| format!("<{name}>")).unwrap_or_default();
    let long = argument.get_long().map(|long| format!("--{long}"));
    let short = argument.get_short().map(|short| format!("-{short}"));
    let flags: Vec<_> = [short, long].into_iter().flatten().collect();
    let written = format!("{} {value}", flags.join(", "));
    let variable = argument.get_env().map(|name| format!("`{}`", name.to_string_lossy())).unwrap_or_default();
    let defaults = argument.get_default_values().iter().filter(|_| takes_value);
    let default = defaults.map(|value| format!("`{}`", value.to_string_lossy())).collect::<Vec<_>>().join(" ");
    let mut help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let choices: Vec<_> = argument.get_possible_values();
    let choices: Vec<_> = choices.iter().filter(|_| takes_value).map(|choice| choice.get_name().to_owned()).collect();
    if !choices.is_empty() {
        help = format!("{help}{}One of {}", if help.is_empty() { "" } else { ". " }, choices.join(", "));
    }
    let cells = [format!("`{}`", written.trim()), variable, default, help.replace('\n', " ").replace('|', "\\|")];
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ArgAction;

    #[test]
    fn a_page_tells_what_a_person_may_type() {
        let hidden = Command::new("engine").hide(true);
        let id = Arg::new("id").value_name("ID").required(true).help("Which");
        let show = Command::new("show").about("Show one").arg(id);
        let dry = Arg::new("dry").long("dry-run").action(ArgAction::SetTrue).help("Only tell");
        let output = Arg::new("output").long("output").short('o').value_name("FORM").value_parser(["a", "b"]);
        let output = output.default_value("a").env("OUT").global(true);
        let things = Command::new("things").about("Does things").args([dry, output]).subcommands([show, hidden]);
        let page = markdown(Command::new("x").subcommand(things));
        let told = page.split_once("see there.\n").unwrap().1;
        expect_test::expect![[r"

            ## `x things`

            Does things

            `x things [OPTIONS] [COMMAND]`

            | Argument | Variable | Default | |
            |---|---|---|---|
            | `--dry-run` |  |  | Only tell |
            | `-o, --output <FORM>` | `OUT` | `a` | One of a, b |

            ## `x things show`

            Show one

            `x things show [OPTIONS] <ID>`

            | Argument | Variable | Default | |
            |---|---|---|---|
            | `<ID>` |  |  | Which |
        "]]
        .assert_eq(told);
    }
}
