//! `SET`, `RESET`, `SHOW`, and what else changes a setting of the session.

use super::{CommandParser, PgCommand};
use crate::protocols::pgwire::lex::Token;
use crate::protocols::pgwire::settings::{SetValueForm, SettingScope};

impl CommandParser<'_> {
    pub(super) fn set(&mut self) -> Option<PgCommand> {
        if self.words(&["session", "characteristics", "as", "transaction"]).is_some() {
            return self.modes().map(|modes| PgCommand::Characteristics { modes, reach: SettingScope::Session });
        }
        if self.word("transaction").is_some() {
            return self.modes().map(|modes| PgCommand::Characteristics { modes, reach: SettingScope::Transaction });
        }
        if self.words(&["session", "authorization"]).is_some() {
            return self.setting("session_authorization", SettingScope::Session);
        }
        if self.mark('(').is_some() {
            return self.set_several();
        }
        let start = self.at;
        if let Some(command) = self.constraints() {
            return Some(command);
        }
        self.at = start;
        let _noise = self.word("session");
        let reach = if self.word("local").is_some() { SettingScope::Transaction } else { SettingScope::Session };
        if self.words(&["time", "zone"]).is_some()
            || self.words(&["timezone", "interval"]).map(|()| self.at -= 1).is_some()
        {
            return self.zone(reach);
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

    /// `LOCAL`, `DEFAULT`, a name, hours, or `INTERVAL '+02:00' HOUR TO MINUTE`.
    fn zone(&mut self, reach: SettingScope) -> Option<PgCommand> {
        if self.word("local").is_some() {
            let (name, written) = ("TimeZone".to_owned(), SetValueForm::Text);
            return Some(PgCommand::Set { name, value: None, written, reach });
        }
        let is_interval = self.word("interval").is_some();
        let zone = self.setting("TimeZone", reach)?;
        if is_interval {
            let _fields = self.words(&["hour", "to", "minute"]).or_else(|| self.word("hour"));
        }
        Some(zone)
    }

    /// `DEFAULT`, or values joined by commas as they would be shown.
    fn setting(&mut self, name: &str, reach: SettingScope) -> Option<PgCommand> {
        let name = name.to_owned();
        if self.word("default").is_some() {
            return Some(PgCommand::Set { name, value: None, written: SetValueForm::Text, reach });
        }
        let (mut value, mut written) = self.value()?;
        while self.mark(',').is_some() {
            let (next, _) = self.value()?;
            (value, written) = (format!("{value}, {next}"), SetValueForm::Text);
        }
        Some(PgCommand::Set { name, value: Some(value), written, reach })
    }

    fn value(&mut self) -> Option<(String, SetValueForm)> {
        let minus = self.mark('-').map_or("", |()| "-");
        match self.next()? {
            Token::Number(number) => Some((format!("{minus}{number}"), SetValueForm::Number)),
            Token::Word(text) if minus.is_empty() => Some((text, SetValueForm::Word)),
            Token::Text(text) | Token::Quoted(text) if minus.is_empty() => Some((text, SetValueForm::Text)),
            _ => None,
        }
    }

    /// `SET (a, b) = (1, 'x')`, its first bracket read.
    fn set_several(&mut self) -> Option<PgCommand> {
        let names = self.separated(Self::name)?;
        [')', '=', '('].into_iter().try_for_each(|mark| self.mark(mark))?;
        let values = self.separated(Self::value)?;
        self.mark(')')?;
        let one_each = names.len() == values.len();
        let pairs = names.into_iter().zip(values).map(|(name, (value, written))| (name, value, written));
        one_each.then(|| PgCommand::SetSeveral(pairs.collect()))
    }

    /// `USE SCHEMA s`; what else can be chosen so is chosen already, and the pipeline says so.
    pub(super) fn use_schema(&mut self) -> Option<PgCommand> {
        self.word("schema")?;
        let path = self.path()?;
        let schema = path.rsplit('.').next().unwrap_or(&path).to_owned();
        let (name, value) = ("search_path".to_owned(), Some(schema));
        Some(PgCommand::Set { name, value, written: SetValueForm::Text, reach: SettingScope::Session })
    }

    /// `ALTER SESSION SET TIMEZONE = 'UTC'`: the one parameter that a session here has too.
    pub(super) fn alter_session(&mut self) -> Option<PgCommand> {
        self.words(&["session", "set", "timezone"])?;
        self.mark('=')?;
        self.setting("TimeZone", SettingScope::Session)
    }

    pub(super) fn reset(&mut self) -> Option<PgCommand> {
        if self.word("all").is_some() {
            return Some(PgCommand::ResetAll);
        }
        if self.words(&["session", "authorization"]).is_some() {
            return Some(PgCommand::Reset("session_authorization".to_owned()));
        }
        self.path().map(PgCommand::Reset)
    }

    pub(super) fn show(&mut self) -> Option<PgCommand> {
        if self.word("all").is_some() {
            return Some(PgCommand::ShowAll);
        }
        if self.words(&["transaction", "isolation", "level"]).is_some() {
            return Some(PgCommand::Show("transaction_isolation".to_owned()));
        }
        if self.words(&["time", "zone"]).is_some() {
            return Some(PgCommand::Show("TimeZone".to_owned()));
        }
        if self.word("variables").is_some() {
            return Some(PgCommand::ShowVariables);
        }
        let name = self.path()?;
        // `SHOW TABLES` and its like ask for the catalog, which is the pipeline's.
        let catalog = [
            "tables",
            "schemas",
            "databases",
            "columns",
            "views",
            "functions",
            "objects",
            "sequences",
            "procedures",
            "stages",
        ];
        (!catalog.contains(&name.as_str())).then_some(PgCommand::Show(name))
    }
}
