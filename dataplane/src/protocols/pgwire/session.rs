//! Answers to the commands of a session (`command.rs`). None of them touches data.

use contract::Code;

use super::command::{FunctionCall, Modes, PgCommand};
use super::conversation::Conversation;
use super::extended::Life;
use super::failure::ErrorResponse;
use super::lex::Token;
use super::request::BoundValues;
use super::settings::{SessionSettings, SetValueForm, SettingScope};
use super::typeinfo;
use super::watch::Stop;
use crate::encode::pg_rows::{Field, Format, PgType};
use crate::pipeline::transaction::TransactionSavepoint;

/// Server-side cursors, prepared statements and portals of one session.
pub const OPEN_MAX: usize = 1_000;

/// The reply of a command: columns if it has rows, and its tag.
#[derive(Debug, Default)]
pub struct CommandReply {
    pub fields: Vec<Field>,
    pub rows: Vec<Vec<Option<String>>>,
    pub tag: String,
}

impl CommandReply {
    pub(super) fn tag(tag: &str) -> Self {
        Self { tag: tag.to_owned(), ..Self::default() }
    }

    fn table(columns: &[&str], rows: Vec<Vec<Option<String>>>, tag: &str) -> Self {
        let fields = columns.iter().map(|name| field(name, PgType::Text)).collect();
        Self { fields, rows, tag: tag.to_owned() }
    }
}

fn field(name: &str, kind: PgType) -> Field {
    Field { name: name.to_owned(), kind, format: Format::Text }
}

/// The columns a command will answer with, before it runs; `FETCH` has those of its cursor.
pub fn described(command: &PgCommand) -> Vec<Field> {
    match command {
        PgCommand::Show(name) => vec![field(&SessionSettings::shown_name(name), PgType::Text)],
        PgCommand::ShowVariables => ["name", "value", "type"].map(|name| field(name, PgType::Text)).to_vec(),
        PgCommand::ShowAll => ["name", "setting", "description"].map(|name| field(name, PgType::Text)).to_vec(),
        PgCommand::TypeInfo => typeinfo::fields(),
        PgCommand::Select(calls) => calls.iter().map(|call| field(&call.column, kind(call))).collect(),
        _ => Vec::new(),
    }
}

fn kind(call: &FunctionCall) -> PgType {
    match call.function {
        "pg_backend_pid" => PgType::Int4,
        "pg_is_in_recovery" => PgType::Bool,
        _ => PgType::Text,
    }
}

impl Conversation {
    pub(super) async fn command(
        &mut self,
        command: &PgCommand,
        text: &str,
        starts: &[usize],
        params: BoundValues,
    ) -> Result<CommandReply, Stop> {
        match command {
            PgCommand::Begin { .. }
            | PgCommand::Characteristics { .. }
            | PgCommand::Commit
            | PgCommand::Rollback
            | PgCommand::Savepoint(_)
            | PgCommand::Release(_)
            | PgCommand::RollbackTo(_) => self.transaction_command(command).await,
            PgCommand::Declare { name, hold, statement_at } => {
                let statement = starts.get(*statement_at).and_then(|at| text.get(*at..)).unwrap_or_default();
                self.declare(name, *hold, statement, params).await
            }
            PgCommand::Prepare { name, types, statement_at } => {
                let statement = starts.get(*statement_at).and_then(|at| text.get(*at..)).unwrap_or_default();
                Ok(self.prepare(name, types, statement)?)
            }
            PgCommand::Copy(copy) => {
                let tag = Box::pin(self.copy(copy, text, starts)).await?;
                Ok(CommandReply::tag(&tag))
            }
            PgCommand::TypeInfo => match params.values.as_slice() {
                [engine::Value::Blob(array)] => match typeinfo::ids(array) {
                    Some(oids) => Ok(typeinfo::answer(&oids)),
                    None => Err(ErrorResponse::new(Code::ConversionFailed, "an array of type ids is expected").into()),
                },
                _ => Err(ErrorResponse::unsupported("this question about types without its parameter").into()),
            },
            command => Ok(self.setting_command(command)?),
        }
    }

    fn setting_command(&mut self, command: &PgCommand) -> Result<CommandReply, ErrorResponse> {
        match command {
            PgCommand::Set { name, value, written, reach } => {
                if *reach == SettingScope::Transaction {
                    self.warn_outside("SET LOCAL");
                }
                self.set(name, value.as_deref(), *written, *reach)?;
                Ok(CommandReply::tag("SET"))
            }
            PgCommand::SetSeveral(pairs) => {
                for (name, value, written) in pairs {
                    self.set(name, Some(value), *written, SettingScope::Session)?;
                }
                Ok(CommandReply::tag("SET"))
            }
            PgCommand::Unset(name) => {
                self.set(name, None, SetValueForm::Text, SettingScope::Session)?;
                Ok(CommandReply::tag("UNSET"))
            }
            PgCommand::ShowVariables => {
                let rows = self.settings.variables().told().map(|told| told.map(Some).to_vec()).collect();
                Ok(CommandReply::table(&["name", "value", "type"], rows, "SHOW"))
            }
            PgCommand::Reset(name) => {
                self.set(name, None, SetValueForm::Text, SettingScope::Session)?;
                Ok(CommandReply::tag("RESET"))
            }
            PgCommand::ResetAll => {
                self.change(SessionSettings::reset_all);
                Ok(CommandReply::tag("RESET"))
            }
            PgCommand::Show(name) => self.show(name),
            PgCommand::ShowAll => {
                let row = |name: &str| vec![Some(name.to_owned()), self.setting(name), Some(String::new())];
                let rows = SessionSettings::names().map(row).collect();
                Ok(CommandReply::table(&["name", "setting", "description"], rows, "SHOW"))
            }
            PgCommand::DiscardAll => self.discard_all(),
            PgCommand::Discard(tag) => self.discard(tag),
            PgCommand::Deallocate(name) => self.deallocate(name.as_deref()),
            PgCommand::CloseCursor(name) => self.close_cursor(name.as_deref()),
            PgCommand::Unlisten => Ok(CommandReply::tag("UNLISTEN")),
            PgCommand::OfNothing { tag, notice } => {
                if let Some(notice) = notice {
                    self.warn("01000", notice);
                }
                Ok(CommandReply::tag(tag))
            }
            PgCommand::Select(calls) => self.select(calls),
            PgCommand::Refused(what) => Err(ErrorResponse::unsupported(what)),
            // `FETCH` streams (`extended.rs`); the rest are transactions and cursors, handled above.
            _ => Ok(CommandReply::default()),
        }
    }

    fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        written: SetValueForm,
        reach: SettingScope,
    ) -> Result<(), ErrorResponse> {
        self.change(|settings| settings.assign(name, value, written, reach))
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.settings.holding(name, self.watch.rules().ok().map(|rules| rules.environment.settings.heal))
    }

    fn show(&self, name: &str) -> Result<CommandReply, ErrorResponse> {
        let value = self.setting(name).ok_or_else(|| unknown_setting(name))?;
        Ok(CommandReply::table(&[&SessionSettings::shown_name(name)], vec![vec![Some(value)]], "SHOW"))
    }

    fn discard_all(&mut self) -> Result<CommandReply, ErrorResponse> {
        if self.transaction.is_explicit() {
            return Err(ErrorResponse::new(Code::InvalidParams, "DISCARD ALL cannot run inside a transaction")
                .with_state("25001"));
        }
        self.change(SessionSettings::reset_all);
        self.statements.clear();
        self.portals.clear();
        self.transaction.discard_temporary();
        Ok(CommandReply::tag("DISCARD ALL"))
    }

    fn discard(&mut self, tag: &str) -> Result<CommandReply, ErrorResponse> {
        if tag == "DISCARD TEMP" {
            if self.transaction.is_explicit() {
                return Err(ErrorResponse::unsupported("DISCARD TEMP inside a transaction"));
            }
            self.transaction.discard_temporary();
        }
        Ok(CommandReply::tag(tag))
    }

    fn deallocate(&mut self, name: Option<&str>) -> Result<CommandReply, ErrorResponse> {
        let Some(name) = name else {
            self.statements.clear();
            return Ok(CommandReply::tag("DEALLOCATE ALL"));
        };
        match self.statements.remove(name) {
            Some(_) => Ok(CommandReply::tag("DEALLOCATE")),
            None => Err(ErrorResponse::new(Code::InvalidParams, format!("prepared statement {name:?} does not exist"))
                .with_state("26000")),
        }
    }

    async fn transaction_command(&mut self, command: &PgCommand) -> Result<CommandReply, Stop> {
        match command {
            PgCommand::Begin { modes, tag } => {
                let begun = !self.transaction.is_explicit();
                if !begun {
                    self.warn("25001", "there is already a transaction in progress");
                }
                self.transaction.begin(&self.pipeline, &self.watch.who);
                let read_only = modes.read_only.or(begun.then(|| self.settings.is_read_only()));
                self.characteristics(Modes { read_only, ..*modes }, SettingScope::Transaction)?;
                Ok(CommandReply::tag(tag))
            }
            PgCommand::Characteristics { modes, reach } => {
                if *reach == SettingScope::Transaction {
                    self.warn_outside("SET TRANSACTION");
                }
                self.characteristics(*modes, *reach)?;
                Ok(CommandReply::tag("SET"))
            }
            PgCommand::Savepoint(name) => {
                self.set_aside(|portal| portal.life != Life::Session).await?;
                self.transaction.savepoint(name, self.settings.mark()).await?;
                Ok(CommandReply::tag("SAVEPOINT"))
            }
            PgCommand::Release(name) => {
                self.transaction.release(name)?;
                Ok(CommandReply::tag("RELEASE"))
            }
            PgCommand::RollbackTo(name) => {
                if let Some(mark) = self.transaction.changed_since(name).await? {
                    self.go_back(&mark).await?;
                }
                let then = self.transaction.went_back(name)?;
                self.change(|settings| settings.go_back(then));
                Ok(CommandReply::tag("ROLLBACK"))
            }
            command => self.end_transaction(*command == PgCommand::Commit).await,
        }
    }

    /// Does again what was done before a savepoint.
    async fn go_back(&mut self, mark: &TransactionSavepoint) -> Result<(), Stop> {
        self.set_aside(|portal| portal.life != Life::Session).await?;
        let cancel = self.cancellable.next();
        let ask = self.ask("ROLLBACK TO SAVEPOINT", BoundValues::default(), cancel.clone());
        let gone_back = Box::pin(self.pipeline.roll_back_to(ask, mark));
        Ok(self.watch.attend(&mut self.wire, &cancel, gone_back).await??)
    }

    fn characteristics(&mut self, modes: Modes, reach: SettingScope) -> Result<(), ErrorResponse> {
        if modes.serializable {
            self.change(SessionSettings::take_less);
        }
        let Some(read_only) = modes.read_only else { return Ok(()) };
        let name = match reach {
            SettingScope::Session => "default_transaction_read_only",
            SettingScope::Transaction => "transaction_read_only",
        };
        self.set(name, Some(if read_only { "on" } else { "off" }), SetValueForm::Word, reach)
    }

    async fn end_transaction(&mut self, commits: bool) -> Result<CommandReply, Stop> {
        if !self.transaction.is_explicit() {
            self.warn("25P01", "there is no transaction in progress");
        }
        if commits && !self.transaction.has_failed() {
            self.hold_cursors().await?;
        }
        self.drop_portals();
        let ended =
            if commits { self.transaction.commit().await } else { self.transaction.rollback().await.map(|()| false) };
        let committed = matches!(ended, Ok(true));
        self.change(|settings| settings.end(committed));
        Ok(CommandReply::tag(if ended? { "COMMIT" } else { "ROLLBACK" }))
    }

    fn select(&mut self, calls: &[FunctionCall]) -> Result<CommandReply, ErrorResponse> {
        let mut row = Vec::with_capacity(calls.len());
        for call in calls {
            row.push(self.call(call)?);
        }
        let fields = calls.iter().map(|call| field(&call.column, kind(call))).collect();
        Ok(CommandReply { fields, rows: vec![row], tag: "SELECT 1".to_owned() })
    }

    fn call(&mut self, call: &FunctionCall) -> Result<Option<String>, ErrorResponse> {
        let texts: Vec<&str> = call.arguments.iter().filter_map(text).collect();
        let user = || self.watch.caller_name().or_else(|| self.settings.get("session_authorization"));
        Ok(match (call.function, texts.as_slice()) {
            ("version", []) => Some(format!("PostgreSQL 15.0 (Sluice {})", env!("CARGO_PKG_VERSION"))),
            ("current_schema", []) => Some(self.settings.schemas().0),
            ("current_database" | "current_catalog", []) => Some(self.database_name()),
            ("current_user" | "session_user" | "user", []) => user(),
            ("pg_backend_pid", []) => Some(self.cancellable.process.to_string()),
            ("pg_is_in_recovery", []) => Some("f".to_owned()),
            ("pg_advisory_unlock_all", []) => Some(String::new()),
            ("txid_current_if_assigned", []) => None,
            ("current_setting", [name]) => Some(self.setting(name).ok_or_else(|| unknown_setting(name))?),
            ("current_setting", [name, _missing_ok]) => self.setting(name),
            ("set_config", [name, value, is_local]) => {
                let (name, value) = ((*name).to_owned(), (*value).to_owned());
                let reach = if truth(is_local)? { SettingScope::Transaction } else { SettingScope::Session };
                self.set(&name, Some(&value), SetValueForm::Text, reach)?;
                self.settings.get(&name)
            }
            (function, _) => {
                let message = format!("function {function} does not take these arguments");
                return Err(ErrorResponse::new(Code::UndefinedFunction, message));
            }
        })
    }

    fn database_name(&self) -> String {
        let slug = || self.watch.rules().map(|rules| rules.environment.slug.clone()).unwrap_or_default();
        self.database.clone().unwrap_or_else(slug)
    }
}

fn text(token: &Token) -> Option<&str> {
    match token {
        Token::Text(text) | Token::Word(text) | Token::Number(text) => Some(text),
        Token::Quoted(_) | Token::Mark(_) => None,
    }
}

/// As PostgreSQL reads one.
fn truth(text: &str) -> Result<bool, ErrorResponse> {
    match text.to_lowercase().as_str() {
        "true" | "t" | "yes" | "on" | "1" => Ok(true),
        "false" | "f" | "no" | "off" | "0" => Ok(false),
        _ => Err(ErrorResponse::new(Code::ConversionFailed, format!("{text:?} is neither true nor false"))),
    }
}

fn unknown_setting(name: &str) -> ErrorResponse {
    ErrorResponse::new(Code::NotFound, format!("parameter {name:?} is not known"))
}
