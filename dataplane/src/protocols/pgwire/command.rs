//! Commands of the session: what drivers, pools and tools say to keep their connection in order.
//!
//! They are answered here, touch nobody's data, and are neither billed nor audited. A statement
//! counts as one only when all of it has a form below; everything else goes to the pipeline.

use super::copy::{Copy, CopySubject, Direction, Options};
use super::lex::Token;
use super::settings::{SetValueForm, SettingScope};
use super::typeinfo;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PgCommand {
    /// `SET [LOCAL] name = value`; no value is `DEFAULT`.
    Set {
        name: String,
        value: Option<String>,
        written: SetValueForm,
        reach: SettingScope,
    },
    /// `SET (a, b) = (1, 'x')`.
    SetSeveral(Vec<(String, String, SetValueForm)>),
    /// `UNSET name`.
    Unset(String),
    ShowVariables,
    Reset(String),
    ResetAll,
    Show(String),
    ShowAll,
    Begin {
        modes: Modes,
        tag: &'static str,
    },
    /// `SET TRANSACTION` and `SET SESSION CHARACTERISTICS`: isolation and access mode.
    Characteristics {
        modes: Modes,
        reach: SettingScope,
    },
    Commit,
    Rollback,
    Savepoint(String),
    Release(String),
    /// `ROLLBACK TO SAVEPOINT`
    RollbackTo(String),
    DiscardAll,
    /// Plans and sequences, of which nothing is kept, and temporary tables.
    Discard(&'static str),
    Deallocate(Option<String>),
    /// `PREPARE name (types) AS statement`; the statement starts at this token.
    Prepare {
        name: String,
        types: Vec<String>,
        statement_at: usize,
    },
    /// `EXECUTE name (values)`, as texts; none is NULL.
    Execute {
        name: String,
        values: Vec<Option<String>>,
    },
    /// `DECLARE name CURSOR FOR statement`; the statement starts at this token. `WITH HOLD` it outlives its
    /// transaction.
    Declare {
        name: String,
        hold: bool,
        statement_at: usize,
    },
    Fetch {
        name: String,
        count: Count,
        moves: bool,
    },
    CloseCursor(Option<String>),
    /// `COPY … TO STDOUT`, `COPY … FROM STDIN`.
    Copy(Copy),
    Unlisten,
    /// A change of what is not kept here: its tag, and what who asks is told.
    OfNothing {
        tag: &'static str,
        notice: Option<&'static str>,
    },
    /// `SELECT` of functions that tell about the session: one row.
    Select(Vec<FunctionCall>),
    /// A driver's question about types (`typeinfo.rs`).
    TypeInfo,
    /// A form that cannot be honoured, by name.
    Refused(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    Rows(u32),
    All,
}

/// A function of the session with its arguments, and the name of its column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCall {
    pub function: &'static str,
    pub arguments: Vec<Token>,
    pub column: String,
}

/// Functions that are answered from the session.
const FUNCTIONS: &[&str] = &[
    "version",
    "current_schema",
    "current_database",
    "current_catalog",
    "current_user",
    "session_user",
    "user",
    "current_setting",
    "set_config",
    "pg_backend_pid",
    "pg_advisory_unlock_all",
    "pg_is_in_recovery",
    "txid_current_if_assigned",
];
/// Of these, those written without brackets.
const BARE: &[&str] = &["current_schema", "current_catalog", "current_user", "session_user", "user"];

/// The command that these tokens are, if they are one.
pub fn read(tokens: &[Token]) -> Option<PgCommand> {
    let mut reader = CommandParser { tokens, at: 0 };
    let Some(Token::Word(first)) = tokens.first() else { return None };
    reader.at = 1;
    let command = match first.as_str() {
        "set" => reader.set(),
        "unset" => reader.path().map(PgCommand::Unset),
        "reset" => reader.reset(),
        "use" => reader.use_schema(),
        "alter" => reader.alter_session(),
        "show" => reader.show(),
        "begin" => reader.begin("BEGIN"),
        "start" => reader.word("transaction").and_then(|()| reader.begin("START TRANSACTION")),
        "commit" | "end" => Some(reader.end_of_transaction(PgCommand::Commit)),
        "rollback" | "abort" => reader.rollback(),
        "savepoint" => reader.name().map(PgCommand::Savepoint),
        "release" => reader.savepoint().map(PgCommand::Release),
        "listen" | "notify" => return Some(PgCommand::Refused("LISTEN")),
        "discard" => reader.discard(),
        "deallocate" => {
            let _noise = reader.word("prepare");
            reader.all_or_one(PgCommand::Deallocate)
        }
        "drop" => reader.drop_index(),
        "prepare" => return reader.prepare(),
        "execute" => return reader.execute(),
        "declare" => return reader.declare(),
        "fetch" => reader.fetch(false),
        "move" => reader.fetch(true),
        "close" => reader.all_or_one(PgCommand::CloseCursor),
        "copy" => return reader.copy(),
        "unlisten" => reader.name().or_else(|| reader.mark('*').map(|()| String::new())).map(|_| PgCommand::Unlisten),
        "select" => reader.select(),
        "with" => return reader.words(&["recursive", typeinfo::NAME]).map(|()| PgCommand::TypeInfo),
        _ => None,
    };
    command.filter(|_| reader.is_at_end())
}

/// The requested modes of a transaction. Every isolation level up to the engine's snapshots is kept by them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Modes {
    pub read_only: Option<bool>,
    /// More than snapshots are: it is taken as them, and told so.
    pub serializable: bool,
}

struct CommandParser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl CommandParser<'_> {
    fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += usize::from(token.is_some());
        token
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let found = matches!(self.peek(), Some(Token::Word(found)) if found == word);
        self.at += usize::from(found);
        found.then_some(())
    }

    fn words(&mut self, words: &[&str]) -> Option<()> {
        let start = self.at;
        let all = words.iter().all(|word| self.word(word).is_some());
        if !all {
            self.at = start;
        }
        all.then_some(())
    }

    fn mark(&mut self, mark: char) -> Option<()> {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found.then_some(())
    }

    /// A name, quoted or not.
    fn name(&mut self) -> Option<String> {
        match self.peek().cloned() {
            Some(Token::Word(name) | Token::Quoted(name)) => {
                self.at += 1;
                Some(name)
            }
            _ => None,
        }
    }

    /// What is joined by commas, one at least.
    fn separated<T>(&mut self, one: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut found = vec![one(self)?];
        while self.mark(',').is_some() {
            found.push(one(self)?);
        }
        Some(found)
    }

    /// `ALL`, or a name.
    fn all_or_one(&mut self, command: fn(Option<String>) -> PgCommand) -> Option<PgCommand> {
        let all = self.word("all").map(|()| command(None));
        all.or_else(|| self.name().map(Some).map(command))
    }

    /// A setting's name: `word`, `word.word`.
    fn path(&mut self) -> Option<String> {
        let mut path = self.name()?;
        while self.mark('.').is_some() {
            path = format!("{path}.{}", self.name()?);
        }
        Some(path)
    }

    fn begin(&mut self, tag: &'static str) -> Option<PgCommand> {
        let _noise = self.word("transaction").or_else(|| self.word("work"));
        let modes = if self.is_at_end() { Modes::default() } else { self.modes()? };
        Some(PgCommand::Begin { modes, tag })
    }

    fn modes(&mut self) -> Option<Modes> {
        let mut modes = Modes::default();
        loop {
            if self.words(&["read", "only"]).is_some() {
                modes.read_only = Some(true);
            } else if self.words(&["read", "write"]).is_some() {
                modes.read_only = Some(false);
            } else if self.words(&["isolation", "level"]).is_some() {
                modes.serializable = self.word("serializable").is_some();
                if !modes.serializable {
                    let weak = self.words(&["read", "committed"]).or_else(|| self.words(&["read", "uncommitted"]));
                    weak.or_else(|| self.words(&["repeatable", "read"]))?;
                }
            } else {
                let _not = self.word("not");
                self.word("deferrable")?;
            }
            if self.is_at_end() {
                return Some(modes);
            }
            let _comma = self.mark(',');
        }
    }

    fn end_of_transaction(&mut self, command: PgCommand) -> PgCommand {
        let _noise = self.word("transaction").or_else(|| self.word("work"));
        let _chain = self.words(&["and", "no", "chain"]);
        command
    }

    fn rollback(&mut self) -> Option<PgCommand> {
        let start = self.at;
        let _noise = self.word("transaction").or_else(|| self.word("work"));
        if self.word("to").is_some() {
            return self.savepoint().map(PgCommand::RollbackTo);
        }
        self.at = start;
        Some(self.end_of_transaction(PgCommand::Rollback))
    }

    /// `[SAVEPOINT] name`
    fn savepoint(&mut self) -> Option<String> {
        // A savepoint may be called so itself.
        let _noise = (self.tokens.len() > self.at + 1).then(|| self.word("savepoint"));
        self.name()
    }

    fn discard(&mut self) -> Option<PgCommand> {
        if self.word("all").is_some() {
            return Some(PgCommand::DiscardAll);
        }
        let tags = [
            ("plans", "DISCARD PLANS"),
            ("sequences", "DISCARD SEQUENCES"),
            ("temp", "DISCARD TEMP"),
            ("temporary", "DISCARD TEMP"),
        ];
        let (_, tag) = tags.into_iter().find(|(word, _)| self.word(word).is_some())?;
        Some(PgCommand::Discard(tag))
    }

    /// `COPY table [(columns)] | (query)  TO STDOUT | FROM STDIN  [options]`. Other targets are files and stages,
    /// which the pipeline refuses.
    fn copy(&mut self) -> Option<PgCommand> {
        let what = if self.mark('(').is_some() {
            let from = self.at;
            CopySubject::Query { from, to: self.closing()? }
        } else {
            let from = self.at;
            self.path()?;
            let name = (from, self.at);
            let inside = if self.mark('(').is_some() { Some((self.at, self.closing()?)) } else { None };
            CopySubject::Table { name, columns: inside }
        };
        let direction = if self.words(&["to", "stdout"]).is_some() {
            Direction::Out
        } else {
            self.words(&["from", "stdin"])?;
            Direction::In
        };
        let Some(options) = Options::read(self.tokens.get(self.at..).unwrap_or_default()) else {
            return Some(PgCommand::Refused("COPY with these options"));
        };
        Some(PgCommand::Copy(Copy { what, direction, options }))
    }

    /// The token that closes an open bracket; the reader goes on behind it.
    fn closing(&mut self) -> Option<usize> {
        let mut open = 1_usize;
        while open > 0 {
            match self.next()? {
                Token::Mark('(') => open += 1,
                Token::Mark(')') => open -= 1,
                _ => {}
            }
        }
        self.at.checked_sub(1)
    }

    /// `SELECT f(…) [AS name], …` of the session's functions alone.
    fn select(&mut self) -> Option<PgCommand> {
        self.separated(Self::call).map(PgCommand::Select)
    }

    fn call(&mut self) -> Option<FunctionCall> {
        let _schema = matches!(self.tokens.get(self.at..self.at + 2), Some([Token::Word(w), Token::Mark('.')]) if w == "pg_catalog")
            .then(|| self.at += 2);
        let Some(Token::Word(word)) = self.next() else { return None };
        let function = *FUNCTIONS.iter().find(|known| **known == word)?;
        let mut arguments = Vec::new();
        if self.mark('(').is_some() {
            while self.mark(')').is_none() {
                if !arguments.is_empty() {
                    self.mark(',')?;
                }
                match self.next()? {
                    Token::Mark(_) | Token::Quoted(_) => return None,
                    argument => arguments.push(argument),
                }
            }
        } else if !BARE.contains(&function) {
            return None;
        }
        let column = if self.word("as").is_some() { self.name()? } else { function.to_owned() };
        Some(FunctionCall { function, arguments, column })
    }
}

mod cursor;
mod nothing;
mod prepare;
mod set;
#[cfg(test)]
mod tests;
