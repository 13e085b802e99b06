//! Commands of the session: what drivers, pools and tools say to keep their connection in order.
//!
//! They are answered here, touch nobody's data, and are neither billed nor audited. A statement
//! counts as one only when all of it has a form below; everything else goes to the pipeline.

use super::copy::{Copy, Direction, Options, What};
use super::lex::Token;
use super::settings::Written;
use super::typeinfo;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `SET name = value`; no value is `DEFAULT`.
    Set {
        name: String,
        value: Option<String>,
        written: Written,
    },
    /// `SET (a, b) = (1, 'x')`.
    SetSeveral(Vec<(String, String, Written)>),
    /// `UNSET name`.
    Unset(String),
    ShowVariables,
    Reset(String),
    ResetAll,
    Show(String),
    ShowAll,
    Begin {
        read_only: Option<bool>,
        tag: &'static str,
    },
    /// `SET TRANSACTION` and `SET SESSION CHARACTERISTICS`: isolation and access mode.
    Characteristics {
        read_only: Option<bool>,
        session: bool,
    },
    Commit,
    Rollback,
    Savepoint(String),
    Release(String),
    /// `ROLLBACK TO SAVEPOINT`
    RollbackTo(String),
    DiscardAll,
    /// Plans, sequences, temporary tables: nothing of the kind is kept.
    Discard(&'static str),
    Deallocate(Option<String>),
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
    /// `SELECT` of functions that tell about the session: one row.
    Select(Vec<Call>),
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
pub struct Call {
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
pub fn read(tokens: &[Token]) -> Option<Command> {
    let mut reader = Reader { tokens, at: 0 };
    let Some(Token::Word(first)) = tokens.first() else { return None };
    reader.at = 1;
    let command = match first.as_str() {
        "set" => reader.set(),
        "unset" => reader.path().map(Command::Unset),
        "reset" => reader.reset(),
        "use" => reader.use_schema(),
        "alter" => reader.alter_session(),
        "show" => reader.show(),
        "begin" => reader.begin("BEGIN"),
        "start" => reader.word("transaction").and_then(|()| reader.begin("START TRANSACTION")),
        "commit" | "end" => Some(reader.end_of_transaction(Command::Commit)),
        "rollback" | "abort" => reader.rollback(),
        "savepoint" => reader.name().map(Command::Savepoint),
        "release" => reader.savepoint().map(Command::Release),
        "listen" | "notify" => return Some(Command::Refused("LISTEN")),
        "discard" => reader.discard(),
        "deallocate" => reader.deallocate(),
        "declare" => return reader.declare(),
        "fetch" => reader.fetch(false),
        "move" => reader.fetch(true),
        "close" => reader.close(),
        "copy" => return reader.copy(),
        "unlisten" => reader.name().or_else(|| reader.mark('*').map(|()| String::new())).map(|_| Command::Unlisten),
        "select" => reader.select(),
        "with" => return reader.words(&["recursive", typeinfo::NAME]).map(|()| Command::TypeInfo),
        _ => None,
    };
    command.filter(|_| reader.is_at_end())
}

/// What a transaction was asked to be.
#[derive(Debug, Default)]
struct Modes {
    read_only: Option<bool>,
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Reader<'_> {
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

    /// A setting's name: `word`, `word.word`.
    fn path(&mut self) -> Option<String> {
        let mut path = self.name()?;
        while self.mark('.').is_some() {
            path = format!("{path}.{}", self.name()?);
        }
        Some(path)
    }

    fn set(&mut self) -> Option<Command> {
        if self.words(&["session", "characteristics", "as", "transaction"]).is_some() {
            return self.modes().map(|Modes { read_only }| Command::Characteristics { read_only, session: true });
        }
        if self.word("transaction").is_some() {
            return self.modes().map(|Modes { read_only }| Command::Characteristics { read_only, session: false });
        }
        if self.words(&["session", "authorization"]).is_some() {
            return self.setting("session_authorization");
        }
        if self.mark('(').is_some() {
            return self.set_several();
        }
        let _scope = self.word("session").or_else(|| self.word("local"));
        if self.words(&["time", "zone"]).is_some() {
            return self.setting("TimeZone");
        }
        if self.word("names").is_some() {
            return self.setting("client_encoding");
        }
        let name = self.path()?;
        let equals = self.mark('=').or_else(|| self.word("to"));
        // `SET ROLE x` has no sign; nothing else goes without.
        if equals.is_none() && name != "role" {
            return None;
        }
        self.setting(&name)
    }

    /// `DEFAULT`, or values joined by commas as they would be shown.
    fn setting(&mut self, name: &str) -> Option<Command> {
        let name = name.to_owned();
        if self.word("default").is_some() {
            return Some(Command::Set { name, value: None, written: Written::Text });
        }
        let (mut value, mut written) = self.value()?;
        while self.mark(',').is_some() {
            let (next, _) = self.value()?;
            (value, written) = (format!("{value}, {next}"), Written::Text);
        }
        Some(Command::Set { name, value: Some(value), written })
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
    fn use_schema(&mut self) -> Option<Command> {
        self.word("schema")?;
        let path = self.path()?;
        let schema = path.rsplit('.').next().unwrap_or(&path).to_owned();
        Some(Command::Set { name: "search_path".to_owned(), value: Some(schema), written: Written::Text })
    }

    /// `ALTER SESSION SET TIMEZONE = 'UTC'`: the one parameter that a session here has too.
    fn alter_session(&mut self) -> Option<Command> {
        self.words(&["session", "set", "timezone"])?;
        self.mark('=')?;
        self.setting("TimeZone")
    }

    fn reset(&mut self) -> Option<Command> {
        if self.word("all").is_some() {
            return Some(Command::ResetAll);
        }
        if self.words(&["session", "authorization"]).is_some() {
            return Some(Command::Reset("session_authorization".to_owned()));
        }
        self.path().map(Command::Reset)
    }

    fn show(&mut self) -> Option<Command> {
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
        let catalog = ["tables", "schemas", "databases", "columns", "views", "functions", "objects"];
        (!catalog.contains(&name.as_str())).then_some(Command::Show(name))
    }

    fn begin(&mut self, tag: &'static str) -> Option<Command> {
        let _noise = self.word("transaction").or_else(|| self.word("work"));
        let Modes { read_only } = if self.is_at_end() { Modes::default() } else { self.modes()? };
        Some(Command::Begin { read_only, tag })
    }

    /// Transaction modes: what they say of reading and writing. Every isolation level up to the
    /// engine's snapshots is kept by them; a stricter one is not a command we know.
    fn modes(&mut self) -> Option<Modes> {
        let mut read_only = None;
        loop {
            if self.words(&["read", "only"]).is_some() {
                read_only = Some(true);
            } else if self.words(&["read", "write"]).is_some() {
                read_only = Some(false);
            } else if self.words(&["isolation", "level"]).is_some() {
                let weak = self.words(&["read", "committed"]).or_else(|| self.words(&["read", "uncommitted"]));
                weak.or_else(|| self.words(&["repeatable", "read"]))?;
            } else {
                let _not = self.word("not");
                self.word("deferrable")?;
            }
            if self.is_at_end() {
                return Some(Modes { read_only });
            }
            let _comma = self.mark(',');
        }
    }

    fn end_of_transaction(&mut self, command: Command) -> Command {
        let _noise = self.word("transaction").or_else(|| self.word("work"));
        let _chain = self.words(&["and", "no", "chain"]);
        command
    }

    fn rollback(&mut self) -> Option<Command> {
        let start = self.at;
        let _noise = self.word("transaction").or_else(|| self.word("work"));
        if self.word("to").is_some() {
            return self.savepoint().map(Command::RollbackTo);
        }
        self.at = start;
        Some(self.end_of_transaction(Command::Rollback))
    }

    /// `[SAVEPOINT] name`
    fn savepoint(&mut self) -> Option<String> {
        // A savepoint may be called so itself.
        let _noise = (self.tokens.len() > self.at + 1).then(|| self.word("savepoint"));
        self.name()
    }

    fn discard(&mut self) -> Option<Command> {
        if self.word("all").is_some() {
            return Some(Command::DiscardAll);
        }
        let tags = [
            ("plans", "DISCARD PLANS"),
            ("sequences", "DISCARD SEQUENCES"),
            ("temp", "DISCARD TEMP"),
            ("temporary", "DISCARD TEMP"),
        ];
        let (_, tag) = tags.into_iter().find(|(word, _)| self.word(word).is_some())?;
        Some(Command::Discard(tag))
    }

    fn deallocate(&mut self) -> Option<Command> {
        let _noise = self.word("prepare");
        if self.word("all").is_some() {
            return Some(Command::Deallocate(None));
        }
        self.name().map(|name| Command::Deallocate(Some(name)))
    }

    /// `DECLARE name [BINARY] [INSENSITIVE] [[NO] SCROLL] CURSOR [WITH|WITHOUT HOLD] FOR …`
    fn declare(&mut self) -> Option<Command> {
        let name = self.name()?;
        loop {
            if self.word("cursor").is_some() {
                break;
            }
            if self.word("scroll").is_some() || self.word("binary").is_some() {
                return Some(Command::Refused("a cursor that scrolls or is binary"));
            }
            self.word("insensitive").or_else(|| self.word("asensitive")).or_else(|| self.words(&["no", "scroll"]))?;
        }
        let hold = self.words(&["with", "hold"]).is_some();
        let _without = self.words(&["without", "hold"]);
        self.word("for")?;
        Some(Command::Declare { name, hold, statement_at: self.at })
    }

    /// `FETCH [NEXT | FORWARD | n | ALL | FORWARD n | FORWARD ALL] [FROM | IN] name`
    fn fetch(&mut self, moves: bool) -> Option<Command> {
        let back = ["prior", "first", "last", "absolute", "relative", "backward"];
        if back.iter().any(|word| self.word(word).is_some()) {
            self.at = self.tokens.len();
            return Some(Command::Refused("a cursor that scrolls"));
        }
        let forward = self.word("forward").or_else(|| self.word("next")).is_some();
        let count = if self.word("all").is_some() {
            Count::All
        } else if let Some(Token::Number(number)) = self.peek() {
            let rows = number.parse().ok()?;
            self.at += 1;
            Count::Rows(rows)
        } else {
            Count::Rows(1)
        };
        let _ = forward;
        let _from = self.word("from").or_else(|| self.word("in"));
        self.name().map(|name| Command::Fetch { name, count, moves })
    }

    /// `COPY table [(columns)] | (query)  TO STDOUT | FROM STDIN  [options]`. Other targets are files and stages,
    /// which the pipeline refuses.
    fn copy(&mut self) -> Option<Command> {
        let what = if self.mark('(').is_some() {
            let from = self.at;
            What::Query { from, to: self.closing()? }
        } else {
            let from = self.at;
            self.path()?;
            let name = (from, self.at);
            let inside = if self.mark('(').is_some() { Some((self.at, self.closing()?)) } else { None };
            What::Table { name, columns: inside }
        };
        let direction = if self.words(&["to", "stdout"]).is_some() {
            Direction::Out
        } else {
            self.words(&["from", "stdin"])?;
            Direction::In
        };
        let Some(options) = Options::read(self.tokens.get(self.at..).unwrap_or_default()) else {
            return Some(Command::Refused("COPY with these options"));
        };
        Some(Command::Copy(Copy { what, direction, options }))
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

    fn close(&mut self) -> Option<Command> {
        if self.word("all").is_some() {
            return Some(Command::CloseCursor(None));
        }
        self.name().map(|name| Command::CloseCursor(Some(name)))
    }

    /// `SELECT f(…) [AS name], …` of the session's functions alone.
    fn select(&mut self) -> Option<Command> {
        let mut calls = vec![self.call()?];
        while self.mark(',').is_some() {
            calls.push(self.call()?);
        }
        Some(Command::Select(calls))
    }

    fn call(&mut self) -> Option<Call> {
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
        Some(Call { function, arguments, column })
    }
}

#[cfg(test)]
mod tests {
    use super::super::lex;
    use super::*;

    fn command(text: &str) -> Option<Command> {
        read(&lex::split(text).remove(0).tokens)
    }

    fn set(name: &str, value: &str) -> Command {
        written(name, value, Written::Text)
    }

    fn written(name: &str, value: &str, written: Written) -> Command {
        Command::Set { name: name.to_owned(), value: Some(value.to_owned()), written }
    }

    #[test]
    fn what_clients_say_is_understood() {
        let cases = [
            ("SET acme_request_id = 'r 1'", set("acme_request_id", "r 1")),
            ("set search_path = branch_1, \"Main\"", set("search_path", "branch_1, Main")),
            ("SET SESSION x.y TO -1.5", written("x.y", "-1.5", Written::Number)),
            (
                "SET (a, b) = (1, 'x')",
                Command::SetSeveral(vec![
                    ("a".to_owned(), "1".to_owned(), Written::Number),
                    ("b".to_owned(), "x".to_owned(), Written::Text),
                ]),
            ),
            ("UNSET a", Command::Unset("a".to_owned())),
            ("SHOW VARIABLES", Command::ShowVariables),
            ("SET TIME ZONE 'UTC'", set("TimeZone", "UTC")),
            ("ALTER SESSION SET TIMEZONE = 'UTC'", set("TimeZone", "UTC")),
            ("USE SCHEMA demo.staging", set("search_path", "staging")),
            ("SET NAMES 'utf8'", set("client_encoding", "utf8")),
            ("SET ROLE admin", written("role", "admin", Written::Word)),
            (
                "SET extra_float_digits TO DEFAULT",
                Command::Set { name: "extra_float_digits".to_owned(), value: None, written: Written::Text },
            ),
            ("RESET ALL", Command::ResetAll),
            ("SHOW TRANSACTION ISOLATION LEVEL", Command::Show("transaction_isolation".to_owned())),
            ("show server_version", Command::Show("server_version".to_owned())),
            ("BEGIN", Command::Begin { read_only: None, tag: "BEGIN" }),
            ("BEGIN READ ONLY", Command::Begin { read_only: Some(true), tag: "BEGIN" }),
            (
                "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
                Command::Begin { read_only: Some(false), tag: "START TRANSACTION" },
            ),
            (
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
                Command::Characteristics { read_only: None, session: true },
            ),
            ("end work", Command::Commit),
            ("ROLLBACK", Command::Rollback),
            ("rollback to savepoint a", Command::RollbackTo("a".to_owned())),
            ("ROLLBACK WORK TO \"A\"", Command::RollbackTo("A".to_owned())),
            ("savepoint \"a b\"", Command::Savepoint("a b".to_owned())),
            ("release savepoint a", Command::Release("a".to_owned())),
            ("release savepoint", Command::Release("savepoint".to_owned())),
            ("CLOSE ALL", Command::CloseCursor(None)),
            ("UNLISTEN *", Command::Unlisten),
            ("DISCARD ALL", Command::DiscardAll),
            ("DEALLOCATE PREPARE s1", Command::Deallocate(Some("s1".to_owned()))),
            (
                "FETCH FORWARD 100 FROM \"c 1\"",
                Command::Fetch { name: "c 1".to_owned(), count: Count::Rows(100), moves: false },
            ),
            ("fetch all in c", Command::Fetch { name: "c".to_owned(), count: Count::All, moves: false }),
            (
                "DECLARE c CURSOR WITHOUT HOLD FOR SELECT 1",
                Command::Declare { name: "c".to_owned(), hold: false, statement_at: 6 },
            ),
            (
                "declare \"C\" insensitive no scroll cursor with hold for select 1",
                Command::Declare { name: "C".to_owned(), hold: true, statement_at: 9 },
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(command(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_asks_for_data_is_not_a_command() {
        for text in [
            "SELECT 1",
            "SELECT version() FROM t",
            "SELECT current_user, secret FROM t",
            "SELECT version() UNION SELECT secret FROM t",
            "SELECT current_setting((SELECT secret FROM t))",
            "SELECT version(), (SELECT 1)",
            "SELECT other()",
            "SHOW TABLES",
            "SET x = (SELECT 1)",
            "SET x",
            "SET (a, b) = (1)",
            "SET (a) = (select 1)",
            "BEGIN ISOLATION LEVEL SERIALIZABLE",
            "SHOW a b",
            "COMMIT AND CHAIN",
            "COPY t TO '/tmp/file'",
            "COPY INTO t FROM @stage",
        ] {
            assert_eq!(command(text), None, "{text}");
        }
    }

    #[test]
    fn a_copy_names_its_parts() {
        let copied = |text: &str| match command(text) {
            Some(Command::Copy(copy)) => (copy.what, copy.direction),
            other => panic!("{text}: {other:?}"),
        };
        let table = |name, columns| What::Table { name, columns };
        assert_eq!(copied("COPY (select (1)) TO STDOUT"), (What::Query { from: 2, to: 6 }, Direction::Out));
        assert_eq!(copied("copy t to stdout (format csv)"), (table((1, 2), None), Direction::Out));
        assert_eq!(copied("copy s.\"T\" (a, b) from stdin with csv"), (table((1, 4), Some((5, 8))), Direction::In));
        assert_eq!(command("copy t to stdout (format parquet)"), Some(Command::Refused("COPY with these options")));
    }

    #[test]
    fn functions_of_the_session_keep_their_columns() {
        let text = "SELECT current_setting('jit') AS cur, pg_catalog.set_config('jit', 'off', false) AS new";
        let Some(Command::Select(calls)) = command(text) else { panic!("a select") };
        let names: Vec<_> =
            calls.iter().map(|call| (call.function, call.column.as_str(), call.arguments.len())).collect();
        assert_eq!(names, [("current_setting", "cur", 1), ("set_config", "new", 3)]);
    }
}
