//! The settings of a session: what `SET`, `SHOW`, `RESET` and the startup packet work on.
//!
//! None of them reaches the engine. A name is, in this order: a property of the caller's identity;
//! a setting of PostgreSQL that drivers use; a setting that must not be touched; else a variable of
//! the session.

mod known;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;
use contract::wire::TIMEOUT_MS_MAX;
use contract::{Code, Heal};

use super::failure::Failure;
use super::identity::{Identity, Property};
use known::Change::{Any, Never, OneOf, Only};
use known::{HEAL, KNOWN, Known, find, shows_default};

pub use known::REPORTED;

/// Variables of one session.
const VARIABLES_MAX: usize = 256;
const VALUE_BYTES_MAX: usize = 8 << 10;

/// The form of a value in `SET name = value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    Number,
    /// Without quotes.
    Word,
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Literal {
    text: String,
    written: Written,
}

impl Literal {
    fn boolean(&self) -> Option<bool> {
        match self.text.to_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Settings {
    /// By name in lower case; what is absent has its default.
    values: BTreeMap<String, String>,
    variables: BTreeMap<String, Literal>,
    /// The same for a statement.
    put_in: Arc<sql::Variables>,
    /// What `RESET ALL` goes back to.
    at_login: BTreeMap<String, String>,
    pub identity: Identity,
    identity_at_login: Identity,
    user: String,
    zone: Tz,
    timeout: Option<Duration>,
}

impl Settings {
    pub fn new(user: &str) -> Self {
        Self {
            values: BTreeMap::new(),
            variables: BTreeMap::new(),
            put_in: Arc::default(),
            at_login: BTreeMap::new(),
            identity: Identity::default(),
            identity_at_login: Identity::default(),
            user: user.to_owned(),
            zone: Tz::UTC,
            timeout: None,
        }
    }

    /// The settings so far are the session's own: what `RESET` restores.
    pub fn logged_in(mut self) -> Self {
        self.at_login.clone_from(&self.values);
        self.identity_at_login.clone_from(&self.identity);
        self
    }

    /// `SET name = value`, or `SET name = DEFAULT`. Gives the name to report, if it is one of those.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<Option<&'static str>, Failure> {
        self.assign(name, value, Written::Text)
    }

    /// The same of a value that the client wrote in some form: a variable keeps it.
    pub fn assign(
        &mut self,
        name: &str,
        value: Option<&str>,
        written: Written,
    ) -> Result<Option<&'static str>, Failure> {
        if value.is_some_and(|value| value.len() > VALUE_BYTES_MAX) {
            return Err(Failure::new(Code::InvalidParams, format!("the value of {name} is too long")));
        }
        if let Some(property) = Property::of(name) {
            let bad = |message| Failure::new(Code::InvalidParams, message);
            self.identity.set(property, value.unwrap_or_default()).map_err(bad)?;
            return Ok(None);
        }
        let lower = name.to_lowercase();
        let Some(known) = find(&lower) else {
            self.variable(&lower, value.map(|text| Literal { text: text.to_owned(), written }))?;
            return Ok(None);
        };
        let value = value.or_else(|| self.at_login.get(&lower).map(String::as_str)).unwrap_or(known.default).to_owned();
        let value = if matches!(known.change, OneOf(_)) { word(&value) } else { value };
        self.check(known, &value)?;
        match lower.as_str() {
            "timezone" => self.zone = zone(&value)?,
            "statement_timeout" => self.timeout = timeout(&value)?,
            _ => {}
        }
        self.values.insert(lower, if shows_default(known) { known.default.to_owned() } else { value });
        Ok(REPORTED.iter().find(|reported| **reported == known.name).copied())
    }

    fn check(&self, known: &Known, value: &str) -> Result<(), Failure> {
        let refused = |message: String| Err(Failure::new(Code::InvalidParams, message));
        match known.change {
            Any => Ok(()),
            Never if self.get(known.name).as_deref() == Some(value) => Ok(()),
            Never if known.name == "session_authorization" => {
                Err(Failure::new(Code::Forbidden, "the session's user cannot be changed"))
            }
            Never => refused(format!("parameter {} cannot be changed", known.name)).map_err(|f| f.with_state("55P02")),
            OneOf(words) if words.contains(&value) => Ok(()),
            OneOf(words) => refused(format!("{} is one of {}", known.name, words.join(", "))),
            Only(starts) => {
                let value = word(value);
                let fits = starts.iter().any(|start| value.starts_with(start));
                if fits { Ok(()) } else { refused(format!("{} cannot be set to {value:?} here", known.name)) }
            }
        }
    }

    fn variable(&mut self, name: &str, value: Option<Literal>) -> Result<(), Failure> {
        if sql::settings::is_one(name) || matches!(name, "role" | "session authorization") {
            return Err(Failure::new(Code::Forbidden, format!("setting {name} cannot be changed")));
        }
        match value {
            None => {
                self.variables.remove(name);
            }
            Some(_) if !self.variables.contains_key(name) && self.variables.len() >= VARIABLES_MAX => {
                let message = format!("a session has at most {VARIABLES_MAX} variables");
                return Err(Failure::new(Code::InvalidParams, message).with_state("53400"));
            }
            Some(value) => {
                self.variables.insert(name.to_owned(), value);
            }
        }
        self.put_in = Arc::new(literals(&self.variables));
        Ok(())
    }

    /// `RESET ALL`: everything as it was at login, the identity too.
    pub fn reset_all(&mut self) {
        self.values.clone_from(&self.at_login);
        self.variables.clear();
        self.put_in = Arc::default();
        self.identity.clone_from(&self.identity_at_login);
        self.zone = zone(&self.get("timezone").unwrap_or_default()).unwrap_or(Tz::UTC);
        self.timeout = timeout(&self.get("statement_timeout").unwrap_or_default()).unwrap_or(None);
    }

    /// The value that `SHOW name` shows.
    pub fn get(&self, name: &str) -> Option<String> {
        let lower = name.to_lowercase();
        if lower == "session_authorization" {
            return Some(self.user.clone());
        }
        let variable = || self.variables.get(&lower).map(|literal| &literal.text);
        let set = self.values.get(&lower).or_else(variable).cloned();
        set.or_else(|| find(&lower).map(|known| known.default.to_owned()))
    }

    /// Every setting that `SHOW ALL` shows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|known| known.name)
    }

    /// The name of a setting as it is shown, whatever case it was asked in.
    pub fn shown_name(name: &str) -> String {
        find(&name.to_lowercase()).map_or_else(|| name.to_owned(), |known| known.name.to_owned())
    }

    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// What `$name` stands for.
    pub fn variables(&self) -> Arc<sql::Variables> {
        Arc::clone(&self.put_in)
    }

    /// `statement_timeout`, unless it is 0.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// How far statements may be healed, where that is less than the environment permits.
    pub fn heal(&self) -> Option<Heal> {
        self.values.get(HEAL)?.parse().ok()
    }

    /// The value that holds of a setting: of `heal`, what the environment permits of it.
    pub fn holding(&self, name: &str, permitted: Option<Heal>) -> Option<String> {
        match permitted {
            Some(permitted) if name.eq_ignore_ascii_case(HEAL) => Some(permitted.asked(self.heal()).to_string()),
            _ => self.get(name),
        }
    }

    /// Where unqualified tables are looked for: the first of `search_path` that names a schema.
    pub fn schema(&self) -> String {
        let path = self.get("search_path").unwrap_or_default();
        let mut names = path.split(',').map(|name| name.trim().trim_matches(['"', '\'']));
        let first = names.find(|name| !name.is_empty() && !matches!(*name, "$user" | "pg_catalog" | "public"));
        first.unwrap_or("main").to_owned()
    }

    pub fn is_read_only(&self) -> bool {
        ["default_transaction_read_only", "transaction_read_only"].into_iter().any(|name| self.is_on(name))
    }

    fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| matches!(value.to_lowercase().as_str(), "on" | "true" | "yes" | "1"))
    }
}

/// A word as it is compared: quotes and case say nothing.
fn word(value: &str) -> String {
    value.trim_matches(['\'', '"', ' ']).to_lowercase()
}

fn literals(variables: &BTreeMap<String, Literal>) -> sql::Variables {
    let mut put_in = sql::Variables::default();
    for (name, literal) in variables {
        let value = match (literal.written, literal.boolean()) {
            (Written::Number, _) => sql::Variable::Number(literal.text.clone()),
            (Written::Word, Some(value)) => sql::Variable::Boolean(value),
            _ => sql::Variable::Text(literal.text.clone()),
        };
        put_in.set(name, value);
    }
    put_in
}

fn zone(name: &str) -> Result<Tz, Failure> {
    let name = name.trim_matches(['\'', '"']);
    let mut known = chrono_tz::TZ_VARIANTS.iter();
    let found = known.find(|zone| zone.name().eq_ignore_ascii_case(name)).copied();
    found.ok_or_else(|| Failure::new(Code::InvalidParams, format!("time zone {name:?} is not known")))
}

/// Milliseconds, or a number with a unit.
fn timeout(text: &str) -> Result<Option<Duration>, Failure> {
    let text = text.trim().trim_matches('\'').trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end).unwrap_or((text, ""));
    let factor = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        _ => 0,
    };
    let millis = number.parse::<u64>().ok().filter(|_| factor > 0).and_then(|number| number.checked_mul(factor));
    let millis = millis.filter(|millis| *millis <= TIMEOUT_MS_MAX).ok_or_else(|| {
        Failure::new(Code::InvalidParams, format!("statement_timeout is 0 to {TIMEOUT_MS_MAX} milliseconds"))
    })?;
    Ok((millis > 0).then(|| Duration::from_millis(millis)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::new("agent").logged_in()
    }

    #[test]
    fn what_drivers_set_is_accepted() {
        let mut settings = settings();
        for (name, value) in [
            ("client_encoding", "'utf-8'"),
            ("extra_float_digits", "3"),
            ("DateStyle", "ISO"),
            ("application_name", "dbt"),
            ("standard_conforming_strings", "on"),
            ("statement_timeout", "30s"),
            ("TimeZone", "Europe/Berlin"),
            ("default_transaction_read_only", "off"),
        ] {
            settings.set(name, Some(value)).unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
        }
        assert_eq!(settings.get("CLIENT_ENCODING").as_deref(), Some("UTF8"));
        assert_eq!(settings.timeout(), Some(Duration::from_secs(30)));
        assert_eq!(settings.zone(), Tz::Europe__Berlin);
    }

    #[test]
    fn what_would_break_a_promise_is_refused() {
        for (name, value, state) in [
            ("client_encoding", "LATIN1", "22023"),
            ("standard_conforming_strings", "off", "22023"),
            ("server_version", "99", "55P02"),
            ("session_authorization", "postgres", "42501"),
            ("role", "postgres", "42501"),
            ("memory_limit", "1TB", "42501"),
            ("enable_external_access", "true", "42501"),
            ("TimeZone", "Mars/Olympus", "22023"),
            ("statement_timeout", "300001", "22023"),
            ("transaction_isolation", "serializable", "22023"),
        ] {
            let failure = settings().set(name, Some(value)).unwrap_err();
            assert_eq!(failure.sqlstate, state, "{name}: {failure:?}");
        }
    }

    #[test]
    fn reset_goes_back_to_the_login_and_keeps_its_identity() {
        let mut settings = Settings::new("agent");
        settings.set("acme_agent_id", Some("a1")).unwrap();
        settings.set("application_name", Some("x")).unwrap();
        let mut settings = settings.logged_in();
        settings.set("agent_id", Some("other")).unwrap();
        settings.set("application_name", Some("y")).unwrap();
        settings.set("my.variable", Some("1")).unwrap();
        settings.reset_all();
        assert_eq!(settings.identity.agent_id.as_deref(), Some("a1"));
        assert_eq!(settings.get("application_name").as_deref(), Some("x"));
        assert_eq!(settings.get("my.variable"), None);
    }

    #[test]
    fn variables_are_bounded() {
        let mut settings = settings();
        for n in 0..VARIABLES_MAX {
            settings.set(&format!("v{n}"), Some("1")).unwrap();
        }
        assert_eq!(settings.set("one_more", Some("1")).unwrap_err().sqlstate, "53400");
        settings.set("v1", Some("2")).unwrap();
    }

    #[test]
    fn a_variable_keeps_the_form_it_was_written_in() {
        let mut settings = settings();
        for (name, value, written) in
            [("n", "-1.5", Written::Number), ("b", "true", Written::Word), ("t", "true", Written::Text)]
        {
            settings.assign(name, Some(value), written).unwrap();
        }
        let told: Vec<_> = settings.variables().told().map(|told| told.join(" ")).collect();
        assert_eq!(told, ["b true boolean", "n -1.5 fixed", "t true text"]);
        let redacted = |settings: &Settings| {
            sql::parse_with("select $N, $b, $t", &settings.variables()).map(|statement| statement.redacted()).ok()
        };
        assert!(redacted(&settings).is_some());
        settings.assign("t", None, Written::Text).unwrap();
        assert_eq!(redacted(&settings), None);
    }

    #[test]
    fn a_session_asks_for_less_healing_and_never_gets_more() {
        let mut settings = settings();
        let shown = |settings: &Settings, permitted| settings.holding("HEAL", Some(permitted)).unwrap_or_default();
        assert_eq!((settings.heal(), shown(&settings, Heal::Safe).as_str()), (None, "safe"));
        for (value, permitted, holds) in
            [("OFF", Heal::Auto, "off"), ("'safe'", Heal::Auto, "safe"), ("auto", Heal::Safe, "safe")]
        {
            settings.set("heal", Some(value)).unwrap();
            assert_eq!(shown(&settings, permitted), holds, "{value}");
        }
        assert_eq!(settings.set("heal", Some("offf")).unwrap_err().message, "heal is one of off, safe, auto");
        settings.set("heal", None).unwrap();
        assert_eq!(shown(&settings, Heal::Auto), "auto");
    }

    #[test]
    fn the_schema_is_the_first_of_the_path() {
        let mut settings = settings();
        for (path, schema) in
            [("branch_1,main", "branch_1"), ("\"$user\", public", "main"), ("", "main"), ("\"Odd\"", "Odd")]
        {
            settings.set("search_path", Some(path)).unwrap();
            assert_eq!(settings.schema(), schema, "{path}");
        }
    }
}
