//! The prompt: lines are edited, statements may take several, and what was asked is remembered.
//!
//! The history is the user's own file, mode 0600; a line that begins with a space is not kept.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

use dataplane::protocols::pgwire::lex;
use reedline::{
    FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, Reedline, Signal, ValidationResult, Validator,
};

use super::Asking;
use crate::client::output::notice;
use crate::client::{Failure, Output};

const HISTORY: &str = ".sluice_history";
const HISTORY_MAX: usize = 1_000;
const HELP: &str = "\
A statement ends with a semicolon. Ctrl-C cancels one that runs, and clears one that is typed.
\\output table|json|csv   how rows are shown
\\?                       this
\\q, Ctrl-D               the end";

/// The input of one line.
#[derive(Debug, PartialEq, Eq)]
enum PromptInput<'a> {
    Nothing,
    Help,
    End,
    Output(Option<Output>),
    Unknown(&'a str),
    Statements,
}

impl<'a> PromptInput<'a> {
    fn of(line: &'a str) -> Self {
        let line = line.trim();
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (None, _) => Self::Nothing,
            (Some("\\q" | "quit" | "exit" | "quit;" | "exit;"), None) => Self::End,
            (Some("\\?" | "help"), None) => Self::Help,
            (Some("\\output"), Some(word)) => Self::Output(match word {
                "table" => Some(Output::Table),
                "json" => Some(Output::Json),
                "csv" => Some(Output::Csv),
                _ => None,
            }),
            (Some(command), _) if command.starts_with('\\') => Self::Unknown(command),
            _ => Self::Statements,
        }
    }
}

pub async fn run(mut asking: Asking) -> Result<(), Failure> {
    // Who cannot ask learns it before the first statement.
    let environment = asking.api.environment().await?;
    notice(&format!("{} {environment}: \\? for help, \\q ends", asking.api.url()));
    let mut editor = Reedline::create()
        .with_validator(Box::new(Ended))
        .with_history_exclusion_prefix(Some(" ".to_owned()))
        .with_ansi_colors(false);
    if let Some(history) = history() {
        editor = editor.with_history(Box::new(history));
    }
    loop {
        let line = match tokio::task::block_in_place(|| editor.read_line(&Sign))? {
            Signal::Success(line) => line,
            Signal::CtrlD => return Ok(()),
            _ => continue,
        };
        match PromptInput::of(&line) {
            PromptInput::Nothing => {}
            PromptInput::End => return Ok(()),
            PromptInput::Help => HELP.lines().for_each(notice),
            PromptInput::Output(Some(output)) => asking.output = output,
            PromptInput::Output(None) => notice("\\output takes table, json or csv"),
            PromptInput::Unknown(command) => notice(&format!("there is no {command}: \\? for help")),
            PromptInput::Statements => one_by_one(&asking, &line).await,
        }
    }
}

/// Up to the first that fails.
async fn one_by_one(asking: &Asking, line: &str) {
    for statement in lex::split(line) {
        if let Err(failure) = asking.ask(statement.text.trim()).await {
            return failure.complain();
        }
    }
}

/// `None`: there is no place for it; what was asked is remembered until the end.
fn history() -> Option<FileBackedHistory> {
    let path = std::env::home_dir()?.join(HISTORY);
    OpenOptions::new().create(true).append(true).mode(0o600).open(&path).ok()?;
    FileBackedHistory::with_file(HISTORY_MAX, path).ok()
}

/// A line is sent when its last statement is ended, or when it is a command.
struct Ended;

impl Validator for Ended {
    fn validate(&self, line: &str) -> ValidationResult {
        if PromptInput::of(line) != PromptInput::Statements || lex::is_ended(line) {
            ValidationResult::Complete
        } else {
            ValidationResult::Incomplete
        }
    }
}

struct Sign;

impl Prompt for Sign {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        "sluice".into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        "> ".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        "     > ".into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        format!("(search: {}) ", search.term).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_a_statement_or_nothing() {
        let cases = [
            ("", PromptInput::Nothing),
            ("  \n", PromptInput::Nothing),
            ("\\q", PromptInput::End),
            ("exit", PromptInput::End),
            ("\\?", PromptInput::Help),
            ("\\output json", PromptInput::Output(Some(Output::Json))),
            ("\\output arrow", PromptInput::Output(None)),
            ("\\dt", PromptInput::Unknown("\\dt")),
            ("select 1;", PromptInput::Statements),
            ("help me", PromptInput::Statements),
        ];
        for (line, input) in cases {
            assert_eq!(PromptInput::of(line), input, "{line}");
        }
    }

    #[test]
    fn a_statement_is_sent_when_it_is_ended() {
        for (line, is_complete) in [
            ("select 1", false),
            ("select 1;", true),
            ("select ';", false),
            ("select 1; -- so", true),
            ("select 1; select", false),
            ("\\q", true),
            ("", true),
        ] {
            let complete = matches!(Ended.validate(line), ValidationResult::Complete);
            assert_eq!(complete, is_complete, "{line}");
        }
    }
}
