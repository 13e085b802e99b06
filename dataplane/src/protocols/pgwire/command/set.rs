//! `SET`, `RESET`, `SHOW`, and what else changes a setting of the session.

use super::{Command, Reader};
use crate::protocols::pgwire::lex::Token;
use crate::protocols::pgwire::settings::{Reach, Written};

impl Reader<'_> {
    pub(super) fn set(&mut self) -> Option<Command> {
        if self.words(&["session", "characteristics", "as", "transaction"]).is_some() {
            return self.modes().map(|modes| Command::Characteristics { modes, reach: Reach::Session });
        }
        if self.word("transaction").is_some() {
            return self.modes().map(|modes| Command::Characteristics { modes, reach: Reach::Transaction });
        }
        if self.words(&["session", "authorization"]).is_some() {
            return self.setting("session_authorization", Reach::Session);
        }
        if self.mark('(').is_some() {
            return self.set_several();
        }
        let _noise = self.word("session");
        let reach = if self.word("local").is_some() { Reach::Transaction } else { Reach::Session };
        if self.words(&["time", "zone"]).is_some() {
            return self.setting("TimeZone", reach);
        }
        if self.word("names").is_some() {
            return self.setting("client_encoding", reach);
        }
        let name = self.path()?;
        let equals = self.mark('=').or_else(|| self.word("to"));
        // `SET ROLE x` has no sign; nothing else goes without.
        if equals.is_none() && name != "role" {
            return None;
        }
        self.setting(&name, reach)
    }

    /// `DEFAULT`, or values joined by commas as they would be shown.
    fn setting(&mut self, name: &str, reach: Reach) -> Option<Command> {
        let name = name.to_owned();
        if self.word("default").is_some() {
            return Some(Command::Set { name, value: None, written: Written::Text, reach });
        }
        let (mut value, mut written) = self.value()?;
        while self.mark(',').is_some() {
            let (next, _) = self.value()?;
            (value, written) = (format!("{value}, {next}"), Written::Text);
        }
        Some(Command::Set { name, value: Some(value), written, reach })
    }

    fn value(&mut self) -> Option<(String, Written)> {
        let minus = self.mark('-').map_or("", |()| "-");
        match self.next()? {
            Token::Number(number) => Some((format!("{minus}{number}"), Written::Number)),
            Token::Word(text) if minus.is_empty() => Some((text, Written::Word)),
            Token::Text(text) | Token::Quoted(text) if minus.is_empty() => Some((text, Written::Text)),
            _ => None,
        }
    }

    /// `SET (a, b) = (1, 'x')`, its first bracket read.
    fn set_several(&mut self) -> Option<Command> {
        let mut names = vec![self.name()?];
        while self.mark(',').is_some() {
            names.push(self.name()?);
        }
        [')', '=', '('].into_iter().try_for_each(|mark| self.mark(mark))?;
        let mut values = vec![self.value()?];
        while self.mark(',').is_some() {
            values.push(self.value()?);
        }
        self.mark(')')?;
        let one_each = names.len() == values.len();
        let pairs = names.into_iter().zip(values).map(|(name, (value, written))| (name, value, written));
        one_each.then(|| Command::SetSeveral(pairs.collect()))
    }

    /// `USE SCHEMA s`; what else can be chosen so is chosen already, and the pipeline says so.
    pub(super) fn use_schema(&mut self) -> Option<Command> {
        self.word("schema")?;
        let path = self.path()?;
        let schema = path.rsplit('.').next().unwrap_or(&path).to_owned();
        let (name, value) = ("search_path".to_owned(), Some(schema));
        Some(Command::Set { name, value, written: Written::Text, reach: Reach::Session })
    }

    /// `ALTER SESSION SET TIMEZONE = 'UTC'`: the one parameter that a session here has too.
    pub(super) fn alter_session(&mut self) -> Option<Command> {
        self.words(&["session", "set", "timezone"])?;
        self.mark('=')?;
        self.setting("TimeZone", Reach::Session)
    }

    pub(super) fn reset(&mut self) -> Option<Command> {
        if self.word("all").is_some() {
            return Some(Command::ResetAll);
        }
        if self.words(&["session", "authorization"]).is_some() {
            return Some(Command::Reset("session_authorization".to_owned()));
        }
        self.path().map(Command::Reset)
    }

    pub(super) fn show(&mut self) -> Option<Command> {
        if self.word("all").is_some() {
            return Some(Command::ShowAll);
        }
        if self.words(&["transaction", "isolation", "level"]).is_some() {
            return Some(Command::Show("transaction_isolation".to_owned()));
        }
        if self.words(&["time", "zone"]).is_some() {
            return Some(Command::Show("TimeZone".to_owned()));
        }
        if self.word("variables").is_some() {
            return Some(Command::ShowVariables);
        }
        let name = self.path()?;
        // `SHOW TABLES` and its like ask for the catalog, which is the pipeline's.
        let catalog =
            ["tables", "schemas", "databases", "columns", "views", "functions", "objects", "sequences", "procedures"];
        (!catalog.contains(&name.as_str())).then_some(Command::Show(name))
    }
}
