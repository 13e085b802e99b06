//! The settings of a session: what `SET`, `SHOW`, `RESET` and the startup packet work on.
//!
//! None of them reaches the engine. A name is, in this order: a property of the caller's identity;
//! a setting of PostgreSQL that drivers use; a setting that must not be touched; else a variable of
//! the session.

mod in_force;
mod known;
mod strings;
mod values;

use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;
use contract::wire::TIMEOUT_MS_MAX;
use contract::{Code, Heal};

use super::failure::ErrorResponse;
use super::identity::{Identity, Property};
use in_force::InForce;
use known::AllowedValues::{Any, Never, OneOf, Only};
use known::{HEAL, KNOWN, KnownSetting, SERIALIZABLE, SNAPSHOT, STANDARD_STRINGS, find, shows_default};
use values::{Literal, Put, SettingValues};

pub use known::REPORTED;

const VALUE_BYTES_MAX: usize = 8 << 10;
const NAME_BYTES_MAX: usize = 256;

/// The form of a value in `SET name = value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetValueForm {
    Number,
    /// Without quotes.
    Word,
    Text,
}

/// How long a value holds that was set in a transaction which is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingScope {
    Session,
    /// `LOCAL`: until its end.
    Transaction,
}

#[derive(Debug, Clone)]
pub struct SessionSettings {
    now: Arc<SettingValues>,
    transaction: Option<TransactionSettings>,
    /// What `RESET ALL` goes back to.
    at_login: Arc<SettingValues>,
    /// The variables, as a statement takes them.
    put_in: Arc<sql::Variables>,
    /// More isolation was asked for than there is, and that was not told yet.
    took_less: bool,
    user: String,
    in_force: InForce,
}

/// The settings before a transaction, and those after it if it is committed.
#[derive(Debug, Clone)]
struct TransactionSettings {
    before: Arc<SettingValues>,
    after: Arc<SettingValues>,
}

/// The settings at one moment of a transaction.
#[derive(Debug, Clone)]
pub struct SettingsSnapshot {
    now: Arc<SettingValues>,
    after: Arc<SettingValues>,
}

impl SessionSettings {
    pub fn new(user: &str) -> Self {
        Self {
            now: Arc::default(),
            transaction: None,
            at_login: Arc::default(),
            put_in: Arc::default(),
            took_less: false,
            user: user.to_owned(),
            in_force: InForce::of(&SettingValues::default()),
        }
    }

    /// The settings so far are the session's own: what `RESET` restores.
    pub fn logged_in(mut self) -> Self {
        self.at_login = Arc::clone(&self.now);
        self
    }

    /// A transaction begins, if there is none: what is set from now on ends with it, unless it is committed.
    pub fn begin(&mut self) {
        let around = || TransactionSettings { before: Arc::clone(&self.now), after: Arc::clone(&self.now) };
        self.transaction.get_or_insert_with(around);
    }

    /// It ends, if there is one.
    pub fn end(&mut self, is_committed: bool) {
        if let Some(TransactionSettings { before, after }) = self.transaction.take() {
            self.become_those(if is_committed { after } else { before });
        }
    }

    /// As they are: for a savepoint.
    pub fn mark(&self) -> SettingsSnapshot {
        let now = Arc::clone(&self.now);
        let after = self.transaction.as_ref().map_or(&self.now, |around| &around.after);
        SettingsSnapshot { after: Arc::clone(after), now }
    }

    /// As they were.
    pub fn go_back(&mut self, mark: SettingsSnapshot) {
        if let Some(around) = &mut self.transaction {
            around.after = mark.after;
        }
        self.become_those(mark.now);
    }

    /// Those that a client keeps track of, and that are others now.
    pub fn reported_since(&self, mark: &SettingsSnapshot) -> Vec<&'static str> {
        if Arc::ptr_eq(&self.now, &mark.now) {
            return Vec::new();
        }
        let is_another = |name: &&str| find(name).is_some_and(|known| self.now.of(known) != mark.now.of(known));
        REPORTED.iter().copied().filter(is_another).collect()
    }

    /// Whether more isolation was asked for than there is, since this was asked.
    pub fn took_less(&mut self) -> bool {
        std::mem::take(&mut self.took_less)
    }

    /// `SERIALIZABLE` was asked for.
    pub fn take_less(&mut self) {
        self.took_less = true;
    }

    /// `SET name = value`, or `SET name = DEFAULT`.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), ErrorResponse> {
        self.assign(name, value, SetValueForm::Text, SettingScope::Session)
    }

    /// The same of a value that the client wrote in some form, which a variable keeps.
    pub fn assign(
        &mut self,
        name: &str,
        value: Option<&str>,
        written: SetValueForm,
        reach: SettingScope,
    ) -> Result<(), ErrorResponse> {
        if name.len() > NAME_BYTES_MAX || value.is_some_and(|value| value.len() > VALUE_BYTES_MAX) {
            let name: String = name.chars().take(NAME_BYTES_MAX).collect();
            return Err(ErrorResponse::new(
                Code::InvalidParams,
                format!("the name or the value of {name} is too long"),
            ));
        }
        if chooses_nobody(name, value) {
            return Ok(());
        }
        let put = self.put(name, value, written)?;
        let now = self.now.with(&put)?;
        if reach == SettingScope::Session && !put.is_of_transaction() {
            if let Some(around) = &mut self.transaction {
                let is_one = Arc::ptr_eq(&around.after, &self.now);
                around.after = if is_one { Arc::clone(&now) } else { around.after.with(&put)? };
            }
        } else if self.transaction.is_none() {
            return Ok(()); // it has ended
        }
        self.become_those(now);
        Ok(())
    }

    /// What the change is, if it is one that may be made.
    fn put(&mut self, name: &str, value: Option<&str>, written: SetValueForm) -> Result<Put, ErrorResponse> {
        if let Some(property) = Property::of(name) {
            return Ok(Put::Identity(property, value.unwrap_or_default().to_owned()));
        }
        let lower = name.to_lowercase();
        let Some(known) = find(&lower) else {
            if sql::functions::settings::is_one(&lower) || matches!(&*lower, "role" | "session authorization") {
                return Err(ErrorResponse::new(Code::Forbidden, format!("setting {lower} cannot be changed")));
            }
            let literal = value.map(|text| Arc::new(Literal { text: text.to_owned(), written }));
            return Ok(Put::Variable(lower.into(), literal));
        };
        let value = value.or_else(|| self.at_login.set(known)).unwrap_or(known.default).to_owned();
        let value = if matches!(known.change, OneOf(_)) { word(&value) } else { value };
        let value = if known.name == STANDARD_STRINGS { strings::switched(value) } else { value };
        self.check(known, &value)?;
        if known.name == "statement_timeout" {
            timeout(&value)?;
        }
        let is_more = known.name.ends_with("isolation") && word(&value) == SERIALIZABLE;
        self.took_less |= is_more;
        let zone = if known.name == "TimeZone" { Some(zone(&value)?) } else { None };
        let kept = match known {
            _ if is_more => SNAPSHOT,
            // by the name that it is shown under
            _ if minutes_east(&value).is_some() && zone.is_some() => zone.map_or("UTC", |zone| zone.name()),
            known if shows_default(known) => known.default,
            _ => &value,
        };
        Ok(Put::Known(known, Arc::from(kept)))
    }

    fn check(&self, known: &KnownSetting, value: &str) -> Result<(), ErrorResponse> {
        let refused = |message: String| Err(ErrorResponse::new(Code::InvalidParams, message));
        match known.change {
            Any => Ok(()),
            Never if self.get(known.name).as_deref() == Some(value) => Ok(()),
            Never if known.name == "session_authorization" => {
                Err(ErrorResponse::new(Code::Forbidden, "the session's user cannot be changed"))
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

    /// `RESET ALL`: everything as it was at login, the identity too.
    pub fn reset_all(&mut self) {
        if let Some(around) = &mut self.transaction {
            around.after = Arc::clone(&self.at_login);
        }
        self.become_those(Arc::new(self.at_login.with_transaction_of(&self.now)));
    }

    fn become_those(&mut self, now: Arc<SettingValues>) {
        let before = std::mem::replace(&mut self.now, now);
        if Arc::ptr_eq(&before, &self.now) {
            return;
        }
        if !before.has_variables_of(&self.now) {
            self.put_in = Arc::new(self.now.put_in());
        }
        self.in_force = InForce::of(&self.now);
    }

    /// The value that `SHOW name` shows.
    pub fn get(&self, name: &str) -> Option<String> {
        let lower = name.to_lowercase();
        match find(&lower) {
            Some(known) if known.name == "session_authorization" => Some(self.user.clone()),
            Some(known) => Some(self.now.of(known).to_owned()),
            None => self.now.variable(&lower).map(str::to_owned),
        }
    }

    /// What the session has declared.
    pub fn identity(&self) -> &Identity {
        &self.now.identity
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
        self.in_force.zone
    }

    /// What `$name` stands for.
    pub fn variables(&self) -> Arc<sql::Variables> {
        Arc::clone(&self.put_in)
    }

    /// `statement_timeout`, unless it is 0.
    pub fn timeout(&self) -> Option<Duration> {
        self.in_force.timeout
    }

    /// How far statements may be healed, where that is less than the environment permits.
    pub fn heal(&self) -> Option<Heal> {
        self.in_force.heal
    }

    /// The value that holds of a setting: of `heal`, what the environment permits of it.
    pub fn holding(&self, name: &str, permitted: Option<Heal>) -> Option<String> {
        match permitted {
            Some(permitted) if name.eq_ignore_ascii_case(HEAL) => Some(permitted.asked(self.heal()).to_string()),
            _ => self.get(name),
        }
    }

    /// Where unqualified tables are looked for: the first schema of `search_path`, and those behind it.
    pub fn schemas(&self) -> (String, Vec<String>) {
        (self.in_force.schema.clone(), self.in_force.searched.clone())
    }

    pub fn is_read_only(&self) -> bool {
        self.in_force.is_read_only
    }
}

/// `SET ROLE NONE` and `RESET SESSION AUTHORIZATION`: the role and the user are those of the key already.
fn chooses_nobody(name: &str, value: Option<&str>) -> bool {
    match name.to_lowercase().as_str() {
        "role" => value.is_none_or(|role| role.eq_ignore_ascii_case("none")),
        "session_authorization" => value.is_none(),
        _ => false,
    }
}

/// A word as it is compared: quotes and case say nothing.
fn word(value: &str) -> String {
    value.trim_matches(['\'', '"', ' ']).to_lowercase()
}

/// By its name, or by hours east of UTC.
fn zone(name: &str) -> Result<Tz, ErrorResponse> {
    let name = name.trim_matches(['\'', '"']);
    let named = |name: &str| chrono_tz::TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name)).copied();
    let refused = |why: &str| ErrorResponse::new(Code::InvalidParams, format!("time zone {name:?} {why}"));
    let Some(minutes) = minutes_east(name) else { return named(name).ok_or_else(|| refused("is not known")) };
    if minutes % 60 != 0 {
        return Err(refused("is part of an hour from UTC, and has to be chosen by its name"));
    }
    // these names count hours west
    let etc = if minutes == 0 { "UTC".to_owned() } else { format!("Etc/GMT{:+}", -minutes / 60) };
    named(&etc).ok_or_else(|| refused("is too far from UTC"))
}

/// Of `-7`, `5.5` and `+02:00`.
fn minutes_east(offset: &str) -> Option<i32> {
    let (sign, size) = match offset.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, offset.strip_prefix('+').unwrap_or(offset)),
    };
    if !size.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let minutes = match size.split_once(':') {
        Some((hours, minutes)) => hours.parse::<i32>().ok()?.checked_mul(60)?.checked_add(minutes.parse().ok()?)?,
        None => match size.split_once('.') {
            None => size.parse::<i32>().ok()?.checked_mul(60)?,
            Some((hours, "0")) => hours.parse::<i32>().ok()?.checked_mul(60)?,
            Some((hours, "5")) => hours.parse::<i32>().ok()?.checked_mul(60)?.checked_add(30)?,
            Some(_) => return None,
        },
    };
    Some(sign * minutes)
}

/// Milliseconds, or a number with a unit.
fn timeout(text: &str) -> Result<Option<Duration>, ErrorResponse> {
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
        ErrorResponse::new(Code::InvalidParams, format!("statement_timeout is 0 to {TIMEOUT_MS_MAX} milliseconds"))
    })?;
    Ok((millis > 0).then(|| Duration::from_millis(millis)))
}

#[cfg(test)]
mod tests;
